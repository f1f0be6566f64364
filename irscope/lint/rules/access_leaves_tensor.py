"""An access of an executed launch that leaves the tensor, masked or not.

**What it does.** Executes programs of a launch and reports loads, stores and atomic operations of elements
before the first or after the last element of the tensor that was passed, with the first program and the
smallest launch that make one. Offsets that int32 cannot hold are named as such.

**Why is this bad?** The kernel reads or overwrites memory of other tensors. Nothing reports an error unless
the page is not mapped. A mask does not help if it tests another bound, or if the strides are swapped.

**Limits.** Of a large grid, the programs at its ends along each axis are executed, and as many others as a
limit allows. Addresses and masks that depend on data are not known. Rows are only told apart at the end of
a tensor. What [out-of-bounds](#out-of-bounds) and [launch-overflow](#launch-overflow) find without
executing is left to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import Diagnostic, LaunchRule
from irscope.lint.rules.launch_overflow import launch_overflow
from irscope.lint.rules.out_of_bounds import out_of_bounds
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from irscope.interpreting.access_record import Access
    from irscope.lint.executed import ExecutedLaunch

_TENSOR = re.compile(r"\w+\[([\d, ]*)\](?: strides \[([\d, ]*)\])?$")
_VERBS = {"load": "reads", "store": "writes", "atomic": "changes"}
_WRAP = 2**32


def access_leaves_tensor(compiled: CompiledKernel, launch: ExecutedLaunch) -> Iterator[Diagnostic]:
    """Compare the offsets of all accesses of a launch with the sizes of its tensors."""
    known = {diagnostic.line for diagnostic in out_of_bounds(compiled)}
    sizes = {name: _extent(text) for name, text in launch.launch.arguments}
    worst: dict[tuple[int, int], Access] = {}
    for access in launch.races.record.accesses:
        if access.base is None or access.addresses is None or not access.certain or not access.line:
            continue
        extent = sizes.get(launch.parameter(access.base))
        if extent is None or access.line in known:
            continue
        offsets = access.offset
        if not len(offsets) or 0 <= offsets.min() <= offsets.max() < extent:
            continue
        worst.setdefault((access.line, access.base), access)
    wraps = any(launch_overflow(compiled)) if worst else False
    for access in worst.values():
        extent = sizes[launch.parameter(access.base or 0)] or 0
        if not (wraps and _is_wrapped(access, extent)):
            yield _diagnostic(compiled, launch, access, extent)


def _is_wrapped(access: Access, extent: int) -> bool:
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
    if 0 in sizes:
        return 0
    if not strides:
        extent = 1
        for size in sizes:
            extent *= size
        return extent
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=False))


def _diagnostic(compiled: CompiledKernel, launch: ExecutedLaunch, access: Access, extent: int) -> Diagnostic:
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
    return compiled.diagnostic(RULE, message, fix, access.line)


RULE = LaunchRule("IRS321", "access-leaves-tensor", __doc__, access_leaves_tensor)
