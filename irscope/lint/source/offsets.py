"""Evaluates offsets as written, in the last program of a launch, and finds those that overflow int32."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from irscope.lint.source.kernel_body import resolve_local
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule

LIMIT = 2**31 - 1
_MAX_STEPS = 2_000
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_SAME = ("multiple_of", "max_contiguous", "max_constancy")


class Kind(Enum):
    """How a number is computed: by the compiler in Python, or by the kernel in 32 or 64 bits."""

    CONSTANT = auto()
    INT32 = auto()
    INT64 = auto()


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the kernel; for a tensor, its first element."""

    value: int
    kind: Kind


@dataclass
class OffsetEvaluator:
    """Evaluates the expressions of a kernel. `arguments` are its known parameters, `grid` the known sizes.

    `overflows` collects the expressions whose exact value does not fit, with the value.
    """

    kernel: KernelSource
    module: PythonModule
    arguments: Mapping[str, int]
    grid: Mapping[int, int]
    overflows: dict[ast.expr, int] = field(default_factory=dict)
    _steps: int = 0

    def __call__(self, node: ast.expr) -> Number | None:  # noqa: PLR0911 - a case each
        """The value of an expression; None if it is unknown or not an integer."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            return None
        match node:
            case ast.Constant(int() as value):
                return Number(value, Kind.CONSTANT)
            case ast.Name():
                return self._name(node)
            case ast.BinOp():
                return self._operation(node)
            case ast.Subscript():  # offsets[:, None]
                return self(node.value)
            case ast.Call():
                return self._call(node)
        return None

    def _name(self, node: ast.Name) -> Number | None:
        parameter = self.kernel.parameter(node.id)
        if parameter is None:
            resolved = resolve_local(self.kernel, node)
            return None if isinstance(resolved, ast.Name) else self(resolved)
        if node.id in self.kernel.assigned or node.id not in self.arguments:
            return None
        value = self.arguments[node.id]
        wide = value > LIMIT or "64" in ast.unparse(parameter.node)
        return Number(value, Kind.CONSTANT if parameter.constexpr else Kind.INT64 if wide else Kind.INT32)

    def _operation(self, node: ast.BinOp) -> Number | None:
        left, right = self(node.left), self(node.right)
        apply = _OPERATORS.get(type(node.op))
        if left is None or right is None or apply is None or (right.value == 0 and apply not in _SAFE):
            return None
        value = apply(left.value, right.value)
        kinds = {_kind(left), _kind(right)}
        kind = Kind.INT64 if Kind.INT64 in kinds else Kind.INT32 if Kind.INT32 in kinds else Kind.CONSTANT
        if left.kind is right.kind is Kind.CONSTANT:
            kind = Kind.CONSTANT
        if kind is Kind.INT32 and value > LIMIT:
            self.overflows.setdefault(node, value)
            return None
        return Number(value, kind)

    def _call(self, node: ast.Call) -> Number | None:
        if call := self.module.tl(node, "program_id"):
            axis = call.args[0] if call.args else next((keyword.value for keyword in call.keywords), None)
            known = axis.value if isinstance(axis, ast.Constant) else None
            size = self.grid.get(known) if isinstance(known, int) else None
            return Number(size - 1, Kind.INT32) if size else None
        if call := self.module.tl(node, "arange", *_SAME, "cast"):
            first = self(call.args[0]) if call.args else None
            widened = self.module.tl(call, "cast") is not None
            return _converted(first, call) if widened else first and Number(first.value, Kind.INT32)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return _converted(self(node.func.value), node)
        return None


_SAFE = (operator.add, operator.sub, operator.mul)


def _kind(number: Number) -> Kind:
    """A constant that needs 64 bits makes the result 64 bits wide."""
    return Kind.INT64 if number.kind is Kind.CONSTANT and number.value > LIMIT else number.kind


def _converted(number: Number | None, call: ast.Call) -> Number | None:
    if number is None:
        return None
    text = ast.unparse(call.args[-1]) if call.args else ""
    if "int64" in text:
        return Number(number.value, Kind.INT64)
    return number if "int32" in text else None
