"""Help for mistakes. Reads what the checker found; writes no graph."""
