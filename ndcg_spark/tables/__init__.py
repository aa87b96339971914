"""Tables for people: what is in them, in which order, and how they are written."""
