"""Runs at the start of each Python that a captured program starts: PYTHONPATH names this folder first."""

import contextlib
import importlib
import os
import sys


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - every Python start pays for imports
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]  # noqa: PTH100
    this = sys.modules.pop(__name__)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(__name__)  # the one that this one hides
    sys.modules.setdefault(__name__, this)
    try:
        children = importlib.import_module("irscope.capturing.record.subprocesses")
    except ModuleNotFoundError:  # a Python that has no irscope
        return
    children.begin()


_begin()
