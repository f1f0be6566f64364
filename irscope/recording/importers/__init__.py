"""Captures from what earlier runs left: Triton's cache, kernel dumps, tritonparse traces."""
