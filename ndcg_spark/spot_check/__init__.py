"""Recompute some lists of every evaluation in plain Python before anything is published."""
