"""Numbers that only a GPU could compute, usable as long as a program only prints or computes with them."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable
from numbers import Number
from typing import Any, NoReturn

from irscope.capturing.call_stack import user_frame
from irscope.toolchain.stub_driver import NeedsGpuError


class UnknownValue:
    """A number read from memory that a kernel would have written.

    It prints as "?", arithmetic and comparisons return another unknown value, and an `assert` on it
    passes. Any other use raises NeedsGpuError.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"

    def __format__(self, spec: str) -> str:
        """The same text in every format."""
        return "?"

    def __bool__(self) -> bool:
        """True in an `assert`. Raises NeedsGpuError elsewhere."""
        if in_assert():
            return True
        raise NeedsGpuError


def _compute(self: UnknownValue, *others: Any) -> UnknownValue:
    """Arithmetic with other numbers gives an unknown value; with a tensor or a text it needs the number."""
    if all(isinstance(other, Number | UnknownValue) for other in others):
        return self
    raise NeedsGpuError


class _NotANumberError(NeedsGpuError, TypeError):
    """Also a TypeError, so that code that prints any object falls back to its text."""


def _convert(self: UnknownValue, *_: Any) -> NoReturn:
    raise _NotANumberError


_ARITHMETIC = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod",
    "rmod", "pow", "rpow", "neg", "pos", "abs", "round", "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
for _name in _ARITHMETIC:
    setattr(UnknownValue, f"__{_name}__", _compute)
for _name in ("int", "float", "index", "hash", "trunc"):
    setattr(UnknownValue, f"__{_name}__", _convert)

UNKNOWN_VALUE = UnknownValue()


def in_assert(negated: bool = False) -> bool:
    """Whether the program's current line is in an `assert`; `negated` selects those with a `not`."""
    frame = user_frame()
    if frame is None:
        return False
    file, line = frame.f_code.co_filename, frame.f_lineno
    return any(first <= line <= last and no is negated for first, last, no in _asserts(file))


@functools.cache
def _asserts(file: str) -> tuple[tuple[int, int, bool], ...]:
    """The first and last line of each `assert` in a file, and whether it contains a `not`."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:  # a notebook cell with magic commands, or not Python
        return ()
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return tuple((node.lineno, node.end_lineno or node.lineno, _negates(node.test)) for node in found)


def _negates(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Not) for node in ast.walk(test))


def checked_arguments(run: Callable[..., Any]) -> Callable[..., Any]:
    """`JITFunction.run`, raising NeedsGpuError for an unknown argument: it specializes on values."""

    @functools.wraps(run)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, UnknownValue) for value in (*args, *kwargs.values())):
            raise NeedsGpuError
        return run(*args, **kwargs)

    return checked
