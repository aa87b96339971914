"""The benchmark: data, programs, measurement, scenarios, report. README.md shows how to run it, and its results."""
