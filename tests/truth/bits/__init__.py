"""Measures which configs of a kernel compute the same bits, on kernels made for it: see `measure.py`."""
