"""Calls a function right after the program imports one of several modules.

Every Python that a program starts imports this file at its start, so it imports nothing that Python itself
has not imported: the program may have a module of the same name.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from typing import Any


def after_import(names: tuple[str, ...], action: Callable[[], None]) -> None:
    """Calls `action` once, after the first import of any module in `names` that is not imported yet."""
    sys.meta_path.insert(0, ImportHook(names, action))


class ImportHook:
    """Waits for the import of one of the modules; a finder of `sys.meta_path`."""

    def __init__(self, names: tuple[str, ...], action: Callable[[], None]) -> None:
        self._names, self._action = names, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module that is waited for; None for any other module.

        Asking for a spec imports nothing yet.
        """
        if name not in self._names:
            return None
        finders: list[Any] = list(sys.meta_path)
        later = finders[finders.index(self) + 1 :] if self in finders else finders
        specs = (finder.find_spec(name, path, target) for finder in later)
        spec: ModuleSpec | None = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = self._then_act(spec.loader)
            setattr(spec.loader, "exec_module", execute)  # noqa: B010 - typed as a method
        return spec

    def _then_act(self, loader: Loader) -> Callable[[Any], None]:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            waiting = self in sys.meta_path
            if waiting:
                sys.meta_path.remove(self)
            execute(module)
            if waiting:
                self._action()

        return exec_module
