"""Interprets the statements of a small function, without running it: the value it is certain to return."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from irscope.lint.source.static_values import UNKNOWN, Known, Lookup, too_big, unpacked

Evaluate = Callable[[ast.expr, Lookup], Known]
Spend = Callable[[], bool]  # counts a step; False if the budget is used up


class _End(Enum):
    """How a block of statements ends if it does not return."""

    NEXT = auto()
    CONTINUE = auto()
    UNSUPPORTED = auto()  # by a statement that is not interpreted: nothing after it is certain


@dataclass(frozen=True, slots=True)
class _Returned:
    value: Known


def interpret(
    body: Sequence[ast.stmt], local: dict[str, Known], evaluate: Evaluate, names: Lookup, spend: Spend
) -> Known:
    """The value that a function with this body returns, UNKNOWN if it is uncertain.

    `local` are its arguments; `names` looks up the names of the file.
    """
    end = _Interpreter(local, evaluate, names, spend).block(body)
    return end.value if isinstance(end, _Returned) else None if end is _End.NEXT else UNKNOWN


class _Interpreter:
    def __init__(self, local: dict[str, Known], evaluate: Evaluate, names: Lookup, spend: Spend) -> None:
        self._local = local
        self._evaluate = evaluate
        self._names = names
        self._spend = spend

    def block(self, body: Sequence[ast.stmt]) -> _End | _Returned:
        for statement in body:
            end = self._statement(statement) if self._spend() else _End.UNSUPPORTED
            if end is not _End.NEXT:
                return end
        return _End.NEXT

    def _value(self, node: ast.expr) -> Known:
        return self._evaluate(node, self._lookup)

    def _lookup(self, name: str) -> Known:
        return self._local[name] if name in self._local else self._names(name)

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
        """`name.append(argument)` or `name.extend(argument)` on a local list."""
        own, value = self._local.get(name), self._value(argument)
        if not isinstance(own, list) or too_big(own):
            return _End.UNSUPPORTED
        if method == "append":
            self._local[name] = [*own, value]
        elif method == "extend" and isinstance(value, list | tuple):
            self._local[name] = [*own, *value]
        else:
            return _End.UNSUPPORTED
        return _End.NEXT
