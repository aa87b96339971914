"""The gate: whether a night is worse than its baselines, decided by the rules of a configuration."""
