"""Tables for people: their columns, the order of their rows, and how they are written."""
