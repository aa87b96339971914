"""The output folder: every evaluation has its own folders, and the newest published evaluation of
a night is its current one.
"""
