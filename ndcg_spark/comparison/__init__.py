"""Runs compared with a baseline, and followed from night to night: pairs of scores and their
statistics.
"""
