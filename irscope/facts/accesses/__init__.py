"""The accesses of a kernel to global memory: contiguity, divisibility, and the width of each instruction."""
