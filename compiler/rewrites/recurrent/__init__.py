"""Scans, not done item by item: what a block is over all items at once."""
