"""Two sets of judgments compared: how far they agree, and how their differences change the ranking of the runs."""
