"""Ragged widths: each example of a batch has a length of its own, and padding is left out by construction."""
