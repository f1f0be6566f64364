"""Finds common mistakes in Triton kernels, in Python source (read, never run) or in a capture."""
