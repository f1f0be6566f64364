"""Evaluates offsets as written, in the last program of a launch, and finds those that overflow int32.

How many elements the largest tensor of a kernel has at most, given values of its constants.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from math import prod

from irscope.facts.source.tokens import names_in
from irscope.lint.source.evaluate import StaticValue
from irscope.lint.source.kernel_body import resolve_local
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule, argument
from irscope.model.records import frozen

LIMIT = 2**31 - 1
_MAX_STEPS = 2_000
_MAX_DEPTH = 40
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_SAME = ("multiple_of", "max_contiguous", "max_constancy")


class NumberKind(Enum):
    """How a number is computed: by the compiler in Python, or by the kernel in 32 or 64 bits."""

    CONSTANT = auto()
    INT32 = auto()
    INT64 = auto()


@frozen
class Number:
    """A number of the kernel; for a tensor, its first element."""

    value: int
    kind: NumberKind


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
    _depth: int = 0

    def __call__(self, node: ast.expr) -> Number | None:
        """Return the value of an expression, or None if it is unknown or not an integer."""
        self._steps += 1
        if self._steps > _MAX_STEPS or self._depth > _MAX_DEPTH:
            return None
        self._depth += 1
        try:
            return self._value(node)
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr) -> Number | None:
        match node:
            case ast.Constant(int() as value):
                return Number(value, NumberKind.CONSTANT)
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
        return Number(
            value,
            NumberKind.CONSTANT if parameter.constexpr else NumberKind.INT64 if wide else NumberKind.INT32,
        )

    def _operation(self, node: ast.BinOp) -> Number | None:
        left, right = self(node.left), self(node.right)
        apply = _OPERATORS.get(type(node.op))
        if left is None or right is None or apply is None or (right.value == 0 and apply not in _SAFE):
            return None
        value = apply(left.value, right.value)
        kinds = {_kind(left), _kind(right)}
        kind = (
            NumberKind.INT64
            if NumberKind.INT64 in kinds
            else NumberKind.INT32
            if NumberKind.INT32 in kinds
            else NumberKind.CONSTANT
        )
        if left.kind is right.kind is NumberKind.CONSTANT:
            kind = NumberKind.CONSTANT
        if kind is NumberKind.INT32 and value > LIMIT:
            self.overflows.setdefault(node, value)
            return None
        return Number(value, kind)

    def _call(self, node: ast.Call) -> Number | None:
        if (axis := self.module.program_axis(node)) is not None:
            size = self.grid.get(axis)
            return Number(size - 1, NumberKind.INT32) if size else None
        if call := self.module.tl(node, "arange", *_SAME, "cast"):
            first = self(call.args[0]) if call.args else None
            widened = self.module.tl(call, "cast") is not None
            return _converted(first, call) if widened else first and Number(first.value, NumberKind.INT32)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return _converted(self(node.func.value), node)
        return None


_SAFE = (operator.add, operator.sub, operator.mul)


def _kind(number: Number) -> NumberKind:
    """Return the kind of a number in an operation: a constant that needs 64 bits is INT64."""
    return NumberKind.INT64 if number.kind is NumberKind.CONSTANT and number.value > LIMIT else number.kind


def _converted(number: Number | None, call: ast.Call) -> Number | None:
    if number is None:
        return None
    text = ast.unparse(call.args[-1]) if call.args else ""
    if "int64" in text:
        return Number(number.value, NumberKind.INT64)
    return number if "int32" in text else None


# Functions that give larger tensors than their operands, or tensors of another kernel's making.
_GROWING = (
    "join",
    "cat",
    "interleave",
    "broadcast_to",
    "histogram",
    "gather",
    "inline_asm_elementwise",
    "dot",
)
_SHAPED = {"zeros": 0, "full": 0, "make_block_ptr": 4, "make_tensor_descriptor": 3, "rand": -1}
_SHAPE_NAMES = {"make_block_ptr": "block_shape", "make_tensor_descriptor": "block_shape"}
_DEFAULT_SHAPE_NAME = "shape"


def most_elements(
    kernel: KernelSource, module: PythonModule, values: Mapping[str, StaticValue]
) -> int | None:
    """Return an upper bound of the elements of the kernel's largest tensor.

    Returns None if it has none or it is unknown.
    """
    lengths: list[int] = []
    shapes: list[int] = []
    for node in kernel.nodes:
        if isinstance(node, ast.Call):
            if _is_opaque(node, kernel, module):
                return None
            if module.tl(node, "arange"):
                length = _length(node, module, values)
                if length is None:
                    return None
                lengths.append(length)
            elif shaped := module.tl(node, *_SHAPED):
                size = _size(shaped, module, values)
                if size is None:
                    return None
                if size > 1:
                    shapes.append(size)
    if not lengths and not shapes:
        return None
    largest = sorted(lengths)[-_dimensions(kernel) :]
    return max([prod(largest), *shapes])


def _is_opaque(call: ast.Call, kernel: KernelSource, module: PythonModule) -> bool:
    """Check whether a call may give a tensor of unknown size."""
    name = module.dotted(call.func)
    if name.startswith("triton."):
        return module.tl(call, *_GROWING) is not None
    if isinstance(call.func, ast.Name):
        return not hasattr(builtins, name)
    # A method of a value, or a function of another module.
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    is_value = root.id in kernel.assigned or kernel.parameter(root.id) is not None
    return not is_value or name.rpartition(".")[2] in ("load", *_GROWING)


def _length(call: ast.Call, module: PythonModule, values: Mapping[str, StaticValue]) -> int | None:
    start, end = argument(call, 0, "start"), argument(call, 1, "end")
    if start is None or end is None:
        return None
    bounds = [_known(node, module, values) for node in (start, end)]
    return bounds[1] - bounds[0] if all(isinstance(bound, int) for bound in bounds) else None


def _size(call: ast.Call, module: PythonModule, values: Mapping[str, StaticValue]) -> int | None:
    name = module.dotted(call.func).rpartition(".")[2]
    shape = argument(call, _SHAPED[name], _SHAPE_NAMES.get(name, _DEFAULT_SHAPE_NAME))
    shape_value = _known(shape, module, values) if shape is not None else None
    sizes = [shape_value] if isinstance(shape_value, int) else shape_value
    if not isinstance(sizes, list | tuple) or not all(isinstance(size, int) for size in sizes):
        return None
    return prod(sizes)


def _known(node: ast.expr, module: PythonModule, values: Mapping[str, StaticValue]) -> StaticValue:
    """Return the value of an expression of constants of the kernel and of the file."""
    names = names_in(node)
    kernel_values = {name: values[name] for name in names if name in values}
    rest = {
        name: module.value(ast.Name(name, ast.Load()), module.scope) for name in names if name not in values
    }
    return module.evaluate(node, kernel_values | rest)


def _dimensions(kernel: KernelSource) -> int:
    """Return the most dimensions that an index such as `[:, None]` gives a tensor."""
    return max(_ranks(kernel), default=1)


def _ranks(kernel: KernelSource) -> Iterator[int]:
    for node in kernel.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            yield len(node.slice.elts)
        elif isinstance(node, ast.Attribute) and node.attr in ("expand_dims", "reshape", "view"):
            yield 3
