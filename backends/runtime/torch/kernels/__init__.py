"""What generated PyTorch code has a kernel of its own for."""
