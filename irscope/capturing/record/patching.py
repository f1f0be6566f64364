"""Replacing names of other modules for a while, and hooks whose faults never reach the program."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_told: set[str] = set()


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """`owner.name` is `value` inside; a name that was not there is gone again after it."""
    had, before = name in vars(owner), getattr(owner, name, None)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if had:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def harmless(hook: Callable[..., Any]) -> Callable[..., Any]:
    """`hook`, whose faults are told once on stderr and never raised: it returns None then."""

    @functools.wraps(hook)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return hook(*args, **kwargs)
        except Exception as fault:  # noqa: BLE001 - ours or another version's fault must not be the program's
            name = f"{hook.__name__}: {type(fault).__name__}"
            if name not in _told:
                _told.add(name)
                where = traceback.extract_tb(fault.__traceback__)[-1]
                place = f"{where.filename}:{where.lineno}"
                print(f"irscope: not captured: {name}: {fault} ({place})", file=sys.stderr)
            return None

    return guarded
