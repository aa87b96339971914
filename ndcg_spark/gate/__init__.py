"""The gate: whether a night is worse than its baselines, by the rules of a configuration."""
