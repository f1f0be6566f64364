"""Evaluates expressions without running them: their value if the text determines it, else UNKNOWN.

Only a few builtins, `triton.cdiv`, `triton.next_power_of_2`, `triton.Config` and the file's own small
functions are called. The number of steps and the size of values are limited.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from irscope.lint.source.interpreter import interpret
from irscope.lint.source.static_values import (
    CONFIG_OPTIONS,
    MAX_ITEMS,
    UNKNOWN,
    ConfigValue,
    Known,
    Lookup,
    too_big,
    unpacked,
)

_MAX_STEPS = 50_000
_MAX_DEPTH = 40

_BINARY: Mapping[type[ast.operator], Callable[[Known, Known], Known]] = {
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
_COMPARE: Mapping[type[ast.cmpop], Callable[[Known, Known], Known]] = {
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
_UNARY: Mapping[type[ast.unaryop], Callable[[Known], Known]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}


def cdiv(a: int, b: int) -> int:
    """`triton.cdiv`."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """`triton.next_power_of_2`."""
    return 1 << max(n - 1, 0).bit_length()


_CALLS: Mapping[str, Callable[..., Known]] = {
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
_METHODS: Mapping[str, Callable[..., Known]] = {
    "copy": lambda value: value.copy(),
    "items": lambda value: list(value.items()),
    "keys": lambda value: list(value.keys()),
    "values": lambda value: list(value.values()),
    "get": lambda value, key, default=None: value.get(key, default),
    "bit_length": lambda value: value.bit_length(),
}
_CONFIG = ("triton.Config", "triton.runtime.Config", "triton.runtime.autotuner.Config")
_ERRORS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)


def _ignore_dotted(_: ast.expr) -> str:
    return ""


class Evaluator:
    """Evaluates expressions. `dotted` returns the full name of an expression ("triton.Config", "" if
    unknown), `functions` are the file's by name, and `names` looks up the file's names.
    """

    def __init__(
        self,
        dotted: Callable[[ast.expr], str] = _ignore_dotted,
        functions: Mapping[str, ast.FunctionDef] | None = None,
        names: Lookup = lambda _: UNKNOWN,
    ) -> None:
        self._dotted = dotted
        self._functions = functions or {}
        self._names = names
        self._steps = 0
        self._depth = 0

    def __call__(self, node: ast.expr, lookup: Lookup) -> Known:
        """The value of `node`; `lookup` returns the value of a name."""
        if self._depth == 0:
            self._steps = 0
        if not self._spend() or self._depth > _MAX_DEPTH:
            return UNKNOWN
        self._depth += 1
        try:
            value = self._evaluated(node, lookup)
        except _ERRORS:
            value = UNKNOWN
        finally:
            self._depth -= 1
        return UNKNOWN if too_big(value) else value

    def _spend(self) -> bool:
        self._steps += 1
        return self._steps <= _MAX_STEPS

    def _evaluated(self, node: ast.expr, lookup: Lookup) -> Known:  # noqa: PLR0911 - a case each
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
        return UNKNOWN

    def _items(self, nodes: Iterable[ast.expr], lookup: Lookup) -> Known:
        items: list[Known] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                more = self(node.value, lookup)
                if more is UNKNOWN:
                    return UNKNOWN
                items += more
            else:
                items.append(_with_node(self(node, lookup), node))
        return items

    def _dict(self, node: ast.Dict, lookup: Lookup) -> Known:
        found: dict[Known, Known] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            known = self(value, lookup)
            if key is None:
                if known is UNKNOWN:
                    return UNKNOWN
                found |= known
            elif (name := self(key, lookup)) is UNKNOWN:
                return UNKNOWN
            else:
                found[name] = known
        return found

    def _boolean(self, node: ast.BoolOp, lookup: Lookup) -> Known:
        ends = isinstance(node.op, ast.Or)
        for value in (self(part, lookup) for part in node.values):
            if value is UNKNOWN or bool(value) == ends:
                return value
        return value

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension], lookup: Lookup) -> Known:
        if not generators:
            return [_with_node(self(element, lookup), element)]
        first, *rest = generators
        found: list[Known] = []
        items = self(first.iter, lookup)
        if items is UNKNOWN:
            return UNKNOWN
        for item in items:
            own = _with_names(lookup, unpacked(first.target, item))
            kept = [self(test, own) for test in first.ifs]
            if any(test is UNKNOWN for test in kept):
                return UNKNOWN
            if all(kept):
                more = self._comprehension(element, rest, own)
                if more is UNKNOWN or too_big(found):
                    return UNKNOWN
                found += more
        return found

    def _call(self, node: ast.Call, lookup: Lookup) -> Known:
        arguments = self._items(node.args, lookup)
        keywords = self._keywords(node, lookup)
        if arguments is UNKNOWN or keywords is UNKNOWN:
            return UNKNOWN
        name = self._dotted(node.func)
        if name in _CONFIG:
            return _config(node, arguments, keywords)
        if isinstance(node.func, ast.Name) and node.func.id in self._functions:
            return self._run(self._functions[node.func.id], arguments, keywords)
        known = not any(value is UNKNOWN for value in [*arguments, *keywords.values()])
        if known and name in _CALLS:
            return _CALLS[name](*arguments, **keywords)
        if known and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return _applied(_METHODS[node.func.attr], self(node.func.value, lookup), *arguments)
        return UNKNOWN

    def _keywords(self, node: ast.Call, lookup: Lookup) -> Known:
        found: dict[str, Known] = {}
        for keyword in node.keywords:
            value = self(keyword.value, lookup)
            if keyword.arg is not None:
                found[keyword.arg] = value
            elif value is UNKNOWN:
                return UNKNOWN
            else:
                found |= value
        return found

    def _run(self, function: ast.FunctionDef, arguments: list[Known], keywords: dict[str, Known]) -> Known:
        own = function.args
        if own.vararg or own.kwarg or own.posonlyargs or function.decorator_list:
            return UNKNOWN
        positional = [parameter.arg for parameter in own.args]
        if len(arguments) > len(positional):
            return UNKNOWN
        names = [*positional, *(parameter.arg for parameter in own.kwonlyargs)]
        defaults: dict[str, ast.expr | None] = dict(
            zip(reversed(positional), reversed(own.defaults), strict=False)
        )
        defaults |= zip((parameter.arg for parameter in own.kwonlyargs), own.kw_defaults, strict=True)
        local = dict.fromkeys(names, UNKNOWN)
        local |= {name: self(node, self._names) for name, node in defaults.items() if node is not None}
        local |= dict(zip(positional, arguments, strict=False)) | keywords
        return interpret(function.body, local, self, self._names, self._spend)


def _with_names(lookup: Lookup, names: Mapping[str, Known]) -> Lookup:
    return lambda name: names[name] if name in names else lookup(name)


def _applied(function: Callable[..., Known] | None, *values: Known) -> Known:
    """`function` applied to `values`; UNKNOWN if one is unknown, or so large that it may be slow."""
    if function is None or any(value is UNKNOWN or too_big(value) for value in values):
        return UNKNOWN
    if function in (operator.pow, operator.lshift) and not all(-64 <= value <= 64 for value in values[1:]):
        return UNKNOWN
    if function is operator.mul and any(isinstance(value, list | tuple | str) for value in values):
        return UNKNOWN
    return function(*values)


def _with_node(value: Known, node: ast.expr) -> Known:
    """A config's location is its element in the list of configs, even if a helper function made it."""
    return replace(value, node=node) if isinstance(value, ConfigValue) else value


def _config(node: ast.Call, arguments: list[Known], keywords: Mapping[str, Known]) -> ConfigValue:
    first, rest = (arguments[0], arguments[1:]) if arguments else (keywords.get("kwargs", UNKNOWN), [])
    options = dict(CONFIG_OPTIONS) | dict(zip(CONFIG_OPTIONS, rest, strict=False))
    options |= {name: value for name, value in keywords.items() if name != "kwargs"}
    kwargs = dict(first) if isinstance(first, dict) else None
    return ConfigValue(kwargs, options, node)
