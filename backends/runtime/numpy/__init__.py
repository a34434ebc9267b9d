"""Carried along by generated NumPy code."""
