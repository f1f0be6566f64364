"""Runs a program without a GPU: its CUDA tensors are CPU tensors, and torch and Triton answer for the GPU."""
