"""The input of a rule that executes launches: variants with equal code, and one launch of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.access_record import LOAD, STORE, RecordedAccess
from irscope.interpreting.bits.expressions import Expressions
from irscope.interpreting.races import (
    PROGRAMS,
    LaunchRaces,
    Race,
    RaceSide,
    barrier_lines,
    launch_races,
    written_barriers,
)
from irscope.interpreting.stage_interpreter import KernelLaunch, StageInterpreter
from irscope.interpreting.stage_program import StageProgram, UnansweredError
from irscope.languages.document import Document
from irscope.lint.diagnostic import lines_text
from irscope.model import Launch, Variant
from irscope.model.records import frozen_with_dict

_TENSOR = re.compile(r"\w+\[([\d, ]*)\](?: strides \[([\d, ]*)\])?$")
# A tensor of more elements is not checked for elements that nothing writes.
_MOST_ELEMENTS = 20_000_000


@frozen_with_dict
class ExecutedLaunch:
    """One launch of variants whose final TTGIR is equal; what rules ask for is executed when they ask.

    `called` is the launch as the machine takes it. `read_final` returns the LLVM IR, which says where the
    block has barriers, or None if the capture has none. `origin` says where the launch comes from: "" if it
    was recorded. `budget` bounds what is executed, as in `launch_races`.
    """

    variants: Sequence[Variant]
    launch: Launch
    called: KernelLaunch
    program: StageProgram
    read_final: Callable[[], Document | None]
    budget: int
    origin: str

    @cached_property
    def final(self) -> Document | None:
        """Return the LLVM IR, or None if the capture has none."""
        return self.read_final()

    @cached_property
    def races(self) -> LaunchRaces:
        """Execute programs of the launch; return their races.

        The LLVM IR is read only if threads would race without the barriers that it adds.
        """
        stage = self.program.document
        found = launch_races(self.program, self.called, written_barriers(stage), self.budget)
        if all(race.kind == PROGRAMS for race in found.races):
            return found
        return launch_races(self.program, self.called, barrier_lines(stage, self.final), self.budget)

    @property
    def cost(self) -> int:
        """Return what was executed so far, as `budget` counts it."""
        return self.races.record.cost if "races" in self.__dict__ else 0

    @property
    def undecided(self) -> list[str]:
        """Return what rules could not decide about the launch, if they executed it."""
        if "races" not in self.__dict__:
            return []
        found = self.races
        notes = [
            f"lines {race.first.access.line} and {race.second.access.line} may race for "
            f"{self.parameter(race.base)}; not decided, since {race.undecided}"
            for race in found.races
            if race.undecided
        ]
        if found.unknown:
            lines = lines_text({step.source_line for step in found.unknown})
            notes.append(f"addresses at {lines} depend on data; not decided whether they race")
        if found.skipped:
            notes.append("too many elements are accessed to compare all; not decided whether they race")
        if found.unanswered is not None:
            line = f" at line {found.unanswered.step.source_line}" if found.unanswered.step else ""
            notes.append(f"not executed to the end: {found.unanswered.reason}{line}")
        return notes

    @property
    def text(self) -> str:
        """Return the launch as messages show it: the grid, and the numbers among the arguments."""
        numbers = [
            f"{name}={value}" for name, value in self.launch.arguments if re.fullmatch(r"-?\d+", value)
        ]
        aliases = [
            f"{name} is {earlier}{f' + {shift:,} bytes' * bool(shift)}"
            for name, earlier, shift in self.launch.aliases
        ]
        return ", ".join([f"grid={tuple(self.called.grid)}", *numbers, *aliases]) + (
            self.origin and f" ({self.origin})"
        )

    @property
    def extent(self) -> str:
        """Return how much was executed, if that is not all: "24 of 1,000 programs were executed"."""
        found = self.races
        if found.executed == found.programs:
            return ""
        return f"{found.executed:,} of {found.programs:,} programs were executed"

    def stores_equal_values(self, race: Race) -> bool:
        """Return True if two programs store the same value: the hashes of what computes it are equal."""
        if race.first.access.size != race.second.access.size:
            return False
        values = [self._stored(side) for side in (race.first, race.second)]
        return values[0] is not None and values[0] == values[1]

    def _stored(self, side: RaceSide) -> int | None:
        """Return the hash of what the program of a side leaves at its address; None if it is unknown."""
        expressions = Expressions(fusion=True)
        try:
            StageInterpreter(self.program, expressions, self.called).run(side.access.program)
        except UnansweredError:
            return None
        outputs = expressions.memory.outputs.get(side.access.base or 0)
        address = int(side.access.active[np.searchsorted(side.access.elements, side.element)])
        addresses, hashes = outputs.final() if outputs else (np.zeros(0), np.zeros(0))
        place = int(np.searchsorted(addresses, address))
        return int(hashes[place]) if place < len(addresses) and addresses[place] == address else None

    def unset_reads(self) -> Iterator[tuple[RecordedAccess, str, NDArray[np.int64]]]:
        """Yield reads of what nothing wrote before, with the tensor and the offsets; not those of inputs."""
        for name, accesses in self._unwritten_tensors():
            stores = [access for access in accesses if access.kind == STORE]
            is_input = all(access.kind == LOAD for access in accesses)
            for access in () if is_input else accesses:
                earlier = [
                    store.offset
                    for store in stores
                    if store.program != access.program or store.number < access.number
                ]
                if access.kind != STORE:
                    offsets = np.setdiff1d(access.offset, np.concatenate([np.zeros(0, np.int64), *earlier]))
                    if len(offsets):
                        yield access, name, offsets
                        break

    def unwritten_elements(self) -> Iterator[tuple[RecordedAccess, str, NDArray[np.int64]]]:
        """Yield the last store to each new tensor that no program reads, and the offsets that none stores."""
        for name, accesses in self._unwritten_tensors():
            match = _TENSOR.match(dict(self.launch.arguments).get(name, ""))
            sizes, strides = (_integers(match[1]), _integers(match[2] or "")) if match else ([], [])
            only_stored = all(access.kind == STORE for access in accesses)
            if (
                match is None
                or not self.races.record.whole
                or not only_stored
                or math.prod(sizes) > _MOST_ELEMENTS
            ):
                continue
            offsets = np.zeros(1, np.int64)
            for axis, size in enumerate(sizes):
                stride = strides[axis] if strides else math.prod(sizes[axis + 1 :])
                offsets = (offsets[:, None] + np.arange(size) * stride).reshape(-1)
            missing = np.setdiff1d(offsets, np.concatenate([access.offset for access in accesses]))
            if len(missing):
                yield max(accesses, key=lambda access: access.line), name, missing

    def _unwritten_tensors(self) -> Iterator[tuple[str, list[RecordedAccess]]]:
        """Yield each tensor that was not written before the launch, with its accesses, if all are known."""
        accesses = self.races.record.accesses
        if any(access.addresses is None or access.base is None or not access.certain for access in accesses):
            return
        aliased = {name for alias in self.launch.aliases for name in alias[:2]}
        for name in self.launch.unwritten:
            own = [access for access in accesses if self.parameter(access.base or 0) == name]
            if own and name not in aliased:
                yield name, own

    def parameter(self, position: int) -> str:
        """Return the name of an argument by its position."""
        names = self.program.entry.arguments
        return names[position].lstrip("%") if 0 <= position < len(names) else f"argument {position}"

    def element(self, position: int, offset: int) -> str:
        """Return an element of an argument: `x[3, 17]` if its tensor is contiguous, else `x + 401`."""
        name = self.parameter(position)
        match = _TENSOR.match(dict(self.launch.arguments).get(name, ""))
        sizes = _integers(match[1]) if match and not match[2] else []
        if not sizes or not 0 <= offset < math.prod(sizes):
            return f"{name} {'-' if offset < 0 else '+'} {abs(offset):,}"
        return f"{name}[{', '.join(str(int(index)) for index in np.unravel_index(offset, sizes))}]"


def _integers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]
