"""The metric: tables in, tables out. It does not open sessions, know paths or start jobs."""
