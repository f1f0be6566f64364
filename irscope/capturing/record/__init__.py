"""Capturing what a program launches while it runs, on a GPU or with CPU tensors in place of CUDA tensors."""
