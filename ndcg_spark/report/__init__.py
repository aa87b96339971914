"""Output for people: progress messages, tables, charts and pages."""
