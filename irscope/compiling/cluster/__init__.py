"""Compiling on the workers of a cluster: what they need, what they run, and who gives them jobs."""
