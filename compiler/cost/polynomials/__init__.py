"""Exact polynomials over sizes, and how they are written."""
