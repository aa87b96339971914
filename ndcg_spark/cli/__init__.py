"""The command line: turns arguments into one call of a job, prints its result, and turns a failure
into an exit code.
"""
