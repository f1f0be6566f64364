"""What the names in a kernel's body are made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irscope.lint.source.kernel import KernelSource
    from irscope.lint.source.module import PythonModule

_MOST_ROUNDS = 20
# Functions of triton.language whose first argument is a pointer.
_ACCESSES = ("load", "store", "atomic_add", "make_block_ptr", "make_tensor_descriptor")


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def single(kernel: KernelSource, node: ast.expr) -> ast.expr:
    """`node`, or what it stands for where it is a name that the body sets once and that is no parameter."""
    for _ in range(_MOST_ROUNDS):
        if not isinstance(node, ast.Name) or kernel.parameter(node.id):
            return node
        values = kernel.assigned.get(node.id, [])
        if len(values) != 1:
            return node
        node = values[0]
    return node


def sums(node: ast.expr) -> Iterator[ast.expr]:
    """The terms of a sum, the leftmost first."""
    pending = [node]
    while pending:
        term = pending.pop()
        if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add):
            pending += [term.right, term.left]
        else:
            yield term


def pointers(kernel: KernelSource, module: PythonModule) -> set[str]:
    """The parameters that the kernel loads from or stores to for certain."""
    found = set()
    for node in kernel.nodes:
        if call := module.tl(node, *_ACCESSES):
            base = call.args[0] if call.args else None
            found.add(_base(kernel, base) if base is not None else "")
    return found & {parameter.name for parameter in kernel.parameters if not parameter.constexpr}


def _base(kernel: KernelSource, node: ast.expr) -> str:
    """The name that a sum starts with, seen through names that are set once; "" for anything else."""
    for _ in range(_MOST_ROUNDS):
        first = next(sums(node))
        if not isinstance(first, ast.Name):
            return ""
        # `p += 1` leaves p with the same base.
        values = [value for value in kernel.assigned.get(first.id, []) if _start(value) != first.id]
        if kernel.parameter(first.id) or len(values) != 1:
            return first.id
        node = values[0]
    return ""


def _start(node: ast.expr) -> str:
    first = next(sums(node))
    return first.id if isinstance(first, ast.Name) else ""


def program_axes(kernel: KernelSource, module: PythonModule) -> Mapping[str, frozenset[int]]:
    """The names that come from `tl.program_id`, with its axes; not what is loaded from such a place."""
    found: dict[str, frozenset[int]] = {}
    for _ in range(_MOST_ROUNDS):
        before = dict(found)
        for name, values in kernel.assigned.items():
            axes = frozenset().union(*(axes_of(value, found, module) for value in values))
            if axes:
                found[name] = axes
        if found == before:
            break
    return found


def axes_of(node: ast.expr, known: Mapping[str, frozenset[int]], module: PythonModule) -> frozenset[int]:
    """The axes of `tl.program_id` that an expression comes from."""
    axes: set[int] = set()
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name):
            axes |= known.get(part.id, frozenset())
        elif call := module.tl(part, "program_id"):
            axis = call.args[0] if call.args else next((keyword.value for keyword in call.keywords), None)
            axes.add(axis.value if isinstance(axis, ast.Constant) and isinstance(axis.value, int) else -1)
        elif not module.tl(part, "load"):
            pending.extend(ast.iter_child_nodes(part))
    return frozenset(axes)
