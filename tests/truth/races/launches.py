"""Launches the kernels with races: the program that `measure.py` captures without a GPU.

irscope run --target cuda:90 -o races.irscope -m tests.truth.races.launches [MODULE ...]
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from tests.truth.races.case import Case

MODULES = ("threads", "programs", "gluons", "correct")


def cases(modules: Sequence[str] = MODULES) -> list[Case]:
    """Return the cases of modules of this folder."""
    listed: list[Case] = []
    for module in modules:
        listed += importlib.import_module(f"tests.truth.races.{module}").CASES
    return listed


def main() -> None:
    """Launch each kernel once, and report those that fail."""
    for item in cases(sys.argv[1:] or MODULES):
        try:
            item.launch("cuda")
        except Exception as error:  # noqa: BLE001, PERF203 - whatever Triton raises
            print(f"{item.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    main()
