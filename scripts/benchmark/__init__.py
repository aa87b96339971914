"""The benchmark: data, programs, scenarios, measurement, and the cost of evaluations. README.md shows how to run it."""
