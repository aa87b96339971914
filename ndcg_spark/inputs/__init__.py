"""From storage to tables: find a path's files, detect their format, and read them."""
