"""Pieces of generated Python: expressions, names, values, lines."""
