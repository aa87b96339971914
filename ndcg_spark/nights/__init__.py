"""The output folder: every evaluation has its own folders, and the one with the newest record of a
night counts.
"""
