"""Mistakes that people make with Triton kernels: found in their source, or in what was compiled of them."""
