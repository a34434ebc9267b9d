"""Picks of nothing: where a mask lets through fewer items than are picked, and what is computed of those."""
