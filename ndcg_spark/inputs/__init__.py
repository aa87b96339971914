"""From storage to tables: which files a path stands for, how each format is read, and what the columns are called."""
