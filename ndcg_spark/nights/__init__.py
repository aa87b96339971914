"""The folder that keeps the scores. A night (one date of one dataset) is published whole or not at all."""
