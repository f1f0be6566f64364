"""Launches the kernels of `kernels.py`: the program that `measure.py` captures without a GPU."""

from __future__ import annotations

from tests.truth.bounds.kernels import CASES

if __name__ == "__main__":
    for item in CASES:
        item.launch("cuda")
