"""Numbers that only a GPU could compute, usable as long as a program only prints or computes with them."""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any, NoReturn

from irscope.compiling.call_stack import frames_outwards, user_frame, user_place
from irscope.compiling.toolchain.stub_driver import NeedsGpuError
from irscope.model import Value


class UnknownValue:
    """A number read from memory that a kernel would have written.

    It prints as "?", arithmetic and comparisons return another unknown value, and an `assert` on it
    passes. Any other use raises NeedsGpuError. `read_at` is the line that read it, as FILE:LINE.
    """

    __slots__ = ("read_at",)

    def __init__(self, read_at: str = "") -> None:
        self.read_at = read_at

    def __repr__(self) -> str:
        return "?"

    def __format__(self, spec: str) -> str:
        """Return the same text in every format."""
        return "?"

    def __bool__(self) -> bool:
        """Return the truth with which an `assert` passes. Raises NeedsGpuError elsewhere."""
        if (passing := passing_truth()) is not None:
            return passing
        raise NeedsGpuError(read_at=self.read_at)


def _compute(self: UnknownValue, *others: Any) -> UnknownValue:
    """Arithmetic with other numbers gives an unknown value; with a tensor or a text it needs the number."""
    if all(isinstance(operand, Number | UnknownValue) for operand in others):
        return self
    raise NeedsGpuError(read_at=self.read_at)


class _NotANumberError(NeedsGpuError, TypeError):
    """Also a TypeError, so that code that prints any object falls back to its text."""


def _convert(self: UnknownValue, *_: Any) -> NoReturn:
    raise _NotANumberError(read_at=self.read_at)


_ARITHMETIC = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod",
    "rmod", "pow", "rpow", "neg", "pos", "abs", "round", "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
for _name in _ARITHMETIC:
    setattr(UnknownValue, f"__{_name}__", _compute)
for _name in ("int", "float", "index", "hash", "trunc"):
    setattr(UnknownValue, f"__{_name}__", _convert)


@dataclass(frozen=True)
class Assumptions:
    """The values that the user assumes for numbers that only a GPU could compute.

    `values` are by the line that reads the number, "moe.py:96"; the path may be any end of the file's path.
    The line "" means any other line.
    """

    values: Mapping[str, Value]

    def value(self) -> Value:
        """Return the value to assume for a number that the program reads now, or None if there is none."""
        if self.values:
            for frame in frames_outwards(sys._getframe(1)):
                location = f"/{frame.f_code.co_filename}:{frame.f_lineno}"
                for line, value in self.values.items():
                    if line and location.endswith(f"/{line.removeprefix('/')}"):
                        return value
            if "" in self.values:
                return self.values[""]
        return None


NO_ASSUMPTIONS = Assumptions({})


def unknown_value() -> UnknownValue:
    """Return the number that the program reads now."""
    return UnknownValue(user_place())


def passing_truth() -> bool | None:
    """Return the truth of a value with which the `assert` in the program's current line passes.

    It is False if all of it is negated, as in `assert not x.isnan().any()`. It is None if the
    line is not in an `assert`, or if a part of it is negated.
    """
    test = _current_assert()
    if test is None:
        return None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return None if _negates(test.operand) or _combines(test.operand) else False
    return None if _negates(test) else True


def in_negated_assert() -> bool:
    """Return True if the program's current line is in an `assert` that contains a `not`."""
    test = _current_assert()
    return test is not None and _negates(test)


def _current_assert() -> ast.expr | None:
    """Return the condition of the `assert` in the program's current line, or None if there is none."""
    frame = user_frame()
    if frame is None:
        return None
    asserts = _asserts(frame.f_code.co_filename)
    return next((test for first, last, test in asserts if first <= frame.f_lineno <= last), None)


@functools.cache
def _asserts(file: str) -> tuple[tuple[int, int, ast.expr], ...]:
    """Return the first and last line of each `assert` in a file, and its condition."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:  # a notebook cell with magic commands, or not Python
        return ()
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return tuple((node.lineno, node.end_lineno or node.lineno, node.test) for node in nodes)


def _negates(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Not) for node in ast.walk(test))


def _combines(test: ast.expr) -> bool:
    return any(isinstance(node, ast.BoolOp) for node in ast.walk(test))


def checked_arguments(run: Callable[..., Any]) -> Callable[..., Any]:
    """`JITFunction.run`, raising NeedsGpuError for an unknown argument: it specializes on values."""

    @functools.wraps(run)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, UnknownValue):
                raise NeedsGpuError(read_at=value.read_at)
        return run(*args, **kwargs)

    return checked
