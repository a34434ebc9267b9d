"""Scans and running sums that are done for many items at once."""
