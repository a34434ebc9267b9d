"""Rewrites that leave the ops as they are, and do less."""
