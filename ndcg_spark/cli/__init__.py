"""The command line: arguments become one call of a job, its result is printed, a failure becomes an
exit code.
"""
