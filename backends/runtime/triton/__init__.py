"""What files of Triton kernels carry along."""
