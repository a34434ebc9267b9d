"""What is computed for each index of an axis, but read at picked ones alone, is computed for these: experts."""
