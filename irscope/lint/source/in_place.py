"""Stores of a kernel that overwrite what the same program loaded from the same address before."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irscope.lint.source.accesses import Branches, PointerAccess, same_address
from irscope.lint.source.kernel_body import names_in, resolve_local
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule

_MAX_NODES = 2_000
_CASTS = ("to", "cast")


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A load and a later store to its address that depends on it. `accumulates`: by adding to it."""

    load: PointerAccess
    store: PointerAccess
    accumulates: bool


def overwrites(
    kernel: KernelSource, accesses: Sequence[PointerAccess], module: PythonModule
) -> Iterator[Overwrite]:
    """The stores in place: running the kernel twice gives another result than running it once."""
    stores = [access for access in accesses if access.operation != "load"]
    loads = [access for access in accesses if access.operation == "load" and access.parameter]
    for store in stores:
        value = store.value if store.operation == "store" else None
        for load in loads if value is not None else ():
            if load.parameter != store.parameter or load.place >= store.place or load.excludes(store):
                continue
            if any(one.parameter in (load.parameter, "") and one.place < load.place for one in stores):
                continue  # what it loads may be its own
            if not _certain(kernel, load.branches, store.branches) or not same_address(kernel, load, store):
                continue
            if (
                value is not None
                and _depends(kernel, value, load.call)
                and not _idempotent(kernel, value, load.call, module)
            ):
                yield Overwrite(load, store, _adds(kernel, value, load.call))
                break


def _certain(kernel: KernelSource, load: Branches, store: Branches) -> bool:
    """Whether a program that stores has loaded: it loads unconditionally, or under the same conditions."""
    return all(branch in store or names_in(branch[0].test) <= kernel.constexprs for branch in load)


def _depends(kernel: KernelSource, value: ast.expr, load: ast.Call) -> bool:
    """Whether a value is computed from a load, through any assignments."""
    pending: list[ast.AST] = [value]
    visited: set[str] = set()
    while pending:
        for part in ast.walk(pending.pop()):
            if part is load:
                return True
            if isinstance(part, ast.Name) and part.id not in visited:
                visited.add(part.id)
                pending += kernel.assigned.get(part.id, [])
    return False


def _idempotent(kernel: KernelSource, value: ast.expr, load: ast.Call, module: PythonModule) -> bool:
    """Whether storing the value again changes nothing: it is what was loaded, selected or clamped."""
    node = _plain(kernel, value)
    if node is load:
        return True
    call = module.tl(node, "where", "maximum", "minimum", "clamp")
    if call is None:
        return False
    operands = call.args[1:] if module.tl(call, "where") else call.args
    used = [one for one in operands if _depends(kernel, one, load)]
    return len(used) == 1 and _plain(kernel, used[0]) is load


def _adds(kernel: KernelSource, value: ast.expr, load: ast.Call) -> bool:
    """Whether a value is a sum with the loaded value as a term."""
    pending = [value]
    for _ in range(_MAX_NODES):
        if not pending:
            return False
        node = pending.pop()
        if node is load:
            return True
        plain = _plain(kernel, node)
        if plain is load:
            return True
        if isinstance(plain, ast.BinOp) and isinstance(plain.op, ast.Add):
            pending += [plain.left, plain.right]
        elif isinstance(plain, ast.Name):
            own = [one for one in kernel.assigned.get(plain.id, []) if _is_sum(one, plain.id)]
            firsts = [one for one in kernel.assigned.get(plain.id, []) if not _is_sum(one, plain.id)]
            pending += firsts if own and len(firsts) == 1 else []
    return False


def _is_sum(node: ast.expr, name: str) -> bool:
    """Whether `node` is `name + ...`."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and any(isinstance(one, ast.Name) and one.id == name for one in (node.left, node.right))
    )


def _plain(kernel: KernelSource, node: ast.expr) -> ast.expr:
    """`node` without conversions to another type, with names that are assigned once resolved."""
    for _ in range(_MAX_NODES):
        resolved = resolve_local(kernel, node)
        match resolved:
            case ast.Call(func=ast.Attribute(inner, attr)) if attr in _CASTS and not _is_module(inner):
                node = inner
            case _:
                return resolved
    return node


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("tl", "language")
