"""Two sets of lists compared without judgments."""
