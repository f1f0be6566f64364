"""Capturing what a program launches while it runs, on a GPU or on CPU tensors that pose as CUDA ones."""
