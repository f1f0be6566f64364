"""Threads of one program that access the same memory, with no barrier between.

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
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import Diagnostic, LaunchRule
from irscope.model.text import one_line, pluralize

if TYPE_CHECKING:
    from irscope.interpreting.races import Race, Side
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
    return compiled.diagnostic(RULE, one_line(message), fix, second.line or None)


def _within_store(compiled: CompiledKernel, launch: ExecutedLaunch, race: Race) -> Diagnostic:
    access = race.first.access
    message = (
        f"line {access.line} stores two values to {launch.element(race.base, race.offset)}, and either may "
        f"remain: its element {race.first.index} by {_thread(race, race.first)}, and {race.second.index} by "
        f"{_thread(race, race.second)}, in program {access.program}; {pluralize(race.count, 'element')}, at "
        f"{launch.text}"
    )
    fix = "give each element an offset of its own, mask off all but one, or use an atomic operation"
    return compiled.diagnostic(RULE, one_line(message), fix, access.line or None)


def _early_release(compiled: CompiledKernel, launch: ExecutedLaunch, race: Race) -> Diagnostic:
    store, release = race.first.access, race.second.access
    message = (
        f"line {release.line} lets other programs in while threads of this one may still store at line "
        f"{store.line}: one thread does the atomic operation, with no barrier before it, and "
        f"{_thread(race, race.first)} stores {launch.element(race.base, race.offset)}; at {launch.text}"
    )
    fix = f"put tl.debug_barrier() between line {store.line} and line {release.line}"
    return compiled.diagnostic(RULE, one_line(message), fix, release.line or None)


def _verb(kind: str) -> str:
    return {"load": "loads", "store": "stores"}.get(kind, "changes")


def _holder(race: Race, side: Side) -> str:
    index = f"element {side.index} of " if side.index else ""
    return f"{index}{_thread(race, side)}"


def _thread(race: Race, side: Side) -> str:
    return f"thread {side.thread} (warp {side.thread // race.lanes}, lane {side.thread % race.lanes})"


def _iterations(side: Side) -> str:
    numbers = side.access.iterations
    return str(numbers[0]) if len(numbers) == 1 else str(numbers)


RULE = LaunchRule("IRS301", "race-between-threads", __doc__, race_between_threads)
