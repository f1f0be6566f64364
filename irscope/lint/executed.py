"""The input of a rule that executes launches: variants with equal code, and one launch of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

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
from irscope.interpreting.stage_program import StageProgram
from irscope.interpreting.unanswered import UnansweredError
from irscope.languages.document import Document
from irscope.lint.diagnostic import lines_text
from irscope.model import Launch, Variant
from irscope.model.records import frozen_with_dict

_TENSOR = re.compile(r"\w+\[([\d, ]*)\]$")


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
    origin: str = ""

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
        aliases = [f"{name} is {earlier}{f' + {shift:,} bytes' * bool(shift)}" for name, earlier, shift in self.launch.aliases]
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

    def parameter(self, position: int) -> str:
        """Return the name of an argument by its position."""
        names = self.program.entry.arguments
        return names[position].lstrip("%") if 0 <= position < len(names) else f"argument {position}"

    def element(self, position: int, offset: int) -> str:
        """Return an element of an argument: `x[3, 17]` if its tensor is contiguous, else `x + 401`."""
        name = self.parameter(position)
        match = _TENSOR.match(dict(self.launch.arguments).get(name, ""))
        sizes = tuple(int(size) for size in match[1].split(",") if size.strip()) if match else ()
        if not sizes or not 0 <= offset < math.prod(sizes):
            return f"{name} {'-' if offset < 0 else '+'} {abs(offset):,}"
        return f"{name}[{', '.join(str(int(index)) for index in np.unravel_index(offset, sizes))}]"
