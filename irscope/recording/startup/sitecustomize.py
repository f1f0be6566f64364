"""Runs at the start of each Python that a captured or checked program starts, and of a checked one itself.

This folder is first in their PYTHONPATH. It imports nothing that Python itself has not imported: the program
may have a module of the same name.
"""

import os
import sys

# See subprocesses.py and warming/check_process.py.
_RUN, _CHECK = "IRSCOPE_RUN", "IRSCOPE_WARM_CHECK"


def _begin() -> None:
    startup_folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not imported yet
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != startup_folder]  # noqa: PTH100
    this = sys.modules.pop(__name__)
    try:  # noqa: SIM105 - contextlib is not imported yet
        __import__(__name__)  # the user's sitecustomize, which this one shadows
    except ModuleNotFoundError:
        pass
    sys.modules.setdefault(__name__, this)
    if _RUN not in os.environ and _CHECK not in os.environ:
        return
    try:
        from irscope.compiling.toolchain.patching import after_import
    except ModuleNotFoundError:  # a Python without irscope
        return
    if _RUN in os.environ:
        after_import(("torch", "triton"), _capture)
    if _CHECK in os.environ:
        after_import(("triton",), _check)


def _capture() -> None:
    from irscope.recording.shadowed_modules import ShadowedModules, first_folder

    shadowed = ShadowedModules(first_folder())
    with shadowed.set_aside():
        from irscope.recording.subprocesses import capture_until_exit

        capture_until_exit(shadowed)


def _check() -> None:
    from irscope.recording.shadowed_modules import ShadowedModules, first_folder

    with ShadowedModules(first_folder()).set_aside():
        from importlib import import_module  # the checks are no part of what captures import

        import_module("irscope.jobs.warm.check_process").start()


_begin()
