"""The statements of a small function, followed without running them: what it returns for certain."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from irscope.lint.source.values import UNKNOWN, Known, Lookup, bound, too_big

Read = Callable[[ast.expr, Lookup], Known]
Spend = Callable[[], bool]  # counts a step, and says whether there may be more


class _End(Enum):
    """How a block of statements ends, where it does not return."""

    NEXT = auto()
    CONTINUE = auto()
    LOST = auto()  # by a statement that is not followed: nothing is certain after it


@dataclass(frozen=True, slots=True)
class _Returned:
    value: Known


def follow(
    body: Sequence[ast.stmt], local: dict[str, Known], read: Read, names: Lookup, spend: Spend
) -> Known:
    """What a function with this body returns; `local` are its arguments, `names` the file's names."""
    end = _Follower(local, read, names, spend).block(body)
    return end.value if isinstance(end, _Returned) else None if end is _End.NEXT else UNKNOWN


class _Follower:
    def __init__(self, local: dict[str, Known], read: Read, names: Lookup, spend: Spend) -> None:
        self._local = local
        self._read = read
        self._names = names
        self._spend = spend

    def block(self, body: Sequence[ast.stmt]) -> _End | _Returned:
        for statement in body:
            end = self._statement(statement) if self._spend() else _End.LOST
            if end is not _End.NEXT:
                return end
        return _End.NEXT

    def _value(self, node: ast.expr) -> Known:
        return self._read(node, self._lookup)

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
                self._local |= bound(target, self._value(node.value))
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
                return _End.LOST if test is UNKNOWN else self.block(node.body if test else node.orelse)
            case ast.For(orelse=[]):
                return self._loop(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name() as name, method), args=[arg])):
                return self._grown(name.id, method, arg)
        return _End.LOST

    def _loop(self, node: ast.For) -> _End | _Returned:
        items = self._value(node.iter)
        if not isinstance(items, list | tuple | dict):
            return _End.LOST
        for item in items:
            self._local |= bound(node.target, item)
            end = self.block(node.body)
            if end is _End.LOST or isinstance(end, _Returned):
                return end
        return _End.NEXT

    def _grown(self, name: str, method: str, argument: ast.expr) -> _End:
        """`name.append(argument)` or `name.extend(argument)`, of a list of the function's own."""
        own, value = self._local.get(name), self._value(argument)
        if not isinstance(own, list) or too_big(own):
            return _End.LOST
        if method == "append":
            self._local[name] = [*own, value]
        elif method == "extend" and isinstance(value, list | tuple):
            self._local[name] = [*own, *value]
        else:
            return _End.LOST
        return _End.NEXT
