"""Accesses that leave the tensor, or take its dimensions for each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from irscope.lint.compiled import CompiledKernel, LaunchedVariant, launched_variants
from irscope.lint.diagnostic import CaptureRule, Diagnostic, LaunchRule, SourceRule
from irscope.lint.rules.overflows import launch_overflow
from irscope.lint.source.accesses import PointerAccess, pointer_accesses
from irscope.lint.source.kernel_body import resolve_local, terms
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import LaunchSite, PythonModule, PythonScope
from irscope.model import Variant
from irscope.model.records import frozen
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from irscope.interpreting.access_record import RecordedAccess
    from irscope.lint.executed import ExecutedLaunch


@dataclass
class _Overrun:
    """The worst access of one line: what it reaches in a tensor of `elements`, and the variants that do."""

    kind: str
    parameter: str
    last: int
    elements: int
    example: LaunchedVariant
    variants: list[Variant] = field(default_factory=list)


def out_of_bounds(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the last offset of each access with the size of the tensor."""
    overruns: dict[tuple[int, str], _Overrun] = {}
    for launched in launched_variants(compiled):
        for access, pointer in launched.accesses():
            elements = launched.elements(pointer.base)
            if access.mask is not None or access.place is None or not pointer.exact or pointer.high is None:
                continue
            if elements is None or pointer.high < elements:
                continue
            key = (access.place[1], pointer.base)
            overrun = overruns.setdefault(key, _Overrun(access.kind, pointer.base, -1, 0, launched))
            if pointer.high - elements > overrun.last - overrun.elements:
                overrun.last, overrun.elements, overrun.example = pointer.high, elements, launched
            if launched.variant not in overrun.variants:
                overrun.variants.append(launched.variant)
    for (line, _), overrun in sorted(overruns.items()):
        yield _out_of_bounds_diagnostic(compiled, line, overrun)


def _out_of_bounds_diagnostic(compiled: CompiledKernel, line: int, overrun: _Overrun) -> Diagnostic:
    verb = "reads" if overrun.kind == "global load" else "writes"
    launch = overrun.example.launch
    grid = f" with grid {launch.grid}" if launch else ""
    message = (
        f"line {line} of {compiled.kernel.name} {verb} element {overrun.last:,} of {overrun.parameter}, "
        f"which has {overrun.elements:,}, without a mask{grid}, in {compiled.share(overrun.variants)}: "
        f"{compiled.listed(overrun.variants)}"
    )
    return compiled.diagnostic(OUT_OF_BOUNDS, message, "mask the elements past the end", line)


OUT_OF_BOUNDS = CaptureRule(
    "IRS207",
    "out-of-bounds",
    """\
An access without a mask that a recorded launch made past the end of a tensor.

**What it does.** Computes the offsets of loads and stores without a mask in the last program of each
recorded launch (`irscope run`), and reports those past the end of the tensor that was passed, with the
configs for which they are: often, the sizes are a multiple of BLOCK in some configs and not in others.

**Why is this bad?** The kernel reads or overwrites memory of other tensors. Nothing reports an error.

**Limits.** Only offsets that follow from the launch's arguments, the program's index and ranges are known,
not loaded ones; only tensors that are contiguous.
""",
    out_of_bounds,
)


_TENSOR = re.compile(r"\w+\[([\d, ]*)\](?: strides \[([\d, ]*)\])?$")
_VERBS = {"load": "reads", "store": "writes", "atomic": "changes"}
_WRAP = 2**32


def access_leaves_tensor(compiled: CompiledKernel, launch: ExecutedLaunch) -> Iterator[Diagnostic]:
    """Compare the offsets of all accesses of a launch with the sizes of its tensors."""
    sizes = {name: _extent(text) for name, text in launch.launch.arguments}
    overlapped: set[str] = set()
    for name, earlier, shift in launch.launch.aliases:
        sizes[earlier] = max(sizes.get(name) or 0, sizes.get(earlier) or 0) or None
        overlapped |= {name, earlier} if shift else set()
    worst: dict[tuple[int, int], RecordedAccess] = {}
    for access in launch.races.record.accesses:
        if access.base is None or access.addresses is None or not access.certain or not access.line:
            continue
        extent = sizes.get(launch.parameter(access.base))
        if extent is None or launch.parameter(access.base) in overlapped:
            continue
        offsets = access.offset
        if not len(offsets) or 0 <= offsets.min() <= offsets.max() < extent:
            continue
        worst.setdefault((access.line, access.base), access)
    wraps = any(launch_overflow(compiled)) if worst else False
    known = {diagnostic.line for diagnostic in out_of_bounds(compiled)} if worst else ()
    for access in worst.values():
        extent = sizes[launch.parameter(access.base or 0)] or 0
        if access.line not in known and not (wraps and _is_wrapped(access, extent)):
            yield _access_leaves_tensor_diagnostic(compiled, launch, access, extent)


def _is_wrapped(access: RecordedAccess, extent: int) -> bool:
    """Return True if an offset is negative because int32 cannot hold it, in a tensor that is large enough."""
    low = int(access.offset.min())
    return low < 0 <= low + _WRAP and extent > _WRAP // 2


def _extent(text: str) -> int | None:
    """Return the elements from the first to the last one of a recorded tensor, or None for anything else."""
    match = _TENSOR.match(text)
    if match is None:
        return None
    sizes = [int(size) for size in match[1].split(",") if size.strip()]
    strides = [int(stride) for stride in (match[2] or "").split(",") if stride.strip()]
    if 0 in sizes or not strides:
        return prod(sizes)
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=False))


def _access_leaves_tensor_diagnostic(
    compiled: CompiledKernel, launch: ExecutedLaunch, access: RecordedAccess, extent: int
) -> Diagnostic:
    offsets, name = access.offset, launch.parameter(access.base or 0)
    outside = (offsets < 0) | (offsets >= extent)
    count, first = int(outside.sum()), int(offsets[outside][0])
    reached = int(offsets.min()) if first < 0 else int(offsets.max())
    what = f"element {reached:,} of {name}, which has {extent:,}"
    fix = f"mask the elements past the end of {name}; compare each index with the size of its own dimension"
    if first < 0 and _is_wrapped(access, extent):
        what = f"an offset of {first + _WRAP:,} of {name}, which int32 wraps around to {first:,}"
        fix = "compute the offset in 64 bits, such as tl.program_id(0).to(tl.int64)"
    elif first < 0:
        fix = f"mask the elements before the start of {name}"
    elif access.mask is not None:
        fix = f"compare each index with the size of its own dimension of {name}, and check the strides"
    mask = "although it has a mask" if access.mask is not None else "without a mask"
    message = (
        f"program {access.program} {_VERBS.get(access.kind, 'accesses')} {what}, at line {access.line} of "
        f"{compiled.kernel.name}, {mask}: {pluralize(count, 'element')} outside, with {launch.text}, in "
        f"{compiled.share(launch.variants)}: {compiled.listed(launch.variants)}"
    )
    return compiled.diagnostic(ACCESS_LEAVES_TENSOR, message, fix, access.line)


ACCESS_LEAVES_TENSOR = LaunchRule(
    "IRS321",
    "access-leaves-tensor",
    """\
An access of an executed launch that leaves the tensor, masked or not.

**What it does.** Executes programs of a launch and reports loads, stores and atomic operations of elements
before the first or after the last element of the tensor that was passed, with the first program and the
smallest launch that make one. Offsets that int32 cannot hold are named as such.

**Why is this bad?** The kernel reads or overwrites memory of other tensors. Nothing reports an error unless
the page is not mapped. A mask does not help if it tests another bound, or if the strides are swapped.

**Limits.** Of a large grid, the programs at its ends along each axis are executed, and as many others as a
limit allows. Addresses and masks that depend on data are not known. Rows are only told apart at the end of
a tensor. What [out-of-bounds](#out-of-bounds) and [launch-overflow](#launch-overflow) find without
executing is left to them.
""",
    access_leaves_tensor,
)


def uninitialized_memory(compiled: CompiledKernel, launch: ExecutedLaunch) -> Iterator[Diagnostic]:
    """Compare what all programs read and store with the elements of tensors that were not written before."""
    for access, tensor, offsets in launch.unset_reads():
        what = "adds to" if access.kind == "atomic" else "loads"
        message = (
            f"line {access.line} of {compiled.kernel.name} {what} {_first_of(launch, access, offsets)} in "
            f"program {access.program}, to which nothing was written since {tensor} was allocated, with "
            f"{launch.text}"
        )
        fix = f"allocate {tensor} with torch.zeros, or do not read it: 0 * NaN is NaN"
        yield compiled.diagnostic(UNINITIALIZED_MEMORY, message, fix, access.line)
    for access, tensor, offsets in launch.unwritten_elements():
        message = (
            f"no program of {compiled.kernel.name} writes {_first_of(launch, access, offsets)}, and nothing "
            f"was written to {tensor} since it was allocated, with {launch.text}"
        )
        fix = (
            "launch programs for all elements, loop over rows that are longer than a block, or allocate zeros"
        )
        yield compiled.diagnostic(UNINITIALIZED_MEMORY, message, fix, access.line)


def _first_of(launch: ExecutedLaunch, access: RecordedAccess, offsets: NDArray[int64]) -> str:
    first = launch.element(access.base or 0, int(offsets[0]))
    return f"{pluralize(len(offsets), 'element')} from {first} on"


UNINITIALIZED_MEMORY = LaunchRule(
    "IRS322",
    "uninitialized-memory",
    """\
Memory that was allocated and not written, which a launch reads, or leaves as it is.

**What it does.** `irscope run` without a GPU records to which tensors of a launch nothing was written since
they were allocated (`torch.empty`). This executes all programs and reports a load or an atomic operation of
elements that no program stores before, and elements of an output that no program stores.

**Why is this bad?** The memory has what was there before, often zeros, sometimes NaN. Sums with
`tl.atomic_add` begin at any number, `beta * c` is NaN if c has a NaN and beta is 0, and rows that are longer
than a block, or a grid that is rounded down, leave the end of the output undefined.

**Limits.** Only launches of which all programs are executed, and tensors of which all accesses are known.
What is only read is taken for the input of a benchmark. If another kernel writes the rest of an output,
suppress the report.
""",
    uninitialized_memory,
)


def assumption_false(compiled: CompiledKernel, launch: ExecutedLaunch) -> Iterator[Diagnostic]:
    """Report what the compiler was told to assume and what is not so in an executed program."""
    for line, program in launch.races.record.false_assumptions.items():
        message = (
            f"the assumption at line {line} of {compiled.kernel.name} is false in program {program}, "
            f"with {launch.text}"
        )
        fix = "assume only what holds for every program and every launch"
        yield compiled.diagnostic(ASSUMPTION_FALSE, message, fix, line or None)


ASSUMPTION_FALSE = LaunchRule(
    "IRS323",
    "assumption-false",
    """\
A `tl.assume` that does not hold in an executed launch.

**What it does.** Executes programs of a launch and reports a `tl.assume` whose condition is false in one.

**Why is this bad?** The compiler removes code that is only needed otherwise, so the program may compute
anything; an assumption about `tl.program_id` is often wrong for the first one only.

**Limits.** Only conditions that follow from the launch's arguments and the program's index are known.
""",
    assumption_false,
)


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
        yield module.diagnostic(STRIDES_SWAPPED, _place(kernel, access), message, fix, kernel)


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
    yield module.diagnostic(STRIDES_SWAPPED, node, message, fix, kernel)


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


STRIDES_SWAPPED = SourceRule(
    "IRS123",
    "strides-swapped",
    """\
An index that is multiplied by the stride of another dimension.

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
""",
    strides_swapped,
)
