"""An access without a mask in a block that may reach past the end.

**What it does.** Reports a load or store without a mask or `boundary_check` at `tl.program_id(axis) * BLOCK
+ tl.arange(0, BLOCK)`, if the launch rounds the number of programs up, `triton.cdiv(n, BLOCK)`, and n is
not known to be a multiple of BLOCK in every config. Also reports one at `tl.arange(0, BLOCK)` if the launch
rounds BLOCK up with `triton.next_power_of_2`, and the kernel masks other accesses there.

**Why is this bad?** The last program reads and writes past the end of the tensor: wrong results, or a memory
error far away from its cause.

**Example**

```python
at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
x = tl.load(x_ptr + at, mask=at < n)
tl.store(y_ptr + at, x)  # the grid is triton.cdiv(n, BLOCK)
```

**Use instead**

```python
tl.store(y_ptr + at, x, mask=at < n)
```

**Limits.** Accesses in an `if`, offsets that the kernel wraps or clamps (`at % n`), and extents that the file
asserts to be divisible are skipped.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.facts.source.tokens import names_in
from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import PointerAccess, pointer_accesses
from irscope.lint.source.grids import dimensions, rounded_up
from irscope.lint.source.kernel_body import resolve_local, terms
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import LaunchSite, PythonModule
from irscope.model.records import frozen

_WRAPPING = ("where", "minimum", "maximum", "clamp", "min", "max")


@frozen
class _BlockOffsets:
    """`name = program_id(axis) * block + tl.arange(0, block)`."""

    name: str
    block: str
    axis: int


@frozen
class _Extent:
    """The dividend of a division by the block in a grid: its text, and the blocks known not to divide it."""

    text: str
    blocks: tuple[int, ...]


def mask_missing(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the accesses of each kernel with how its launches round."""
    reported: set[ast.AST] = set()
    for launch in module.launches:
        for name, block, text in _rounded_rows(launch, module):
            for access in _unmasked(launch, name, module):
                if access.call not in reported:
                    reported.add(access.call)
                    yield _row_diagnostic(module, launch.kernel, access, name, block, text)
        grid = dimensions(launch)
        for offsets in _block_offsets(launch.kernel, module) if grid else ():
            extent = _extent(launch, grid, offsets, module)
            for access in _unmasked(launch, offsets.name, module) if extent else ():
                if extent and access.call not in reported:
                    reported.add(access.call)
                    yield _diagnostic(module, launch.kernel, offsets, extent, access)


def _rounded_rows(launch: LaunchSite, module: PythonModule) -> Iterator[tuple[str, str, str]]:
    """Yield the ranges whose length a launch rounds up to a power of two: name, length, and its argument."""
    kernel = launch.kernel
    if _asserts_multiple(launch):
        return
    masked = [access for access in pointer_accesses(kernel, module) if access.masked]
    for name, values in kernel.assigned.items():
        call = module.tl(values[0], "arange") if len(values) == 1 else None
        block = call.args[1] if call and len(call.args) == 2 else None
        if not isinstance(block, ast.Name) or block.id not in launch.arguments:
            continue
        rounded = launch.scope.resolve(launch.arguments[block.id])
        match rounded:
            case ast.Call(args=[size]) if module.dotted(rounded.func) == "triton.next_power_of_2":
                known = module.value(size, launch.scope)
                is_power = isinstance(known, int) and known > 0 and known & (known - 1) == 0
                # Without any mask in the kernel, the sizes are powers of two by agreement.
                if not is_power and any(_uses(kernel, access, name, module) for access in masked):
                    yield name, block.id, ast.unparse(size)


def _row_diagnostic(
    module: PythonModule, kernel: KernelSource, access: PointerAccess, name: str, block: str, text: str
) -> Diagnostic:
    message = (
        f"the {access.operation} of {access.parameter} in {kernel.name} at {name} has no mask, and {block} "
        f"is {text} rounded up to a power of two: it {'reads' if access.operation == 'load' else 'writes'} "
        "past the end of the row"
    )
    bound = _bound(kernel, name) or text
    return module.diagnostic(RULE, access.call, message, f"add mask={name} < {bound}", kernel)


def _diagnostic(
    module: PythonModule, kernel: KernelSource, offsets: _BlockOffsets, extent: _Extent, access: PointerAccess
) -> Diagnostic:
    blocks_text = ", ".join(map(str, extent.blocks))
    when = (
        f"with {offsets.block} = {blocks_text}, which does not divide {extent.text}, the last program"
        if blocks_text
        else f"if {extent.text} is not a multiple of {offsets.block}, the last program"
    )
    message = (
        f"the {access.operation} of {access.parameter} in {kernel.name} at {offsets.name} has no mask, and "
        f"the grid rounds up: {when} {'reads' if access.operation == 'load' else 'writes'} past the end"
    )
    bound = _bound(kernel, offsets.name) or "the extent"
    return module.diagnostic(RULE, access.call, message, f"add mask={offsets.name} < {bound}", kernel)


def _extent(
    launch: LaunchSite, grid: list[ast.expr], offsets: _BlockOffsets, module: PythonModule
) -> _Extent | None:
    """Return the value that the grid rounds up.

    Returns None if there is none, or if it is a known multiple of the block.
    """
    node = rounded_up(grid[offsets.axis], launch.scope, module) if offsets.axis < len(grid) else None
    if node is None or _asserts_multiple(launch):
        return None
    size, text = module.value(node, launch.scope), ast.unparse(node)
    blocks = _blocks(launch, offsets.block, module)
    if not isinstance(size, int) or not blocks:
        return _Extent(text, ())
    bad = tuple(dict.fromkeys(block for block in blocks if block > 0 and size % block))
    return _Extent(text if text.isdigit() else f"{text} = {size}", bad) if bad else None


def _blocks(launch: LaunchSite, name: str, module: PythonModule) -> list[int]:
    """Return the values that a block size may have in a launch; none if they are unknown."""
    if launch.kernel.autotune is not None and name in launch.kernel.autotune.names():
        return launch.kernel.autotune.values(name) or []
    value = module.value(launch.arguments[name], launch.scope) if name in launch.arguments else None
    return [value] if isinstance(value, int) else []


def _asserts_multiple(launch: LaunchSite) -> bool:
    """Check whether the kernel or the function around the launch asserts something about a remainder."""
    tests = [
        node.test
        for scope in (launch.scope.outermost.node, launch.kernel.node)
        for node in (ast.walk(scope) if not isinstance(scope, ast.Module) else ())
        if isinstance(node, ast.Assert) or (isinstance(node, ast.If) and _raises(node))
    ]
    calls = [
        argument
        for node in launch.kernel.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("static_assert", "device_assert", "assume", "multiple_of")
        for argument in node.args
    ]
    return any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod)
        for test in (*tests, *calls)
        for part in ast.walk(test)
    )


def _raises(node: ast.If) -> bool:
    return any(isinstance(statement, ast.Raise) for statement in node.body)


def _block_offsets(kernel: KernelSource, module: PythonModule) -> Iterator[_BlockOffsets]:
    for name, values in kernel.assigned.items():
        if len(values) != 1 or kernel.parameter(name):
            continue
        parts = [resolve_local(kernel, term) for term in terms(values[0])]
        lengths = [
            call.args[1].id
            for part in parts
            if (call := module.tl(part, "arange"))
            and len(call.args) == 2
            and isinstance(call.args[1], ast.Name)
        ]
        for part in parts if len(parts) == 2 and lengths else ():
            match part:
                case ast.BinOp(left, ast.Mult(), right):
                    for first, second in ((left, right), (right, left)):
                        axis = _axis(resolve_local(kernel, first), module)
                        if isinstance(second, ast.Name) and second.id in lengths and axis >= 0:
                            yield _BlockOffsets(name, second.id, axis)


def _axis(node: ast.expr, module: PythonModule) -> int:
    """Return the axis if an expression is the index of the program itself, else -1."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        node = node.func.value
    axis = module.program_axis(node)
    return -1 if axis is None else axis


def _unmasked(launch: LaunchSite, name: str, module: PythonModule) -> Iterator[PointerAccess]:
    """Yield the accesses at these offsets without a mask.

    Accesses to tensors whose size is rounded up as well are left out.
    """
    kernel = launch.kernel
    for access in pointer_accesses(kernel, module):
        if access.masked or access.branches or not access.parameter:
            continue
        if _uses(kernel, access, name, module) and not _padded(launch, access.parameter, module):
            yield access


def _uses(kernel: KernelSource, access: PointerAccess, name: str, module: PythonModule) -> bool:
    """Check whether a pointer certainly has `name` in it, not wrapped or clamped."""
    pending: list[ast.AST] = [access.pointer]
    visited: set[str] = set()
    is_used = False
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name):
            is_used = is_used or part.id == name
            if part.id != name and part.id not in visited and not kernel.parameter(part.id):
                visited.add(part.id)
                values = kernel.assigned.get(part.id, [])
                if len(values) > 1 and name in {
                    assigned_name for value in values for assigned_name in names_in(value)
                }:
                    return False
                pending += values
        elif module.tl(part, "load", *_WRAPPING) or _wraps(part):
            if name in names_in(part):
                return False
        else:
            pending.extend(ast.iter_child_nodes(part))
    return is_used


def _wraps(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in _WRAPPING
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv)


def _padded(launch: LaunchSite, parameter: str, module: PythonModule) -> bool:
    """Check whether the tensor passed may be larger than the extent.

    It may be if the launching function rounds up its size.
    """
    node = launch.arguments.get(parameter)
    pending = [launch.scope.resolve(node)] if node is not None else []
    visited: set[str] = set()
    while pending:
        for part in ast.walk(pending.pop()):
            if isinstance(part, ast.Call) and (
                any(name in module.dotted(part.func) for name in ("cdiv", "pad", "next_power_of_2"))
            ):
                return True
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv | ast.Mod):
                return True
            if isinstance(part, ast.Name) and part.id not in visited:
                visited.add(part.id)
                value = launch.scope.expression(part.id)
                pending += [value] if value is not None else []
    return False


def _bound(kernel: KernelSource, name: str) -> str:
    """Return the bound that the kernel compares the offsets with elsewhere; "" if it never does."""
    for node in kernel.nodes:
        match node:
            case ast.Compare(left, [ast.Lt()], [right]) if name in names_in(left):
                return ast.unparse(right)
    return ""


RULE = SourceRule("IRS115", "mask-missing", __doc__, mask_missing)
