"""Rows held to the rules of the input: counted, refused or set aside, before anything is scored."""
