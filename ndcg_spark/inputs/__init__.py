"""From storage to tables: find the files of a path, detect their format, and read them."""
