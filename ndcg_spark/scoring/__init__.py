"""The metric: tables in, tables out. Nothing here opens a session, knows a path or triggers an action."""
