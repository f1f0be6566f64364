"""Replacing attributes and environment variables temporarily, and hooks that never raise in the program."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# A replacement for `patched`: module or class, name, new value.
Replacement = tuple[Any, str, Any]

_reported: set[str] = set()


@contextmanager
def patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Sets `owner.name` to `value` within the block; restores or deletes the attribute afterwards."""
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
    """Sets an environment variable within the block; restores or deletes it afterwards."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def never_raises(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `hook` so that an exception is reported once on stderr and the call returns None."""

    @functools.wraps(hook)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return hook(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - an error in a hook must not become the program's
            name = f"{hook.__name__}: {type(error).__name__}"
            if name not in _reported:
                _reported.add(name)
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{where.filename}:{where.lineno}"
                print(f"irscope: not captured: {name}: {error} ({place})", file=sys.stderr)
            return None

    return guarded
