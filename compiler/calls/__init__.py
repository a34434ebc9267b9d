"""A block applied: its parameters, its arguments, and the instance of it that the call stands for (D8)."""
