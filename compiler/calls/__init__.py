"""A block applied: its parameters, its arguments, and the specialisation of it that the call stands for (D8)."""
