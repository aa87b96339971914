"""What people see: the steps while a command works, and its tables."""
