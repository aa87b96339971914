"""The folder that keeps scores. A night (one dataset's date) is published whole or not at all, even after a crash."""
