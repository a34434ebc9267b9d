"""Carried along by generated PyTorch code."""
