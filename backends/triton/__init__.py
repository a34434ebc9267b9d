"""Streaming regions as Triton kernels: forward and backward, one readable file beside the module of PyTorch."""
