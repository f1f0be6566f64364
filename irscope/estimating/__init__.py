"""Estimates how long a launch of a compiled kernel takes, from its machine code, its grid and arguments."""
