"""NumPy: a function for each block, and the code of each op."""
