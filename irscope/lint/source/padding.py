"""What a kernel has in the elements that a mask excludes, until it reduces them.

A masked load fills them with `other`, or leaves them undefined. Arithmetic changes what is there:
`exp(-inf - maximum)` is 0, `0 - mean` is not. Sums, maxima and products of matrices over an axis along which
the mask excludes elements are right only if these are neutral. The body is followed in the order of its text.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from irscope.lint.source.evaluate import UNKNOWN
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule, argument
from irscope.model.records import frozen


class PadKind(Enum):
    """What is known of excluded elements."""

    UNDEFINED = auto()  # loaded without `other`
    NUMBER = auto()
    NAN = auto()
    OTHER = auto()  # computed from `other` and numbers that are not known: not neutral
    UNCERTAIN = auto()


@frozen
class Pad:
    """The excluded elements of a value along one axis.

    `number` is what they are; for UNDEFINED, what they are if the load fills them with zeros. `load` is the
    load that they come from, `mask` its mask as text.
    """

    kind: PadKind
    load: ast.Call
    mask: str
    number: float = 0.0


@frozen
class Padded:
    """A value: its pads by axis, whether no element is negative, and its number if it is a constant.

    `varies` are the axes along which elements differ, None if they are unknown.
    """

    pads: Mapping[int, Pad] = field(default_factory=dict)
    nonnegative: bool = False
    number: float | None = None
    rank: int | None = None
    varies: frozenset[int] | None = frozenset()

    def is_uniform(self, axis: int) -> bool:
        """Return True if all elements along an axis are certainly equal."""
        return self.varies is not None and axis not in self.varies

    def axis(self, axis: object) -> int | None:
        """Return the number of an axis that counts from either end, or None if that is not known."""
        if isinstance(axis, int) and axis < 0:
            return None if self.rank is None else axis + self.rank
        return axis if isinstance(axis, int) else None


PLAIN = Padded()
UNKNOWN_VALUE = Padded(varies=None)


@frozen
class Reduction:
    """A reduction over an axis with excluded elements: the call, its kind and what it reads there."""

    call: ast.Call
    kind: str
    pad: Pad
    nonnegative: bool


_SUMS = ("sum", "cumsum", "reduce_sum")
_MAXIMA = ("max", "argmax")
_MINIMA = ("min", "argmin")
_UNARY: Mapping[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda number: 2.0**number,
    "log": lambda number: math.log(number) if number else -math.inf,
    "log2": lambda number: math.log2(number) if number else -math.inf,
    "sqrt": math.sqrt,
    "abs": abs,
    "sigmoid": lambda number: 1 / (1 + math.exp(-number)),
    "floor": math.floor,
    "ceil": math.ceil,
}
_NONNEGATIVE = ("exp", "exp2", "sqrt", "abs", "sigmoid")
_SAME = ("cast", "multiple_of", "max_contiguous", "max_constancy")
_FLOATS = ("float16", "float32", "float64", "bfloat16")


def reductions(kernel: KernelSource, module: PythonModule) -> Sequence[Reduction]:
    """Return the reductions of a kernel over elements that a mask excludes, in the order of the text."""
    follower = _Follower(module)
    follower.block(kernel.node.body)
    return tuple(dict.fromkeys(follower.reductions))


@dataclass
class _Follower:
    module: PythonModule
    values: dict[str, Padded] = field(default_factory=dict)
    texts: dict[str, ast.expr] = field(default_factory=dict)
    reductions: list[Reduction] = field(default_factory=list)

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:  # noqa: PLR0912 - a case each
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value):
                self._assign(name, value, self.value(value))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
                targets
            ) == len(values):
                results = [self.value(value) for value in values]
                for target, value, result in zip(targets, values, results, strict=True):
                    if isinstance(target, ast.Name):
                        self._assign(target.id, value, result)
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                self._assign(name, value, self.value(value))
            case ast.AugAssign(target=ast.Name(name)):
                value = ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value)
                self._assign(name, value, self.value(value))
            case ast.If():
                self.value(node.test)
                before = dict(self.values)
                self.block(node.body)
                self.values, after = before, self.values
                self.block(node.orelse)
                self.values = _merged(after, self.values)
            case ast.For() | ast.While():
                if isinstance(node, ast.For):
                    self.value(node.iter)
                    self.values |= dict.fromkeys(_stored(node.target), PLAIN)
                for _ in range(_ITERATIONS):
                    self.block(node.body)
            case ast.With():
                self.block(node.body)
            case _:
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.expr):
                        self.value(part)
                self.values |= dict.fromkeys(_stored(node), UNKNOWN_VALUE)

    def _assign(self, name: str, expression: ast.expr, value: Padded) -> None:
        self.values[name] = value
        self.texts[name] = expression

    def value(self, node: ast.expr) -> Padded:  # noqa: PLR0911 - a case each
        match node:
            case ast.Constant(int() | float() as number):
                return Padded(nonnegative=number >= 0, number=float(number))
            case ast.Name(name):
                return self.values.get(name, PLAIN)
            case ast.BinOp():
                return self._binary(node.op, self.value(node.left), self.value(node.right), node)
            case ast.UnaryOp(ast.USub(), operand):
                value = self.value(operand)
                return _mapped(value, lambda number: -number, nonnegative=False)
            case ast.Subscript():
                return self._indexed(node)
            case ast.Compare():
                left = self.value(node.left)
                values = [left, *(self.value(item) for item in node.comparators)]
                return Padded(varies=_varies(*values), rank=_rank(*values))
            case ast.Call():
                return self._call(node)
            case ast.IfExp():
                self.value(node.test)
                return _uncertain(self.value(node.body))
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.value(part)
        return PLAIN

    def _binary(self, operator: ast.operator, left: Padded, right: Padded, node: ast.BinOp) -> Padded:
        varies = _varies(left, right)
        rank = _rank(left, right)
        if isinstance(operator, ast.BitAnd | ast.BitOr):
            return Padded(varies=varies, rank=rank)
        if left.number is not None and right.number is not None:
            number = _computed(operator, left.number, right.number)
            return Padded(number=number, nonnegative=number is not None and number >= 0)
        pads = {axis: _combined(operator, left, right, axis) for axis in sorted({*left.pads, *right.pads})}
        square = isinstance(operator, ast.Mult) and ast.dump(node.left) == ast.dump(node.right)
        both = left.nonnegative and right.nonnegative and not isinstance(operator, ast.Sub)
        return Padded(pads, square or both, None, rank, varies)

    def _indexed(self, node: ast.Subscript) -> Padded:
        value = self.value(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        kept = [axis for axis, index in enumerate(indices) if isinstance(index, ast.Slice)]
        if not all(isinstance(index, ast.Slice) or _is_none(index) for index in indices):
            return UNKNOWN_VALUE
        moved = {kept[axis]: pad for axis, pad in value.pads.items() if axis < len(kept)}
        varies = value.varies and frozenset(kept[axis] for axis in value.varies if axis < len(kept))
        return replace(value, pads=moved, varies=varies, rank=len(indices))

    def _call(self, node: ast.Call) -> Padded:  # noqa: PLR0911, PLR0912 - a case each
        module = self.module
        name = module.dotted(node.func).rpartition(".")[2] if module.tl(node, *_KNOWN) else ""
        if name == "load":
            return self._load(node)
        if name == "arange":
            return Padded(nonnegative=True, varies=frozenset([0]), rank=1)
        if name in ("zeros", "full", "zeros_like", "full_like"):
            fill = argument(node, 1, "value") if name.startswith("full") else ast.Constant(0)
            number = None if fill is None else self.value(fill).number
            return Padded(nonnegative=number is not None and number >= 0, number=number)
        if name == "where" and len(node.args) == 3:
            return self._where(node)
        if name in _REDUCING:
            return self._reduce(node, name)
        if name == "dot":
            return self._dot(node)
        if module.dotted(node.func) == "float" and len(node.args) == 1:
            number = module.value(node.args[0], module.scope)
            return Padded(number=float(number)) if number in ("inf", "-inf") else PLAIN
        if not name and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cast"):
            value = self.value(node.func.value)
            is_float = not node.args or any(item in ast.dump(node) for item in _FLOATS)
            return value if is_float else _uncertain(value)
        if not name and isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCING:
            return self._reduce(node, node.func.attr, node.func.value)
        arguments = [self.value(item) for item in node.args if not isinstance(item, ast.Starred)]
        for keyword in node.keywords:
            self.value(keyword.value)
        short = module.dotted(node.func).rpartition(".")[2]
        if module.tl(node, "program_id", "num_programs", "cdiv"):
            return PLAIN
        if not arguments:
            return UNKNOWN_VALUE
        if name in _SAME:
            return arguments[0]
        if short in _UNARY and len(arguments) == 1:
            return _mapped(arguments[0], _UNARY[short], nonnegative=short in _NONNEGATIVE)
        if name in ("maximum", "minimum") and len(arguments) == 2:
            return self._extreme(name, *arguments)
        return _uncertain(*arguments)

    def _extreme(self, name: str, left: Padded, right: Padded) -> Padded:
        choose = max if name == "maximum" else min
        number = right.number if right.number is not None else left.number
        value = left if right.number is not None else right
        if number is None:
            return _uncertain(left, right)
        nonnegative = value.nonnegative or (name == "maximum" and number >= 0)
        return _mapped(value, lambda other: choose(other, number), nonnegative=nonnegative)

    def _load(self, node: ast.Call) -> Padded:
        if any(keyword.arg == "boundary_check" for keyword in node.keywords):
            return self._block_load(node)
        mask, other = argument(node, 1, "mask"), argument(node, 2, "other")
        sources = [self.value(item) for item in [*node.args[:1], *([mask] if mask else [])]]
        rank, varies = _rank(*sources), _varies(*sources)
        if mask is None or (isinstance(mask, ast.Constant) and mask.value is None):
            return Padded(rank=rank, varies=varies)
        axes = self.value(mask).varies or ()
        if other is None or (isinstance(other, ast.Constant) and other.value is None):
            pad = Pad(PadKind.UNDEFINED, node, self._text(mask))
        else:
            number = self.value(other).number
            kind = PadKind.UNCERTAIN if number is None else PadKind.NUMBER
            pad = Pad(kind, node, self._text(mask), number or 0.0)
        return Padded(dict.fromkeys(sorted(axes), pad), rank=rank, varies=varies)

    def _block_load(self, node: ast.Call) -> Padded:
        """Return what a block pointer loads: zeros where its boundary check excludes elements."""
        axes = self.module.value(argument(node, 9, "boundary_check") or node, self.module.scope)
        option = self.module.value(argument(node, 9, "padding_option") or node, self.module.scope)
        known = isinstance(axes, list | tuple) and option in ("zero", "", UNKNOWN)
        pad = Pad(PadKind.NUMBER, node, "")
        return Padded({axis: pad for axis in axes if isinstance(axis, int)} if known else {}, varies=None)

    def _where(self, node: ast.Call) -> Padded:
        condition, kept, replaced = node.args
        value, other = self.value(kept), self.value(replaced)
        text = self._text(condition)
        pads = {}
        for axis, pad in value.pads.items():
            is_mask = bool(pad.mask) and pad.mask in text
            kind = PadKind.NUMBER if is_mask and other.number is not None else PadKind.UNCERTAIN
            pads[axis] = replace(pad, kind=kind, number=other.number or 0.0)
        nonnegative = value.nonnegative and other.nonnegative
        return Padded(pads, nonnegative, rank=value.rank, varies=_varies(self.value(condition), value, other))

    def _reduce(self, node: ast.Call, name: str, operand: ast.expr | None = None) -> Padded:
        source = operand if operand is not None else argument(node, 0, "input")
        if source is None:
            return PLAIN
        value = self.value(source)
        axis_node = argument(node, 0 if operand is not None else 1, "axis")
        axis = None if axis_node is None else value.axis(self.module.value(axis_node, self.module.scope))
        axes = list(value.pads) if axis_node is None else [axis] if axis in value.pads else []
        for padded_axis in [item for item in axes if item is not None]:
            pad = value.pads[padded_axis]
            self.reductions.append(Reduction(node, name, pad, value.nonnegative))
        if name == "cumsum":
            return _uncertain(value)
        rest = {
            other - (other > axis): _without_claim(pad)
            for other, pad in value.pads.items()
            if axis is not None and other != axis
        }
        if axis is None:
            return Padded(rest, value.nonnegative, rank=0 if axis_node is None else None)
        varies = value.varies and frozenset(item - (item > axis) for item in value.varies if item != axis)
        return Padded(rest, value.nonnegative, None, value.rank and value.rank - 1, varies)

    def _dot(self, node: ast.Call) -> Padded:
        operands = [argument(node, 0, "input"), argument(node, 1, "other")]
        values = [PLAIN if item is None else self.value(item) for item in operands]
        for keyword in node.keywords:
            self.value(keyword.value)
        for value, axis in zip(values, (1, 0), strict=True):
            if axis in value.pads:
                self.reductions.append(Reduction(node, "dot", value.pads[axis], value.nonnegative))
        return Padded(varies=None, rank=2)

    def _text(self, node: ast.expr, depth: int = 0) -> str:
        """Return an expression as text, with the names in it resolved once."""
        match node:
            case ast.Name(name) if name in self.texts and depth < _MAX_DEPTH:
                expression = self.texts[name]
                if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(expression)):
                    return name
                return self._text(expression, depth + 1)
        return ast.unparse(node)


_MAX_DEPTH = 5
_ITERATIONS = 2  # the second may read what the first has left
_REDUCING = (*_SUMS, *_MAXIMA, *_MINIMA)
_KNOWN = (
    *("load", "arange", "where", "dot", "maximum", "minimum"),
    *("zeros", "full", "zeros_like", "full_like"),
    *_REDUCING,
    *_UNARY,
    *_SAME,
)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _stored(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _without_claim(pad: Pad) -> Pad:
    return replace(pad, kind=PadKind.UNCERTAIN)


def _uncertain(*values: Padded) -> Padded:
    """Return a value of which nothing is known where the masks exclude elements."""
    pads = {axis: _without_claim(pad) for value in values for axis, pad in value.pads.items()}
    return Padded(pads, rank=_rank(*values), varies=None)


def _varies(*values: Padded) -> frozenset[int] | None:
    """Return the axes along which an element-wise result of values differs."""
    if any(value.varies is None for value in values):
        return None
    return frozenset().union(*(value.varies or () for value in values))


def _rank(*values: Padded) -> int | None:
    return max((value.rank for value in values if value.rank is not None), default=None)


def _merged(first: Mapping[str, Padded], second: Mapping[str, Padded]) -> dict[str, Padded]:
    """Return what is known after an `if`, whichever branch ran."""
    names = {*first, *second}
    return {
        name: first[name]
        if first.get(name) == second.get(name)
        else _uncertain(first.get(name, PLAIN), second.get(name, PLAIN))
        for name in sorted(names)
    }


def _mapped(value: Padded, function: Callable[[float], float], nonnegative: bool) -> Padded:
    """Return an element-wise function of a value."""
    number = None if value.number is None else _applied(function, value.number)
    pads = {}
    for axis, pad in value.pads.items():
        result = _applied(function, pad.number) if pad.kind in _EXACT else pad.number
        pads[axis] = _without_claim(pad) if result is None else replace(pad, number=result)
    return Padded(pads, nonnegative, number, value.rank, value.varies)


def _applied(function: Callable[[float], float], number: float) -> float | None:
    try:
        return function(number)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


_EXACT = (PadKind.NUMBER, PadKind.UNDEFINED)


def _divided(left: float, right: float) -> float:
    if right:
        return left / right
    return math.copysign(math.inf, left) if left else math.nan


def _computed(operator: ast.operator, left: float, right: float) -> float | None:
    functions: Mapping[type[ast.operator], Callable[[float, float], float]] = {
        ast.Add: lambda a, b: a + b,
        ast.Sub: lambda a, b: a - b,
        ast.Mult: lambda a, b: a * b,
        ast.Div: _divided,
        ast.Pow: lambda a, b: a**b,
    }
    function = functions.get(type(operator))
    return None if function is None else _applied(lambda a: function(a, right), left)


def _combined(operator: ast.operator, left: Padded, right: Padded, axis: int) -> Pad:  # noqa: PLR0911
    """Return the pad of a sum, difference, product or quotient along an axis."""
    first, second = left.pads.get(axis), right.pads.get(axis)
    pads = [pad for pad in (first, second) if pad is not None]
    kinds = {pad.kind for pad in pads}
    pad = next((pad for pad in pads if pad.kind is PadKind.UNDEFINED or pad.number), pads[0])
    is_product = isinstance(operator, ast.Mult | ast.Div)
    if PadKind.UNCERTAIN in kinds or not (is_product or isinstance(operator, ast.Add | ast.Sub)):
        return _without_claim(pad)
    if PadKind.NAN in kinds:
        return replace(pad, kind=PadKind.NAN)
    a, b = _number_at(left, first), _number_at(right, second)
    if a is not None and b is not None:
        number = _computed(operator, a, b)
        if number is not None and math.isnan(number):
            return replace(pad, kind=PadKind.NAN)
        return _without_claim(pad) if number is None else replace(pad, number=number)
    if is_product and (a == 0 or (b == 0 and isinstance(operator, ast.Mult))):
        # Zero times an undefined number may be NaN, and usually is zero.
        mixed = len(kinds) > 1 and PadKind.UNDEFINED in kinds
        kind = PadKind.UNDEFINED if PadKind.UNDEFINED in kinds else PadKind.NUMBER
        return _without_claim(pad) if mixed else replace(pad, kind=kind, number=0.0)
    if not all(side.is_uniform(axis) for side in (left, right) if axis not in side.pads):
        return _without_claim(pad)  # such as a mask, converted to numbers
    infinite = next((item for item in (a, b) if item is not None and math.isinf(item)), None)
    if infinite is not None and is_product:
        return _without_claim(pad)
    if infinite is not None:
        return replace(pad, number=infinite if a == infinite else -infinite)
    kind = PadKind.UNDEFINED if pad.kind is PadKind.UNDEFINED else PadKind.OTHER
    return replace(pad, kind=kind, number=math.nan)


def _number_at(value: Padded, pad: Pad | None) -> float | None:
    """Return the number that a value is in excluded elements, or None if it is not known."""
    if pad is None:
        return value.number
    return pad.number if pad.kind in _EXACT and not math.isnan(pad.number) else None
