"""Compiling a kernel under each of its configs, in worker processes."""
