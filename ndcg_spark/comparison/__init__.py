"""Compares runs with a baseline and follows them from night to night: pairs of scores and their
statistics.
"""
