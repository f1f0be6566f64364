"""Kernels whose accesses leave their tensors, and what lint reports about them."""
