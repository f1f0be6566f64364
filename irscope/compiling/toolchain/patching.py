"""Replacing attributes and environment variables temporarily, and hooks that never raise in the program.

Calls a function right after the program imports one of several modules.

Every Python that a program starts imports this file at its start, so it imports nothing that Python itself
has not imported: the program may have a module of the same name.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from irscope.model.errors import print_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec


# A replacement for `patched`: module or class, name, new value.
Replacement = tuple[Any, str, Any]

_reported: set[str] = set()


@contextmanager
def patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Set `owner.name` to `value` within the block; restores or deletes the attribute afterwards."""
    # As stored: getattr would turn a classmethod into a bound method.
    had, before = name in vars(owner), vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if had:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


@contextmanager
def variable_set(name: str, value: str) -> Iterator[None]:
    """Set an environment variable within the block; restores or deletes it afterwards."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def answering(value: Any) -> Callable[..., Any]:
    """Return a new function that returns `value` for any arguments, also as a method."""

    def answer(*_: Any, **__: Any) -> Any:
        return value

    return answer


def never_raises(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `hook` so that an exception is reported once on stderr and the call returns None."""

    @functools.wraps(hook)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return hook(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - an error in a hook must not become the program's
            name = f"{hook.__name__}: {type(error).__name__}"
            if name not in _reported:
                _reported.add(name)
                where = traceback.extract_tb(error.__traceback__)[-1]
                location = f"{where.filename}:{where.lineno}"
                print_note(f"not captured: {name}: {error} ({location})")
            return None

    return guarded


def after_import(names: tuple[str, ...], action: Callable[[], None]) -> None:
    """Call `action` once, after the first import of any module in `names` that is not imported yet."""
    sys.meta_path.insert(0, ImportHook(names, action))


def once_imported(module: str, action: Callable[[], None]) -> None:
    """Call `action` now if the module is imported, else right after its first import."""
    if module in sys.modules:
        action()
    else:
        after_import((module,), action)


class ImportHook:
    """Waits for the import of one of the modules; a finder of `sys.meta_path`."""

    def __init__(self, names: tuple[str, ...], action: Callable[[], None]) -> None:
        self._names, self._action = names, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module that is waited for, or None for any other module.

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
