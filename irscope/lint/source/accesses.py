"""The loads, stores and atomics of a kernel as written, with the parameter that each points into.

Stores of a kernel that overwrite what the same program loaded from the same address before.

Whether the autotuner runs a kernel several times on the same arguments, and which of them it restores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

from irscope.facts.source.tokens import names_in
from irscope.lint.source.evaluate import UNKNOWN
from irscope.lint.source.kernel_body import resolve_local
from irscope.lint.source.kernel_source import Autotune, KernelSource, strings
from irscope.lint.source.python_module import PythonModule, argument
from irscope.model.records import frozen

_MAX_ROUNDS = 20
# How often an atomic of this kind runs changes what is in memory; atomic_max and others are idempotent.
ACCUMULATING_ATOMICS = ("atomic_add", "atomic_xor")
_ATOMICS = (*ACCUMULATING_ATOMICS, *(f"atomic_{kind}" for kind in ("max", "min", "and", "or", "xchg", "cas")))
# Functions of triton.language whose first argument is a pointer.
_ACCESSES = ("load", "store", "atomic_add", "make_block_ptr", "make_tensor_descriptor")
# Functions of triton.language that return their first argument, a pointer, with a hint or another type.
_SAME_POINTER = ("multiple_of", "max_contiguous", "max_constancy", "cast", "make_block_ptr", "advance")
_SAME_POINTER_METHODS = ("to", "cast")

Branches = tuple[tuple[ast.If, bool], ...]


@frozen
class PointerAccess:
    """A `tl.load`, `tl.store` or `tl.atomic_*`.

    `operation` is its name; `parameter` the one that it points into, "" if unknown; `branches` are the
    `if` statements around it, from the outside, each with whether the access is in its body.
    """

    call: ast.Call
    operation: str
    parameter: str
    branches: Branches

    @property
    def pointer(self) -> ast.expr:
        """Return the pointer, as written."""
        return self.call.args[0]

    @property
    def value(self) -> ast.expr | None:
        """Return the value that a store or an atomic writes."""
        return argument(self.call, 1, "value" if self.operation == "store" else "val")

    @property
    def place(self) -> tuple[int, int]:
        """Return its line and column."""
        return self.call.lineno, self.call.col_offset

    @property
    def masked(self) -> bool:
        """Return True if it has a mask, or checks the boundary of its block pointer."""
        position = {"load": 1}.get(self.operation, 2)
        mask = argument(self.call, position, "mask")
        unmasked = mask is None or (isinstance(mask, ast.Constant) and mask.value is None)
        return not unmasked or any(keyword.arg in ("boundary_check", None) for keyword in self.call.keywords)

    def excludes(self, other: PointerAccess) -> bool:
        """Return True if no program runs both: they are in different branches of one `if`."""
        own_branches = dict(self.branches)
        return any(own_branches.get(node, branch) != branch for node, branch in other.branches)


@lru_cache(maxsize=64)
def pointer_accesses(kernel: KernelSource, module: PythonModule) -> Sequence[PointerAccess]:
    """Return the accesses of a kernel in the order of the text."""
    unsorted = []
    for part, branches in _parts(kernel.node.body):
        call = module.tl(part, "load", "store", *_ATOMICS)
        if call is None or not call.args:
            continue
        operation = module.dotted(call.func).rpartition(".")[2]
        parameter = base_parameter(kernel, call.args[0], module)
        unsorted.append(PointerAccess(call, operation, parameter, branches))
    return tuple(sorted(unsorted, key=lambda access: access.place))


def base_parameter(kernel: KernelSource, node: ast.expr, module: PythonModule) -> str:
    """Return the parameter that a pointer starts with: x in `x + offsets`. "" if it is unknown."""
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


def pointer_parameters(kernel: KernelSource, module: PythonModule) -> set[str]:
    """Return the parameters that the kernel loads from or stores to."""
    calls = (call for node in kernel.nodes if (call := module.tl(node, *_ACCESSES)) and call.args)
    return {base_parameter(kernel, call.args[0], module) for call in calls} & kernel.runtime_parameters


def same_address(kernel: KernelSource, first: PointerAccess, second: PointerAccess) -> bool:
    """Check whether two accesses certainly use one address.

    They do if they are one expression whose names keep their values.
    """
    for first_pointer, second_pointer in (
        (first.pointer, second.pointer),
        (resolve_local(kernel, first.pointer), resolve_local(kernel, second.pointer)),
    ):
        if ast.dump(first_pointer) == ast.dump(second_pointer):
            names = names_in(first_pointer)
            return not any(
                first.place < position < second.place for name, position in _bindings(kernel) if name in names
            )
    return False


def _leftmost(node: ast.expr, module: PythonModule) -> ast.expr:
    """Return the first term of a sum or difference, without calls that only hint or change a type."""
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


_Part = tuple[ast.AST, Branches]


def _parts(body: Sequence[ast.stmt]) -> Iterator[_Part]:
    """Yield all nodes of a body but `if` statements, with the `if` statements around them."""
    pending: list[_Part] = [(statement, ()) for statement in body]
    while pending:
        node, branches = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.If):
            pending.append((node.test, branches))
            pending += [(child, (*branches, (node, True))) for child in node.body]
            pending += [(child, (*branches, (node, False))) for child in node.orelse]
        else:
            yield node, branches
            pending += [(child, branches) for child in ast.iter_child_nodes(node)]


_MAX_NODES = 2_000
_CASTS = ("to", "cast")


@frozen
class Overwrite:
    """A load and a later store to its address that depends on it. `accumulates`: by adding to it."""

    load: PointerAccess
    store: PointerAccess
    accumulates: bool


def overwrites(
    kernel: KernelSource, accesses: Sequence[PointerAccess], module: PythonModule
) -> Iterator[Overwrite]:
    """Yield the stores in place: running the kernel twice gives another result than running it once."""
    stores = [access for access in accesses if access.operation != "load"]
    loads = [access for access in accesses if access.operation == "load" and access.parameter]
    for store in stores:
        value = store.value if store.operation == "store" else None
        for load in loads if value is not None else ():
            before = load.place < store.place or any(part is load.call for part in ast.walk(store.call))
            if load.parameter != store.parameter or not before or load.excludes(store):
                continue
            if any(
                earlier.parameter in (load.parameter, "") and earlier.place < load.place
                for earlier in stores
                if earlier is not store
            ):
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
    """Check whether a program that stores has loaded: unconditionally, or under the same conditions."""
    return all(branch in store or names_in(branch[0].test) <= kernel.constexprs for branch in load)


def _depends(kernel: KernelSource, value: ast.expr, load: ast.Call) -> bool:
    """Check whether a value is computed from a load, through any assignments."""
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
    """Check whether storing the value again changes nothing: it was loaded, selected or clamped."""
    node = _plain(kernel, value)
    if node is load:
        return True
    call = module.tl(node, "where", "maximum", "minimum", "clamp")
    if call is None:
        return False
    operands = call.args[1:] if module.tl(call, "where") else call.args
    used = [operand for operand in operands if _depends(kernel, operand, load)]
    return len(used) == 1 and _plain(kernel, used[0]) is load


def _adds(kernel: KernelSource, value: ast.expr, load: ast.Call) -> bool:
    """Check whether a value is a sum with the loaded value as a term."""
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
            sums = [assigned for assigned in kernel.assigned.get(plain.id, []) if _is_sum(assigned, plain.id)]
            firsts = [
                assigned for assigned in kernel.assigned.get(plain.id, []) if not _is_sum(assigned, plain.id)
            ]
            pending += firsts if sums and len(firsts) == 1 else []
    return False


def _is_sum(node: ast.expr, name: str) -> bool:
    """Return True if `node` is `name + ...`."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and any(isinstance(side, ast.Name) and side.id == name for side in (node.left, node.right))
    )


def _plain(kernel: KernelSource, node: ast.expr) -> ast.expr:
    """Return `node` without type conversions, with names that are assigned once resolved."""
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


_RESTORING = ("reset_to_zero", "restore_value")
_HOOKS = ("pre_hook", "post_hook")


def unrestored(kernel: KernelSource, module: PythonModule) -> frozenset[str] | None:
    """Return the parameters that keep what the first runs wrote when `kernel` is tuned.

    Returns None if it is not tuned, or if that is uncertain: a single config is not benchmarked,
    and a hook may restore anything.
    """
    autotune = kernel.autotune
    if autotune is None or _hooked(autotune, module) or not _several_configs(autotune, module):
        return None
    restored: set[str] = set()
    for name in _RESTORING:
        node = autotune.arguments.get(name)
        names = strings(module.value(node, module.scope) or []) if node is not None else []
        if names is None:
            return None
        restored.update(names)
    return kernel.runtime_parameters - restored


def _hooked(autotune: Autotune, module: PythonModule) -> bool:
    """Check whether the autotuner or a config may have a hook, which may restore anything."""
    for keyword in autotune.node.keywords:
        # An unknown `**options` is shared by kernels, so it names no parameter; only a hook is possible.
        options = module.value(keyword.value, module.scope) if keyword.arg is None else {}
        if isinstance(options, dict) and options.keys() & {*_HOOKS, *_RESTORING}:
            return True
    if any(name in autotune.arguments for name in _HOOKS):
        return True
    return any(config.options.get("pre_hook", UNKNOWN) is not None for config in autotune.configs or ())


def _several_configs(autotune: Autotune, module: PythonModule) -> bool:
    """Check whether there are at least two configs, or a list of this file that never has a hook."""
    if autotune.configs is not None:
        return len(autotune.configs) > 1
    return "pre_hook" not in module.text and "Config(" in module.text
