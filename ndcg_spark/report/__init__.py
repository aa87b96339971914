"""What a person sees: the steps while a command works, and its tables."""
