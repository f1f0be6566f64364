"""Numbers that only a GPU could give, as long as a program just prints them or computes with them."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable
from numbers import Number
from typing import Any, NoReturn

from irscope.capturing.fake_cuda.needs_gpu import NeedsGpuError
from irscope.capturing.record.call_stack import user_frame


class UnknownValue:
    """A number read from what a kernel would have written.

    It prints as "?", and arithmetic and comparisons give another. Where the program would have to know
    it, NeedsGpuError is raised; but an `assert` on it passes.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"

    def __format__(self, spec: str) -> str:
        """The same in every format."""
        return "?"

    def __bool__(self) -> bool:
        """True for an `assert`; nobody else may know."""
        if in_assert():
            return True
        raise NeedsGpuError


def _same(self: UnknownValue, *others: Any) -> UnknownValue:
    """What is computed from an unknown number and others is unknown; a tensor or a text needs it known."""
    if all(isinstance(other, Number | UnknownValue) for other in others):
        return self
    raise NeedsGpuError


class _NoNumberError(NeedsGpuError, TypeError):
    """As Python says it of what is no number, so that what prints anything prints this too."""


def _asked(self: UnknownValue, *_: Any) -> NoReturn:
    """The program would have to know the number."""
    raise _NoNumberError


_COMPUTING = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod",
    "rmod", "pow", "rpow", "neg", "pos", "abs", "round", "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
for _name in _COMPUTING:
    setattr(UnknownValue, f"__{_name}__", _same)
for _name in ("int", "float", "index", "hash", "trunc"):
    setattr(UnknownValue, f"__{_name}__", _asked)

NOT_COMPUTED = UnknownValue()


def in_assert(negated: bool = False) -> bool:
    """Whether the program's line that runs now is part of an `assert`: of one with a `not`, or without."""
    frame = user_frame()
    if frame is None:
        return False
    file, line = frame.f_code.co_filename, frame.f_lineno
    return any(first <= line <= last and no is negated for first, last, no in _asserts(file))


@functools.cache
def _asserts(file: str) -> tuple[tuple[int, int, bool], ...]:
    """First and last line of each `assert` in a file, and whether there is a `not` in it."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:  # a notebook's cell with magic, or no Python
        return ()
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return tuple((node.lineno, node.end_lineno or node.lineno, _negates(node.test)) for node in found)


def _negates(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Not) for node in ast.walk(test))


def launched(run: Callable[..., Any]) -> Callable[..., Any]:
    """`JITFunction.run`, which has to know every argument: it compiles for their values."""

    @functools.wraps(run)
    def run_known(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, UnknownValue) for value in (*args, *kwargs.values())):
            raise NeedsGpuError
        return run(*args, **kwargs)

    return run_known
