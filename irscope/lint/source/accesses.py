"""The loads, stores and atomics of a kernel as written, with the parameter that each points into."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irscope.lint.source.kernel_body import names_in, resolve_local
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule, argument

_MAX_ROUNDS = 20
# How often an atomic of this kind runs changes what is in memory; atomic_max and others are idempotent.
ACCUMULATING_ATOMICS = ("atomic_add", "atomic_xor")
_ATOMICS = (*ACCUMULATING_ATOMICS, *(f"atomic_{kind}" for kind in ("max", "min", "and", "or", "xchg", "cas")))
# Functions of triton.language that return their first argument, a pointer, with a hint or another type.
_SAME_POINTER = ("multiple_of", "max_contiguous", "max_constancy", "cast", "make_block_ptr", "advance")
_SAME_POINTER_METHODS = ("to", "cast")

Branches = tuple[tuple[ast.If, bool], ...]


@dataclass(frozen=True, slots=True)
class PointerAccess:
    """A `tl.load`, `tl.store` or `tl.atomic_*`.

    `operation` is its name; `parameter` the one that it points into, "" if unknown; `branches` are the
    `if` statements around it, from the outside, each with whether the access is in its body.
    """

    call: ast.Call
    operation: str
    parameter: str
    branches: Branches
    loops: tuple[ast.stmt, ...]

    @property
    def pointer(self) -> ast.expr:
        """The pointer, as written."""
        return self.call.args[0]

    @property
    def value(self) -> ast.expr | None:
        """The value that a store or an atomic writes."""
        return argument(self.call, 1, "value" if self.operation == "store" else "val")

    @property
    def place(self) -> tuple[int, int]:
        """Its line and column."""
        return self.call.lineno, self.call.col_offset

    @property
    def masked(self) -> bool:
        """Whether it has a mask, or checks the boundary of its block pointer."""
        position = {"load": 1}.get(self.operation, 2)
        mask = argument(self.call, position, "mask")
        unmasked = mask is None or (isinstance(mask, ast.Constant) and mask.value is None)
        return not unmasked or any(keyword.arg in ("boundary_check", None) for keyword in self.call.keywords)

    def excludes(self, other: PointerAccess) -> bool:
        """Whether no program runs both, because they are in different branches of one `if`."""
        taken = dict(self.branches)
        return any(taken.get(node, branch) != branch for node, branch in other.branches)


def pointer_accesses(kernel: KernelSource, module: PythonModule) -> Sequence[PointerAccess]:
    """The accesses of a kernel in the order of the text."""
    found = []
    for part, branches, loops in _parts(kernel.node.body):
        call = module.tl(part, "load", "store", *_ATOMICS)
        if call is None or not call.args:
            continue
        operation = module.dotted(call.func).rpartition(".")[2]
        parameter = base_parameter(kernel, call.args[0], module)
        found.append(PointerAccess(call, operation, parameter, branches, loops))
    return sorted(found, key=lambda access: access.place)


def base_parameter(kernel: KernelSource, node: ast.expr, module: PythonModule) -> str:
    """The parameter that a pointer starts with: x in `x + offsets`. "" if it is unknown."""
    for _ in range(_MAX_ROUNDS):
        node = _leftmost(node, module)
        if not isinstance(node, ast.Name):
            return ""
        name = node.id
        # `p += 1` leaves p with the same base.
        values = [value for value in kernel.assigned.get(name, []) if not _starts_with(value, name, module)]
        if kernel.parameter(name):
            return "" if values else name
        if len(values) != 1:
            return ""
        node = values[0]
    return ""


def same_address(kernel: KernelSource, first: PointerAccess, second: PointerAccess) -> bool:
    """Whether two accesses certainly use one address: one expression whose names keep their values."""
    for one, other in (
        (first.pointer, second.pointer),
        (resolve_local(kernel, first.pointer), resolve_local(kernel, second.pointer)),
    ):
        if ast.dump(one) == ast.dump(other):
            names = names_in(one)
            return not any(
                first.place < place < second.place for name, place in _bindings(kernel) if name in names
            )
    return False


def _leftmost(node: ast.expr, module: PythonModule) -> ast.expr:
    """The first term of a sum or difference, without calls that only add a hint or change a type."""
    while True:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            node = node.left
        elif (call := module.tl(node, *_SAME_POINTER)) and (call.args or call.keywords):
            node = argument(call, 0, "base") or call
            if node is call:
                return node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _SAME_POINTER_METHODS or module.tl(node, node.func.attr):
                return node
            node = node.func.value
        else:
            return node


def _starts_with(node: ast.expr, name: str, module: PythonModule) -> bool:
    first = _leftmost(node, module)
    return isinstance(first, ast.Name) and first.id == name


def _bindings(kernel: KernelSource) -> Iterator[tuple[str, tuple[int, int]]]:
    for node in kernel.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, (node.lineno, node.col_offset)


_Part = tuple[ast.AST, Branches, tuple[ast.stmt, ...]]


def _parts(body: Sequence[ast.stmt]) -> Iterator[_Part]:
    """All nodes of a body with the `if` statements and loops around them."""
    pending: list[_Part] = [(statement, (), ()) for statement in body]
    while pending:
        node, branches, loops = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.If):
            pending.append((node.test, branches, loops))
            pending += [(one, (*branches, (node, True)), loops) for one in node.body]
            pending += [(one, (*branches, (node, False)), loops) for one in node.orelse]
        elif isinstance(node, ast.For | ast.While):
            pending += [(one, branches, (*loops, node)) for one in ast.iter_child_nodes(node)]
        else:
            yield node, branches, loops
            pending += [(one, branches, loops) for one in ast.iter_child_nodes(node)]
