"""Searches for the convention that gives an earlier job's scores, in plain Python."""
