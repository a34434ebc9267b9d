"""Warnings about specs that are right and most likely do not mean what they say: one file for each such mistake."""
