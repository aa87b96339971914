"""The commands that are more than a call: arguments to one call of a job, its result to what is printed."""
