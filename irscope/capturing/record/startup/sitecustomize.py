"""Runs at the start of each Python that a captured program starts: this folder is first in its PYTHONPATH.

It imports nothing that Python itself has not imported: the program may have a module of the same name.
"""

import os
import sys

_VARIABLE = "IRSCOPE_RUN"  # see subprocesses.py


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not imported yet
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]  # noqa: PTH100
    this = sys.modules.pop(__name__)
    try:  # noqa: SIM105 - contextlib is not imported yet
        __import__(__name__)  # the user's sitecustomize, which this one shadows
    except ModuleNotFoundError:
        pass
    sys.modules.setdefault(__name__, this)
    if _VARIABLE not in os.environ:
        return
    try:
        from irscope.capturing.after_import import after_import
    except ModuleNotFoundError:  # a Python without irscope
        return
    after_import(("torch", "triton"), _capture)


def _capture() -> None:
    from irscope.capturing.record.shadowed_modules import ShadowedModules, first_folder

    shadowed = ShadowedModules(first_folder())
    with shadowed.set_aside():
        from irscope.capturing.record.subprocesses import capture_until_exit

        capture_until_exit(shadowed)


_begin()
