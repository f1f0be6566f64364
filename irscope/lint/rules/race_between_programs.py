"""Programs of one launch that access the same memory, without atomic operations.

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
many. Arguments are taken to point to different tensors. Addresses that depend on data are not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import Diagnostic, LaunchRule
from irscope.model.text import one_line, pluralize

if TYPE_CHECKING:
    from irscope.interpreting.races import Race
    from irscope.lint.executed import ExecutedLaunch

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
    return compiled.diagnostic(RULE, one_line(message), fix, max(first.line, second.line) or None)


RULE = LaunchRule("IRS302", "race-between-programs", __doc__, race_between_programs)
