"""PyTorch: a class for each block, and the code of each op."""
