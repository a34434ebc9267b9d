"""Code generation: typed graphs become flat, readable PyTorch or NumPy source that depends on neither attnc nor us."""
