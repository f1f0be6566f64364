"""Checks irscope's claims on kernels whose answer is known: `python -m tests.truth --help`."""
