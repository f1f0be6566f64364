"""Starts modules in a new Python, which does not search the working directory for modules.

`python -m` would: a file glob.py there would be imported in place of the standard library's. So this file is
started as a script, and imports nothing before it has removed its own folder from the path.
"""

from __future__ import annotations

import sys

# Like `python -m`, -c puts the working directory on the path; nothing but `sys` is imported from there.
_RUN_MODULE = (
    "import sys; sys.path[:] = filter(None, sys.path); import runpy; "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
# In such a Python: the modules that it had imported before irscope.
at_start: frozenset[str] = frozenset()


def python_command(module: str, *arguments: str, flags: bool = False, python: str = "") -> list[str]:
    """Return the command that calls `main(*arguments)` of a module in a new Python.

    With `flags`, it has the flags of this interpreter. `python` is another interpreter than this
    one.
    """
    import subprocess

    interpreter_flags = subprocess._args_from_interpreter_flags() if flags else []  # type: ignore[attr-defined]
    return [python or sys.executable, *interpreter_flags, __file__, module, *arguments]


def irscope_command(*words: str) -> list[str]:
    """Return the command that runs `irscope WORDS` in a new Python."""
    return [sys.executable, f"{__file__.rpartition('/compiling/')[0]}/__main__.py", *words]


def module_command(python: str, module: str) -> list[str]:
    """Return the command that runs a module of another package, as `PYTHON -m MODULE` does."""
    return [python, "-c", _RUN_MODULE, module]


def _start() -> None:
    imported = frozenset(sys.modules)
    folder, _, _ = __file__.rpartition("/")
    root = folder.removesuffix("/irscope/compiling/processes")
    if sys.path and sys.path[0] == folder:  # not under PYTHONSAFEPATH
        del sys.path[0]
    if root not in sys.path:  # irscope runs from a checkout that is not installed
        sys.path.append(root)
    from importlib import import_module

    vars(import_module("irscope.compiling.processes.child_process"))["at_start"] = imported
    sys.exit(import_module(sys.argv[1]).main(*sys.argv[2:]))


if __name__ == "__main__":
    _start()
