"""Two sets of judgments compared: how far they agree, and what the difference does to the ranking of the runs."""
