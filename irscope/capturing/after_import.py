"""Calls a function right after the program imports one of several modules.

The subprocesses of a program find this file at their start, so its imports are few.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def after_import(names: tuple[str, ...], action: Callable[[], None]) -> None:
    """Calls `action` once, after the first import of any module in `names` that is not imported yet."""
    sys.meta_path.insert(0, _ImportHook(names, action))


class _ImportHook(MetaPathFinder):
    """Waits for the import of one of the modules."""

    def __init__(self, names: tuple[str, ...], action: Callable[[], None]) -> None:
        self._names, self._action = names, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module that is waited for; None for any other module.

        Asking for a spec imports nothing yet.
        """
        if name not in self._names:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            execute = self._then_act(spec.loader)
            spec.loader.exec_module = execute  # type: ignore[method-assign,assignment]
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
