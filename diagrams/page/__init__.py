"""The living figure: one HTML page in which blocks open and close, beside the equations, the spec and its PyTorch."""
