"""Tables for people: their columns, the order of their rows, and their output formats."""
