"""Whether scores are worse than a baseline: pairs of scores, their statistics, and the gate that judges them."""
