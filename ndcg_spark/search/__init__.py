"""Which convention gives the scores of an earlier job, in plain Python: what is tried, and how."""
