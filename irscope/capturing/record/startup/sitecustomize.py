"""Runs at the start of each Python that a captured program starts: this folder is first in its PYTHONPATH."""

import contextlib
import importlib
import os
import sys


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would slow every start
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]  # noqa: PTH100
    this = sys.modules.pop(__name__)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(__name__)  # the user's sitecustomize, which this one shadows
    sys.modules.setdefault(__name__, this)
    try:
        subprocesses = importlib.import_module("irscope.capturing.record.subprocesses")
    except ModuleNotFoundError:  # a Python without irscope
        return
    subprocesses.begin()


_begin()
