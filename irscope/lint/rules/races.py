"""Accesses that nothing orders, found by executing a launch or in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, LaunchRule, SourceRule
from irscope.lint.source.accesses import Overwrite, overwrites, pointer_accesses
from irscope.lint.source.grids import dimensions
from irscope.lint.source.kernel_body import axes_of, program_axes, resolve_local
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule
from irscope.model import Variant
from irscope.model.text import one_line, pluralize
from irscope.targets import CUDA, stage_named

if TYPE_CHECKING:
    from irscope.interpreting.events.hazards import Hazard
    from irscope.interpreting.races import Race, RaceSide
    from irscope.lint.executed import ExecutedLaunch


def race_between_threads(compiled: CompiledKernel, launch: ExecutedLaunch) -> Iterator[Diagnostic]:
    """Report races within the programs of a launch."""
    for race in launch.races.races:
        if race.kind == "threads":
            yield _between_accesses(compiled, launch, race)
        elif race.kind == "elements":
            yield _within_store(compiled, launch, race)
        elif race.kind == "release":
            yield _early_release(compiled, launch, race)


def _between_accesses(compiled: CompiledKernel, launch: ExecutedLaunch, race: Race) -> Diagnostic:
    first, second = race.first.access, race.second.access
    element = launch.element(race.base, race.offset)
    iterations = ""
    if first.iterations != second.iterations and (first.iterations or second.iterations):
        iterations = f" (loop iterations {_iterations(race.first)} and {_iterations(race.second)})"
    message = (
        f"line {second.line} {_verb(second.kind)} what another thread {_verb(first.kind)} at line "
        f"{first.line}, with no barrier between{iterations}: {element}, {_holder(race, race.first)} at line "
        f"{first.line} and {_holder(race, race.second)} at line {second.line}, in program {first.program}; "
        f"{pluralize(race.count, 'element')}, at {launch.text}"
    )
    if race.in_warp:
        message += "; both threads are lanes of one warp, which CUDA does not order either"
    fix = (
        f"put tl.debug_barrier() between line {first.line} and line {second.line}, or keep the values in "
        "registers"
        if first.line != second.line
        else f"put tl.debug_barrier() into the loop, after line {first.line}"
    )
    if not first.certain or not second.certain:
        message += "; if data decide that both run"
    return compiled.diagnostic(RACE_BETWEEN_THREADS, one_line(message), fix, second.line or None)


def _within_store(compiled: CompiledKernel, launch: ExecutedLaunch, race: Race) -> Diagnostic:
    access = race.first.access
    message = (
        f"line {access.line} stores two values to {launch.element(race.base, race.offset)}, and either may "
        f"remain: its element {race.first.index} by {_thread(race, race.first)}, and {race.second.index} by "
        f"{_thread(race, race.second)}, in program {access.program}; {pluralize(race.count, 'element')}, at "
        f"{launch.text}"
    )
    fix = "give each element an offset of its own, mask off all but one, or use an atomic operation"
    return compiled.diagnostic(RACE_BETWEEN_THREADS, one_line(message), fix, access.line or None)


def _early_release(compiled: CompiledKernel, launch: ExecutedLaunch, race: Race) -> Diagnostic:
    store, release = race.first.access, race.second.access
    message = (
        f"line {release.line} lets other programs in while threads of this one may still store at line "
        f"{store.line}: one thread does the atomic operation, with no barrier before it, and "
        f"{_thread(race, race.first)} stores {launch.element(race.base, race.offset)}; at {launch.text}"
    )
    fix = f"put tl.debug_barrier() between line {store.line} and line {release.line}"
    return compiled.diagnostic(RACE_BETWEEN_THREADS, one_line(message), fix, release.line or None)


def _verb(kind: str) -> str:
    return {"load": "loads", "store": "stores"}.get(kind, "changes")


def _holder(race: Race, side: RaceSide) -> str:
    index = f"element {side.index} of " if side.index else ""
    return f"{index}{_thread(race, side)}"


def _thread(race: Race, side: RaceSide) -> str:
    return f"thread {side.thread} (warp {side.thread // race.lanes}, lane {side.thread % race.lanes})"


def _iterations(side: RaceSide) -> str:
    numbers = side.access.iterations
    return str(numbers[0]) if len(numbers) == 1 else str(numbers)


RACE_BETWEEN_THREADS = LaunchRule(
    "IRS301",
    "race-between-threads",
    """\
Threads of one program that access the same memory, with no barrier between.

**What it does.** Executes some programs of a launch and reports a store and a later load of the same element,
a load and a later store, or two stores, by different threads of a program, if the compiled code has no
barrier of the block between them; also one store that writes different values to one element. The layouts of
the final TTGIR say which thread has which element. It also reports a scalar atomic operation that lets other
programs in, such as the release of a lock, if other threads of the program may still store what it guards.

**Why is this bad?** Nothing orders the threads of a program between barriers: a thread loads what was there
before, now and then, and on some GPUs and configs only. Triton puts barriers between accesses of shared
memory, not of global memory; whether the threads differ is decided by the layouts, which change with
`num_warps`, the block size and the version of Triton ([triton#10924](https://github.com/triton-lang/triton/issues/10924),
[triton#9887](https://github.com/triton-lang/triton/issues/9887)). `tl.debug_barrier()` is such a barrier.

**What counts as a barrier.** `tl.debug_barrier()`, and every operation for which the LLVM IR of the variant
has a barrier of the block (`llvm.nvvm.barrier...`, `llvm.amdgcn.s.barrier`), such as a reduction across warps
or a layout conversion through shared memory: `bar.sync` orders all memory of the block. A shuffle within a
warp is none. If the capture has no LLVM IR, every operation that can have a barrier counts. A load does not
race with a later store of what was computed from the same element, or from a reduction over it. Partitions of
a warp-specialized program are not compared with each other.

**Limits.** Only launches that were recorded, or that `--launch` gives, are executed, and of a large grid only
some programs, those at its ends first. Addresses that depend on data are not known.
""",
    race_between_threads,
)


_ADD = "use tl.atomic_add, or store a partial result per program and add those up in a second kernel"
_DISTINCT = (
    "make the offsets of the store differ between programs (each program id times its block or stride), or "
    "launch no more programs than there are blocks"
)
_SPLIT = "do both in one program, or put what loads into a second kernel, which starts after all stores"
_KINDS = {"load": "loads", "store": "stores", "atomic": "changes by an atomic operation"}


def race_between_programs(compiled: CompiledKernel, launch: ExecutedLaunch) -> Iterator[Diagnostic]:
    """Report races between the programs of a launch."""
    found = [race for race in launch.races.races if race.kind == "programs" and not race.undecided]
    # A load and a store of a cell that is changed by each program are one problem.
    lost = {race.base for race in found if _is_update(race)}
    for race in found:
        kinds = {race.first.access.kind, race.second.access.kind}
        if _is_update(race):
            yield _diagnostic(compiled, launch, race, "load, change and store", _ADD)
        elif race.base in lost:
            continue
        elif kinds == {"store"}:
            if not launch.stores_equal_values(race):
                yield _diagnostic(compiled, launch, race, "store", _DISTINCT)
        else:
            yield _diagnostic(compiled, launch, race, "", _SPLIT if "load" in kinds else _ADD)


def _is_update(race: Race) -> bool:
    """Return True if both programs store what they computed from a load of the same argument."""
    sides = (race.first.access, race.second.access)
    return all(side.kind == "store" and race.base in side.updates for side in sides)


def _diagnostic(
    compiled: CompiledKernel, launch: ExecutedLaunch, race: Race, both: str, fix: str
) -> Diagnostic:
    first, second = race.first.access, race.second.access
    element = launch.element(race.base, race.offset)
    if both:
        lines = sorted({first.line, second.line})
        where = f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]} and {lines[1]}"
        what = f"programs {first.program} and {second.program} both {both} {element} at {where}"
    else:
        what = (
            f"program {second.program} {_KINDS[second.kind]} {element} at line {second.line}, which program "
            f"{first.program} {_KINDS[first.kind]} at line {first.line}"
        )
    indices = f"element {race.first.index} of the one and {race.second.index} of the other"
    notes = [f"{pluralize(race.count, 'element')}, at {launch.text}", launch.extent]
    parts: Sequence[str] = [what, *([indices] if race.first.index else []), *filter(None, notes)]
    message = f"{parts[0]}, with nothing that orders them: {'; '.join(parts[1:])}"
    return compiled.diagnostic(
        RACE_BETWEEN_PROGRAMS, one_line(message), fix, max(first.line, second.line) or None
    )


RACE_BETWEEN_PROGRAMS = LaunchRule(
    "IRS302",
    "race-between-programs",
    """\
Programs of one launch that access the same memory, without atomic operations.

**What it does.** Executes programs of a launch and reports elements that two programs write, that one loads,
changes and stores while another one does too, or that one loads and another one stores.

**Why is this bad?** Programs run in any order, many at once. The last store remains, whichever it is; what is
added in a load and a store gets lost; and what is loaded is the value from before or after. Mostly the
offsets are not injective in the program ids (a missing stride, `pid_m` for `pid_n`, a grid larger than what
it covers), or the sum of several programs needs `tl.atomic_add` or a second kernel.

**Not decided.** If atomic operations may order the programs (locks, semaphores of split-K and stream-K,
look-back), if a program waits in a loop for another one, or if data decide whether an access is made, nothing
is reported; `irscope lint` says so. Stores of equal values are not reported: equal constants, or values that
are computed by the same operations from the same inputs.

**Limits.** Only launches that were recorded, or that `--launch` gives, are executed. Of a large grid, the
programs at its ends along each axis are executed, and as many others as a limit allows; the message says how
many. Arguments that overlap are known of recorded launches only. Addresses that depend on data are not known.
""",
    race_between_programs,
)


_MOST_VARIANTS, _MOST_LOWERED = 24, 4
# Where the barriers between warps are looked at: in the first of these that a variant has.
_LOWERED = (CUDA.assembly, "llir")


def shared_memory_order(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Report each hazard of a kernel once, at the line where it is."""
    from irscope.interpreting.events.hazards import line_of

    reported: set[tuple[str, int]] = set()
    for number, variant in enumerate(_different(compiled)):
        for hazard in _hazards(compiled, variant, lowered=number < _MOST_LOWERED):
            line = line_of(hazard.step)
            if (hazard.kind, line) in reported:
                continue
            reported.add((hazard.kind, line))
            message = f"{hazard.message}, in #{variant.id} {compiled.names[variant.id]} on {compiled.target}"
            if len(hazard.trace) > 1:
                message += f" ({'; '.join(hazard.trace)})"
            yield compiled.diagnostic(SHARED_MEMORY_ORDER, one_line(message), hazard.remedy, line or None)


def _different(compiled: CompiledKernel) -> list[Variant]:
    """Return the first variants that can be launched of which no two have the same stages."""
    variants: dict[tuple[str, ...], Variant] = {}
    for variant in compiled.variants:
        artifacts = variant.artifacts
        digests = tuple(artifacts[name].digest for name in ("ttgir", *_LOWERED) if name in artifacts)
        if digests and variant.edit is None and compiled.launches(variant):
            variants.setdefault(digests, variant)
    return list(variants.values())[:_MOST_VARIANTS]


def _hazards(compiled: CompiledKernel, variant: Variant, lowered: bool) -> Iterator[Hazard]:
    from irscope.interpreting.events.lowered import check_barriers
    from irscope.interpreting.events.machine import check_order
    from irscope.layouts.convert import triton_version

    # Buffers and barriers of a stage are descriptors of memory.
    if "memdesc" in (compiled.text(variant, "ttgir") or ""):
        version = triton_version(variant.toolchain.versions.get("triton", ""))
        check = check_order(compiled.document(variant, "ttgir"), version)
        if check.unanswered:
            compiled.notes.append(f"order of shared memory not decided: {check.unanswered}")
        yield from check.hazards
    stage = next((name for name in _LOWERED if name in variant.artifacts), None)
    code = compiled.text(variant, stage) if stage and lowered else None
    if stage and code is not None and ("shared" in code or "addrspace(3)" in code):
        yield from check_barriers(compiled.document(variant, stage), stage_named(stage).language or "")


SHARED_MEMORY_ORDER = CaptureRule(
    "IRS311",
    "shared-memory-order",
    """\
Accesses of shared memory that nothing orders, and barriers that are waited for in vain.

**What it does.** Executes the scalar part of the final TTGIR, a logical thread per partition, and reports:

- a buffer that is read before what fills it is visible, or overwritten before its last use;
- a barrier that is waited for and never arrived at, with each partition that waits;
- a wait for the wrong phase, arrivals or bytes that do not match, a barrier that nothing waits for;
- an accumulator or an operand of a product in flight that is used;
- a write by threads that the copy engine or a tensor core reads without a fence.

In PTX, and for AMD in LLVM IR, it also looks for barriers between warps: what one warp writes to shared
memory, another must not read before a barrier of the block.

**Why is this bad?** The result is wrong now and then, on some GPUs, or the kernel never ends. Triton inserts
barriers for its own pipelines; in Gluon, waits, phases, counts and fences are yours. A report about a kernel
without Gluon is a second opinion on the compiler.

**Limits.** Integers that depend on data are guessed, loops run a few times, and clusters are not executed. Of
specialized kernels, the barriers between warps are not looked at. Of a kernel, 24 variants with different
code are executed at most, and the barriers between warps of 4.
""",
    shared_memory_order,
)


_LOCKS = ("atomic_cas", "atomic_xchg")


def accumulation_not_atomic(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the address of each accumulation with the axes of the grid."""
    for kernel in module.kernels.values():
        accesses = pointer_accesses(kernel, module)
        if any(access.operation in _LOCKS for access in accesses) or _has_other_index(kernel, module):
            continue
        for overwrite in overwrites(kernel, accesses, module):
            reason = _shared(kernel, overwrite, module) if overwrite.accumulates else ""
            if reason:
                store, line = overwrite.store, overwrite.load.call.lineno
                name = store.parameter
                message = f"the store adds to what line {line} loaded from {name} of {kernel.name}, {reason}"
                yield module.diagnostic(
                    ACCUMULATION_NOT_ATOMIC, store.call, message, "use tl.atomic_add", kernel
                )


def _has_other_index(kernel: KernelSource, module: PythonModule) -> bool:
    """Return True if a kernel gets its index from a function of its own package."""
    calls = [module.dotted(node.func) for node in kernel.nodes if isinstance(node, ast.Call)]
    return any(name.endswith("program_id") and not name.startswith("triton.") for name in calls)


def _shared(kernel: KernelSource, overwrite: Overwrite, module: PythonModule) -> str:
    """Say which programs or elements share the address of an accumulation, or return ""."""
    pointer, by_name = overwrite.store.pointer, program_axes(kernel, module)
    if any(axes_of(branch.test, by_name, module) for branch, _ in overwrite.store.branches):
        return ""
    loads = _loads(kernel, pointer, module)
    if loads:
        gathers = [load for load in loads if _is_block(kernel, load.args[0], module)]
        if gathers and len(gathers) == len(loads) and not _has_rows(kernel, pointer):
            return f"at indices from line {gathers[0].lineno}: additions to equal indices are lost"
        return ""
    used = axes_of(pointer, by_name, module)
    if -1 in used:
        return ""
    missing = sorted(_grid_axes(kernel, module) - used)
    if not missing:
        return ""
    axes = " and ".join(map(str, missing))
    return f"and all programs along axis {axes} of the grid use the same address: additions are lost"


def _grid_axes(kernel: KernelSource, module: PythonModule) -> set[int]:
    """Return the axes along which a kernel has several programs.

    These are the axes of its launches in this file, or those that it asks for.
    """
    launches = [launch for launch in module.launches if launch.kernel is kernel]
    if not launches:
        axes = {axis for node in kernel.nodes if (axis := module.program_axis(node)) is not None}
        return set() if -1 in axes else axes
    sets = []
    for launch in launches:
        sizes = [module.value(size, launch.scope) for size in dimensions(launch)]
        sets.append({axis for axis, size in enumerate(sizes) if size != 1})
    return set.intersection(*sets)


def _loads(kernel: KernelSource, pointer: ast.expr, module: PythonModule) -> list[ast.Call]:
    """Return the loads that an address is computed from."""
    pending: list[ast.AST] = [pointer]
    visited: set[str] = set()
    loads = []
    while pending:
        for part in ast.walk(pending.pop()):
            if call := module.tl(part, "load"):
                loads.append(call)
            elif isinstance(part, ast.Name) and part.id not in visited and not kernel.parameter(part.id):
                visited.add(part.id)
                pending += kernel.assigned.get(part.id, [])
    return loads


def _has_rows(kernel: KernelSource, pointer: ast.expr) -> bool:
    """Return True if an address has more than one axis: indices of whole rows are often different."""
    names = [part for part in ast.walk(pointer) if isinstance(part, ast.Name)]
    expressions = [pointer, *(resolve_local(kernel, name) for name in names)]
    return any(isinstance(part, ast.Subscript) for expression in expressions for part in ast.walk(expression))


def _is_block(kernel: KernelSource, pointer: ast.expr, module: PythonModule) -> bool:
    """Return True if a pointer of a load certainly has a `tl.arange` in it."""
    for part in ast.walk(pointer):
        resolved = resolve_local(kernel, part) if isinstance(part, ast.Name) else part
        if any(module.tl(node, "arange") for node in ast.walk(resolved)):
            return True
    return False


ACCUMULATION_NOT_ATOMIC = SourceRule(
    "IRS121",
    "accumulation-not-atomic",
    """\
A load, an addition and a store to an address that several programs share.

**What it does.** Reports stores that add to what the same program loaded from the same address, if the
address does not depend on an axis of the grid, or is looked up in a tensor of indices.

**Why is this bad?** Two programs load the same number, and the store of one is lost. Within a program, all
but one of the elements with equal indices are lost.

**Example**

```python
total = tl.load(sum_ptr)
tl.store(sum_ptr, total + tl.sum(x))  # by each program
```

**Use instead**

```python
tl.atomic_add(sum_ptr, tl.sum(x))
```

**Limits.** Kernels with a lock (`tl.atomic_cas`, `tl.atomic_xchg`), and stores under a condition on the
program's index, are skipped.
""",
    accumulation_not_atomic,
)
