"""The gate: whether a night is worse than its baselines, by a configuration's rules."""
