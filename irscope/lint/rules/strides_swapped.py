"""An index that is multiplied by the stride of another dimension.

**What it does.** Compares the bound of an index in a mask, such as `rows < M`, with the stride by which the
index is multiplied in an address: if the launch passes the size of one dimension of a tensor as the bound
and the stride of another one, reports the address, or the launch if the kernel is right about the names. So
it does with `rows * M + cols`, where `rows` is less than M and `cols` less than N.

**Why is this bad?** The kernel accesses other elements than it means to. Masks do not help, and square or
symmetric tensors hide it.

**Example**

```python
mask = (rows < M)[:, None] & (cols < N)[None, :]
tl.store(y_ptr + rows[:, None] * M + cols[None, :], x, mask=mask)
```

**Use instead**

```python
tl.store(y_ptr + rows[:, None] * N + cols[None, :], x, mask=mask)
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import PointerAccess, pointer_accesses
from irscope.lint.source.kernel_body import resolve_local, terms
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import LaunchSite, PythonModule, PythonScope
from irscope.model.records import frozen

_MAX_ROUNDS = 10
_LIKE = ("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like")
_SHAPED = ("empty", "zeros", "ones", "full", "randn", "rand", "new_empty", "new_zeros")

Dimension = tuple[str, int]  # a tensor of the launching function, as written, and the number of a dimension


@frozen
class _Term:
    """`index * stride` in an address; `bound` is the parameter that the index is less than."""

    index: str
    stride: str
    bound: str


def strides_swapped(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the strides in each address with the bounds of its mask."""
    for kernel in module.kernels.values():
        launches = [launch for launch in module.launches if launch.kernel is kernel]
        for access in pointer_accesses(kernel, module):
            found = list(_terms(kernel, access, module))
            yield from _rows(kernel, access, found, launches, module)
            for launch in launches:
                yield from _swapped(launch, access, found, module)


def _terms(kernel: KernelSource, access: PointerAccess, module: PythonModule) -> Iterator[_Term]:
    """Yield the terms of an address whose index is less than a parameter."""
    mask = next((keyword.value for keyword in access.call.keywords if keyword.arg == "mask"), None)
    position = 1 if access.operation == "load" else 2
    mask = access.call.args[position] if mask is None and len(access.call.args) > position else mask
    bounds = dict(_bounds(kernel, mask)) if mask is not None else {}
    pointer = resolve_local(kernel, access.pointer)
    pending = [*terms(pointer)]
    while pending:
        term = pending.pop(0)
        resolved = resolve_local(kernel, term) if isinstance(term, ast.Name) else term
        if isinstance(resolved, ast.BinOp) and isinstance(resolved.op, ast.Add) and _name(term) not in bounds:
            pending = [*terms(resolved), *pending]
            continue
        index, stride = _factors(resolved, term, bounds)
        if index:
            yield _Term(index, stride, bounds[index])


def _factors(node: ast.expr, written: ast.expr, bounds: Mapping[str, str]) -> tuple[str, str]:
    """Return the index and the stride of a term, "1" without one; ("", "") if it has no bounded index."""
    if _name(written) in bounds:
        return _name(written), "1"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for index, stride in ((node.left, node.right), (node.right, node.left)):
            if _name(index) in bounds and isinstance(stride, ast.Name):
                return _name(index), stride.id
    return "", ""


def _name(node: ast.expr) -> str:
    """Return the index that an expression is, as text without `[:, None]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return ast.unparse(node)


def _bounds(kernel: KernelSource, mask: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield each index with the parameter that a mask compares it with."""
    pending = [mask]
    for _ in range(_MAX_ROUNDS):
        if not pending:
            return
        node = pending.pop()
        while isinstance(node, ast.Subscript):
            node = node.value
        resolved = resolve_local(kernel, node)
        match resolved:
            case ast.BinOp(left, ast.BitAnd(), right):
                pending += [left, right]
            case ast.Compare(index, [ast.Lt()], [ast.Name(bound)]) if kernel.parameter(bound):
                yield _name(index), bound
            case ast.Subscript():
                pending.append(resolved)


def _rows(
    kernel: KernelSource,
    access: PointerAccess,
    found: list[_Term],
    launches: list[LaunchSite],
    module: PythonModule,
) -> Iterator[Diagnostic]:
    """Report `rows * M + cols` if rows are less than M and columns less than another size."""
    if len(found) != 2 or {"1"} == {term.stride for term in found}:
        return
    row, column = sorted(found, key=lambda term: term.stride == "1")
    if column.stride == "1" and row.stride == row.bound != column.bound and launches:
        message = (
            f"{row.index} is less than {row.bound} and multiplied by {row.stride} in {kernel.name}, but a "
            f"row has {column.bound} elements: {column.index} is less than {column.bound}"
        )
        fix = f"multiply {row.index} by {column.bound}, or by the stride of the rows"
        yield module.diagnostic(RULE, _place(kernel, access), message, fix, kernel)


def _place(kernel: KernelSource, access: PointerAccess) -> ast.expr:
    """Return the expression that computes an address."""
    return resolve_local(kernel, access.pointer)


def _swapped(
    launch: LaunchSite, access: PointerAccess, found: list[_Term], module: PythonModule
) -> Iterator[Diagnostic]:
    """Report terms whose stride is of another dimension than the bound."""
    kernel, reports = launch.kernel, []
    for term in found:
        stride, bound = launch.arguments.get(term.stride), launch.arguments.get(term.bound)
        tensor, dimension = _stride(stride, launch.scope)
        if bound is None or not tensor:
            continue
        sizes = [_size_of(tensor, axis, launch.scope, module) for axis in range(_MAX_RANK)]
        size = _dimension(bound, launch.scope, module)
        matching = [axis for axis, other in enumerate(sizes) if other == size]
        if size is not None and len(matching) == 1 and matching[0] != dimension:
            reports.append((term, tensor, dimension, matching[0]))
    if len(reports) < _LEAST:
        return
    term, tensor, dimension, expected = reports[0]
    message = (
        f"{term.index} of {kernel.name} runs over dimension {expected} of {tensor}, which is {term.bound}, "
        f"but {term.stride} is {tensor}.stride({dimension})"
    )
    fix = f"pass {tensor}.stride({expected}) for {term.stride}, or correct {term.bound} in the mask"
    # If the name of the stride says nothing else, the launch is as likely to be wrong as the kernel.
    is_named = _suffix(term.stride) in (str(expected), _suffix(term.bound), term.index[-1:])
    node = launch.call if is_named else _place(kernel, access)
    yield module.diagnostic(RULE, node, message, fix, kernel)


_MAX_RANK = 4
_LEAST = 2  # both of two dimensions: one alone may be a view


def _suffix(name: str) -> str:
    return name[-1:].lower()


def _stride(node: ast.expr | None, scope: PythonScope) -> tuple[str, int]:
    """Return the tensor and the dimension of `tensor.stride(dimension)`, else ("", 0)."""
    match scope.resolve(node) if node is not None else None:
        case ast.Call(ast.Attribute(ast.Name(tensor), "stride"), [ast.Constant(int() as dimension)]):
            return tensor, dimension
        case ast.Subscript(
            ast.Call(ast.Attribute(ast.Name(tensor), "stride"), []), ast.Constant(int() as dimension)
        ):
            return tensor, dimension
    return "", 0


def _dimension(node: ast.expr, scope: PythonScope, module: PythonModule) -> Dimension | None:
    """Return the dimension whose size an expression is, or None."""
    node = scope.resolve(node)
    match node:
        case ast.Call(ast.Attribute(ast.Name(tensor), "size"), [ast.Constant(int() as axis)]):
            return _size_of(tensor, axis, scope, module)
        case ast.Subscript(ast.Attribute(ast.Name(tensor), "shape"), ast.Constant(int() as axis)):
            return _size_of(tensor, axis, scope, module)
        case ast.Name(name):
            return name, -1
    return None


def _size_of(tensor: str, axis: int, scope: PythonScope, module: PythonModule) -> Dimension | None:
    """Return a dimension of a tensor, as one of the tensor that it was made like or with the sizes of."""
    for _ in range(_MAX_ROUNDS):
        made = scope.expression(tensor)
        if not isinstance(made, ast.Call):
            return tensor, axis
        name = module.dotted(made.func).rpartition(".")[2]
        if name in _LIKE and made.args and isinstance(made.args[0], ast.Name):
            tensor = made.args[0].id
            continue
        if name not in _SHAPED:
            return None if name in ("t", "transpose", "permute") else (tensor, axis)
        listed = made.args[0] if made.args and isinstance(made.args[0], ast.Tuple | ast.List) else None
        sizes = listed.elts if isinstance(listed, ast.Tuple | ast.List) else made.args
        return _dimension(sizes[axis], scope, module) if axis < len(sizes) else None
    return None


RULE = SourceRule("IRS123", "strides-swapped", __doc__, strides_swapped)
