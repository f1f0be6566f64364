"""Evaluates expressions without running them: their value if the text determines it, else UNKNOWN.

Only a few builtins, `triton.cdiv`, `triton.next_power_of_2`, `triton.Config` and the file's own small
functions are called. The number of steps and the size of values are limited.

Interprets the statements of a small function, without running it: the value it is certain to return.

The values that static evaluation yields: literals, configs, and UNKNOWN.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum, auto
from typing import Any, Final

from irscope.lint.source.file_tensors import (
    TensorValue,
    dtype_named,
    made_tensor,
    tensor_attribute,
    tensor_method,
)
from irscope.model.records import frozen


class _Unknown(Enum):
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown.UNKNOWN

# Plain Python values, lists, tuples and dicts of them, ConfigValue or UNKNOWN: no narrower type fits.
StaticValue = Any
Lookup = Callable[[str], StaticValue]

MAX_ITEMS = 5_000
_MAX_INT = 1 << 64


@frozen
class ConfigValue:
    """A `triton.Config(...)`. `kwargs` are its meta-parameters, None if they are unknown.

    `options` are its other arguments by name, with Triton's defaults; a value may be UNKNOWN.
    `node` is the element of the list of configs, if that is known.
    """

    kwargs: Mapping[str, StaticValue] | None
    options: Mapping[str, StaticValue] = field(default_factory=dict)
    node: ast.expr | None = None

    @property
    def identity(self) -> Hashable | None:
        """Return a key that is equal for equal configs, or None if any part of the config is unknown."""
        if self.kwargs is None:
            return None
        values = [*self.kwargs.items(), *self.options.items()]
        if any(value is UNKNOWN or not isinstance(value, int | float | str | None) for _, value in values):
            return None
        return tuple(sorted((name, repr(value)) for name, value in values))


# The parameters of triton.Config after `kwargs`, in order, with their defaults (3.6 to 3.9).
CONFIG_OPTIONS: Mapping[str, StaticValue] = {
    "num_warps": 4,
    "num_stages": 3,
    "num_ctas": 1,
    "maxnreg": None,
    "pre_hook": None,
    "ir_override": None,
}


def too_big(value: StaticValue) -> bool:
    """Return True if a value is so large that computing with it may be slow; no kernel needs that."""
    if isinstance(value, int):
        return not -_MAX_INT < value < _MAX_INT
    return isinstance(value, list | tuple | dict | str) and len(value) > MAX_ITEMS


def unpacked(target: ast.expr, value: StaticValue) -> dict[str, StaticValue]:
    """Return the names that assigning `value` to `target` binds; UNKNOWN if the lengths do not match."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(target, ast.Tuple | ast.List):
        fits = isinstance(value, list | tuple) and len(value) == len(target.elts)
        parts = value if fits else [UNKNOWN] * len(target.elts)
        return {
            k: v
            for part, item in zip(target.elts, parts, strict=True)
            for k, v in unpacked(part, item).items()
        }
    return {}


class _End(Enum):
    """How a block of statements ends if it does not return."""

    NEXT = auto()
    CONTINUE = auto()
    UNSUPPORTED = auto()  # by a statement that is not interpreted: nothing after it is certain


@frozen
class _Returned:
    value: StaticValue


class _Interpreter:
    """Interprets the body of a function; `local` has its arguments, then its variables."""

    def __init__(self, evaluator: Evaluator, local: dict[str, StaticValue]) -> None:
        self._evaluator, self._local = evaluator, local

    def result(self, body: Sequence[ast.stmt]) -> StaticValue:
        """Return the value that the function returns, or UNKNOWN if it is uncertain."""
        end = self.block(body)
        return end.value if isinstance(end, _Returned) else None if end is _End.NEXT else UNKNOWN

    def block(self, body: Sequence[ast.stmt]) -> _End | _Returned:
        for statement in body:
            end = self._statement(statement) if self._evaluator.spend() else _End.UNSUPPORTED
            if end is not _End.NEXT:
                return end
        return _End.NEXT

    def _value(self, node: ast.expr) -> StaticValue:
        return self._evaluator(node, _with_names(self._evaluator.names, self._local))

    def _statement(self, node: ast.stmt) -> _End | _Returned:  # noqa: PLR0911 - a case each
        match node:
            case ast.Return():
                return _Returned(None if node.value is None else self._value(node.value))
            case ast.Continue():
                return _End.CONTINUE
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return _End.NEXT
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target]):
                self._local |= unpacked(target, self._value(node.value))
                return _End.NEXT
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self._local[target.id] = self._value(value)
                return _End.NEXT
            case ast.AugAssign(target=ast.Name() as target):
                value = ast.BinOp(ast.Name(target.id, ast.Load()), node.op, node.value)
                self._local[target.id] = self._value(value)
                return _End.NEXT
            case ast.If():
                test = self._value(node.test)
                return _End.UNSUPPORTED if test is UNKNOWN else self.block(node.body if test else node.orelse)
            case ast.For(orelse=[]):
                return self._loop(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name() as name, method), args=[arg])):
                return self._call_method(name.id, method, arg)
        return _End.UNSUPPORTED

    def _loop(self, node: ast.For) -> _End | _Returned:
        items = self._value(node.iter)
        if not isinstance(items, list | tuple | dict):
            return _End.UNSUPPORTED
        for item in items:
            self._local |= unpacked(node.target, item)
            end = self.block(node.body)
            if end is _End.UNSUPPORTED or isinstance(end, _Returned):
                return end
        return _End.NEXT

    def _call_method(self, name: str, method: str, argument: ast.expr) -> _End:
        """Execute `name.append(argument)` or `name.extend(argument)` on a local list."""
        items, value = self._local.get(name), self._value(argument)
        if not isinstance(items, list) or too_big(items):
            return _End.UNSUPPORTED
        if method == "append":
            self._local[name] = [*items, value]
        elif method == "extend" and isinstance(value, list | tuple):
            self._local[name] = [*items, *value]
        else:
            return _End.UNSUPPORTED
        return _End.NEXT


_MAX_STEPS = 50_000
_MAX_DEPTH = 40

_BINARY: Mapping[type[ast.operator], Callable[[StaticValue, StaticValue], StaticValue]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[StaticValue, StaticValue], StaticValue]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[StaticValue], StaticValue]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}


def cdiv(a: int, b: int) -> int:
    """Return what `triton.cdiv` returns."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """Return what `triton.next_power_of_2` returns."""
    return 1 << max(n - 1, 0).bit_length()


_CALLS: Mapping[str, Callable[..., StaticValue]] = {
    "len": len,
    "min": min,
    "max": max,
    "int": int,
    "abs": abs,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "sorted": sorted,
    "range": lambda *bounds: list(itertools.islice(range(*bounds), MAX_ITEMS + 1)),
    "zip": lambda *parts: list(zip(*parts, strict=False)),
    "enumerate": lambda items: list(enumerate(items)),
    "itertools.product": lambda *parts: list(
        itertools.islice(itertools.product(*map(list, parts)), MAX_ITEMS + 1)
    ),
    "triton.cdiv": cdiv,
    "triton.next_power_of_2": next_power_of_2,
}
_METHODS: Mapping[str, Callable[..., StaticValue]] = {
    "copy": lambda value: value.copy(),
    "items": lambda value: list(value.items()),
    "keys": lambda value: list(value.keys()),
    "values": lambda value: list(value.values()),
    "get": lambda value, key, default=None: value.get(key, default),
    "bit_length": lambda value: value.bit_length(),
}
_CONFIG = ("triton.Config", "triton.runtime.Config", "triton.runtime.autotuner.Config")
_ERRORS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)


class Evaluator:
    """Evaluates expressions. `dotted` returns the full name of an expression ("triton.Config", "" if
    unknown), `functions` are the file's by name, and `names` looks up the file's names.
    """

    def __init__(
        self,
        dotted: Callable[[ast.expr], str] = lambda _: "",
        functions: Mapping[str, ast.FunctionDef] | None = None,
        names: Lookup = lambda _: UNKNOWN,
    ) -> None:
        self._dotted = dotted
        self._functions = functions or {}
        self.names = names
        self._steps = 0
        self._depth = 0

    def __call__(self, node: ast.expr, lookup: Lookup) -> StaticValue:
        """Return the value of `node`; `lookup` returns the value of a name."""
        if self._depth == 0:
            self._steps = 0
        if not self.spend() or self._depth > _MAX_DEPTH:
            return UNKNOWN
        self._depth += 1
        try:
            value = self._evaluated(node, lookup)
        except _ERRORS:
            value = UNKNOWN
        finally:
            self._depth -= 1
        return UNKNOWN if too_big(value) else value

    def spend(self) -> bool:
        """Count a step; return False if there were too many."""
        self._steps += 1
        return self._steps <= _MAX_STEPS

    def _evaluated(self, node: ast.expr, lookup: Lookup) -> StaticValue:  # noqa: PLR0911, PLR0912
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return lookup(node.id)
            case ast.Tuple() | ast.List() | ast.Set():
                items = self._items(node.elts, lookup)
                return tuple(items) if isinstance(node, ast.Tuple) and items is not UNKNOWN else items
            case ast.Dict():
                return self._dict(node, lookup)
            case ast.BinOp():
                return _applied(_BINARY.get(type(node.op)), self(node.left, lookup), self(node.right, lookup))
            case ast.UnaryOp():
                return _applied(_UNARY[type(node.op)], self(node.operand, lookup))
            case ast.BoolOp():
                return self._boolean(node, lookup)
            case ast.Compare() if len(node.ops) == 1:
                left, right = self(node.left, lookup), self(node.comparators[0], lookup)
                return _applied(_COMPARE[type(node.ops[0])], left, right)
            case ast.IfExp():
                test = self(node.test, lookup)
                return UNKNOWN if test is UNKNOWN else self(node.body if test else node.orelse, lookup)
            case ast.Subscript():
                return _applied(operator.getitem, self(node.value, lookup), self(node.slice, lookup))
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node.elt, node.generators, lookup)
            case ast.Call():
                return self._call(node, lookup)
            case ast.Attribute():
                owner = self(node.value, lookup)
                if isinstance(owner, TensorValue):
                    return tensor_attribute(owner, node.attr)
                return dtype_named(self._dotted(node)) or UNKNOWN
        return UNKNOWN

    def _items(self, nodes: Iterable[ast.expr], lookup: Lookup) -> StaticValue:
        items: list[StaticValue] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                more = self(node.value, lookup)
                if more is UNKNOWN:
                    return UNKNOWN
                items += more
            else:
                items.append(_with_node(self(node, lookup), node))
        return items

    def _dict(self, node: ast.Dict, lookup: Lookup) -> StaticValue:
        entries: dict[StaticValue, StaticValue] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            entry = self(value, lookup)
            if key is None:
                if entry is UNKNOWN:
                    return UNKNOWN
                entries |= entry
            elif (name := self(key, lookup)) is UNKNOWN:
                return UNKNOWN
            else:
                entries[name] = entry
        return entries

    def _boolean(self, node: ast.BoolOp, lookup: Lookup) -> StaticValue:
        ends = isinstance(node.op, ast.Or)
        for value in (self(part, lookup) for part in node.values):
            if value is UNKNOWN or bool(value) == ends:
                return value
        return value

    def _comprehension(
        self, element: ast.expr, generators: list[ast.comprehension], lookup: Lookup
    ) -> StaticValue:
        if not generators:
            return [_with_node(self(element, lookup), element)]
        first, *rest = generators
        results: list[StaticValue] = []
        items = self(first.iter, lookup)
        if items is UNKNOWN:
            return UNKNOWN
        for item in items:
            inner_lookup = _with_names(lookup, unpacked(first.target, item))
            conditions = [self(test, inner_lookup) for test in first.ifs]
            if any(test is UNKNOWN for test in conditions):
                return UNKNOWN
            if all(conditions):
                more = self._comprehension(element, rest, inner_lookup)
                if more is UNKNOWN or too_big(results):
                    return UNKNOWN
                results += more
        return results

    def _call(self, node: ast.Call, lookup: Lookup) -> StaticValue:  # noqa: PLR0911 - a case each
        arguments = self._items(node.args, lookup)
        keywords = self._keywords(node, lookup)
        if arguments is UNKNOWN or keywords is UNKNOWN:
            return UNKNOWN
        name = self._dotted(node.func)
        if name in _CONFIG:
            return _config(node, arguments, keywords)
        if isinstance(node.func, ast.Name) and node.func.id in self._functions:
            return self._run(self._functions[node.func.id], arguments, keywords)
        if tensor := made_tensor(name, arguments, keywords, UNKNOWN):
            return tensor
        if isinstance(node.func, ast.Attribute):
            owner = self(node.func.value, lookup)
            if isinstance(owner, TensorValue):
                return tensor_method(owner, node.func.attr, arguments)
        is_known = not any(value is UNKNOWN for value in [*arguments, *keywords.values()])
        if is_known and name in _CALLS:
            return _CALLS[name](*arguments, **keywords)
        if is_known and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return _applied(_METHODS[node.func.attr], self(node.func.value, lookup), *arguments)
        return UNKNOWN

    def _keywords(self, node: ast.Call, lookup: Lookup) -> StaticValue:
        by_name: dict[str, StaticValue] = {}
        for keyword in node.keywords:
            value = self(keyword.value, lookup)
            if keyword.arg is not None:
                by_name[keyword.arg] = value
            elif value is UNKNOWN:
                return UNKNOWN
            else:
                by_name |= value
        return by_name

    def _run(
        self, function: ast.FunctionDef, arguments: list[StaticValue], keywords: dict[str, StaticValue]
    ) -> StaticValue:
        signature = function.args
        if signature.vararg or signature.kwarg or signature.posonlyargs or function.decorator_list:
            return UNKNOWN
        positional = [parameter.arg for parameter in signature.args]
        if len(arguments) > len(positional):
            return UNKNOWN
        names = [*positional, *(parameter.arg for parameter in signature.kwonlyargs)]
        defaults: dict[str, ast.expr | None] = dict(
            zip(reversed(positional), reversed(signature.defaults), strict=False)
        )
        defaults |= zip(
            (parameter.arg for parameter in signature.kwonlyargs), signature.kw_defaults, strict=True
        )
        local = dict.fromkeys(names, UNKNOWN)
        local |= {name: self(node, self.names) for name, node in defaults.items() if node is not None}
        local |= dict(zip(positional, arguments, strict=False)) | keywords
        return _Interpreter(self, local).result(function.body)


def _with_names(lookup: Lookup, names: Mapping[str, StaticValue]) -> Lookup:
    return lambda name: names[name] if name in names else lookup(name)


def _applied(function: Callable[..., StaticValue] | None, *values: StaticValue) -> StaticValue:
    """Apply `function` to `values`; return UNKNOWN if one is unknown, or too large to be fast."""
    if function is None or any(value is UNKNOWN or too_big(value) for value in values):
        return UNKNOWN
    if function in (operator.pow, operator.lshift) and not all(-64 <= value <= 64 for value in values[1:]):
        return UNKNOWN
    if function is operator.mul and any(isinstance(value, list | tuple | str) for value in values):
        return UNKNOWN
    return function(*values)


def _with_node(value: StaticValue, node: ast.expr) -> StaticValue:
    """Set a config's location to its element in the list of configs, even if a helper made it."""
    return replace(value, node=node) if isinstance(value, ConfigValue) else value


def _config(node: ast.Call, arguments: list[StaticValue], keywords: Mapping[str, StaticValue]) -> ConfigValue:
    first, rest = (arguments[0], arguments[1:]) if arguments else (keywords.get("kwargs", UNKNOWN), [])
    options = dict(CONFIG_OPTIONS) | dict(zip(CONFIG_OPTIONS, rest, strict=False))
    options |= {name: value for name, value in keywords.items() if name != "kwargs"}
    kwargs = dict(first) if isinstance(first, dict) else None
    return ConfigValue(kwargs, options, node)
