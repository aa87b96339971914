"""Notifies other programs when an evaluation ends: by metrics, and by a command."""
