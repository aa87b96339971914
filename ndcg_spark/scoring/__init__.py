"""The metric: tables in, tables out. It opens no session, knows no path and starts no job."""
