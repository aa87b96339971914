"""The metric: tables in, tables out. Nothing here opens a session, knows a path or starts a job."""
