"""Both inputs checked before anything is scored: rows are counted, and rejected or refused by
rules.
"""
