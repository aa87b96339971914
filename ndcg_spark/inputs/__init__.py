"""From storage to tables: which files a path stands for, which format they have, and a reader for
each format.
"""
