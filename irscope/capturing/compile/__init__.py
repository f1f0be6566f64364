"""Sweeps: plan the variants of a kernel, compile them in worker processes, write each as it finishes."""
