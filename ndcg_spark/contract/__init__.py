"""Rows held to the rules of the input, before anything is scored: bad rows are counted, refused or set aside."""
