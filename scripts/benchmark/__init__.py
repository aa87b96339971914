"""What scripts/benchmark.py is made of: data, programs, measurement, scenarios, report."""
