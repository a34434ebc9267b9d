"""Expressions and statements get their types, and become nodes of a graph (D3, D5 to D7, D10)."""
