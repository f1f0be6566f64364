"""CPU tensors that pose as CUDA tensors, so that a program runs without a GPU."""
