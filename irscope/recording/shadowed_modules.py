"""Modules of the program that have the name of one that irscope imports: glob.py next to the script.

Python gives the program its own glob, and gives it to all that the program imports. irscope must not get
it, nor the program the standard library's because irscope has imported that before. So irscope's modules of
such names are in `sys.modules` only while irscope itself imports or pickles.

The processes that a program starts import this file while the program's modules are found first, so it
imports nothing that Python itself has not imported.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType, TracebackType

# The packages outside of the standard library that irscope imports.
_DEPENDENCIES = frozenset(
    ("numpy", "platformdirs", "pygments", "rapidfuzz", "rich", "tomli", "torch", "triton", "zstandard")
)
_SUFFIXES = (".py", ".pyc", ".so", ".abi3.so")
# Never set aside: modules that only one process-wide instance of can exist.
_KEPT = frozenset({"irscope", "__main__", "sitecustomize", "usercustomize", "importlib", "threading"})


def first_folder() -> str:
    """Return the folder in which Python looks for the program's modules first."""
    return os.path.abspath(sys.path[0]) if sys.path else ""  # noqa: PTH100 - see above


def shadowing_names(folder: str, at_start: Iterable[str]) -> frozenset[str]:
    """Return the modules in `folder` that shadow one that irscope may import.

    `at_start` are those that Python imports before the program: nothing shadows them.
    """
    try:
        files = os.listdir(folder or ".")  # noqa: PTH208
    except OSError:
        return frozenset()
    names = {name for file in files if (name := _module_name(folder, file))}
    importable = sys.stdlib_module_names | _DEPENDENCIES
    return frozenset(names & importable - set(at_start) - set(sys.builtin_module_names) - _KEPT)


def _module_name(folder: str, file: str) -> str:
    name, dot, _ = file.partition(".")
    if dot:
        return name if file.endswith(_SUFFIXES) else ""
    return name if os.path.exists(os.path.join(folder, file, "__init__.py")) else ""  # noqa: PTH110, PTH118


class ShadowedModules:
    """irscope's own modules of the names that a folder's files shadow."""

    def __init__(self, folder: str, at_start: Iterable[str] = ()) -> None:
        self.folder = folder
        self._at_start = frozenset(at_start)
        self.names = shadowing_names(folder, self._at_start)
        self._own: dict[str, ModuleType] = {}
        self._depth = 0

    def give_to_program(self) -> None:
        """Remove irscope's modules of these names, and those that use them: the program imports its own."""
        if self.names:
            self._own |= _taken(self.names | _users(self.names, self._at_start))

    def _take(self) -> dict[str, ModuleType]:
        return _taken(self.names | self._own.keys())

    def set_aside(self) -> _SetAside:
        """Within the block, irscope imports its own modules; not to be entered by several threads at once."""
        return _SetAside(self)


class _SetAside:
    """The context manager of `ShadowedModules.set_aside`; contextlib may be shadowed."""

    def __init__(self, shadowed: ShadowedModules) -> None:
        self._shadowed = shadowed
        self._theirs: dict[str, ModuleType] = {}
        self._path: list[str] = []

    def __enter__(self) -> None:
        shadowed = self._shadowed
        shadowed._depth += 1
        if not shadowed.names or shadowed._depth > 1:
            return
        self._theirs = shadowed._take()
        sys.modules.update(shadowed._own)
        self._path = sys.path[:]
        sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != shadowed.folder]  # noqa: PTH100

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shadowed = self._shadowed
        shadowed._depth -= 1
        if not shadowed.names or shadowed._depth:
            return
        shadowed._own |= shadowed._take()
        sys.modules.update(self._theirs)
        sys.path[:] = self._path


def _taken(names: frozenset[str]) -> dict[str, ModuleType]:
    """Remove the modules of these names, and their submodules, from `sys.modules`; return them."""
    matching_names = [name for name in sys.modules if name in names or name.partition(".")[0] in names]
    return {name: sys.modules.pop(name) for name in matching_names}


def _users(names: frozenset[str], at_start: frozenset[str]) -> frozenset[str]:
    """Return the modules of the standard library that import one of these modules, directly or not."""
    movable = {
        name: module
        for name, module in list(sys.modules.items())
        if name not in at_start
        and name.partition(".")[0] in sys.stdlib_module_names - _KEPT
        and hasattr(module, "__file__")
        and str(module.__file__).endswith(".py")
    }
    imports = {name: _imported_names(module) for name, module in movable.items()}
    users = set(names)
    grown = True
    while grown:
        more = {name for name, imported in imports.items() if name not in users and imported & users}
        users |= more
        grown = bool(more)
    return frozenset(users)


def _imported_names(module: ModuleType) -> set[str]:
    """Return the modules that a module has objects of."""
    names = set()
    for value in list(vars(module).values()):
        name = value.__name__ if type(value) is type(sys) else getattr(value, "__module__", None)
        if isinstance(name, str) and name != module.__name__:
            # The functions of struct say that they are of _struct, the part of it in C.
            names |= {name, top := name.partition(".")[0], top.removeprefix("_")}
    return names
