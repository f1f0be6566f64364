"""Which variants of a kernel compute the same bits at one launch, and what decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from irscope.interpreting.bits import hashes
from irscope.interpreting.bits.expressions import Decision, Expressions
from irscope.interpreting.bits.hashes import Hashes
from irscope.interpreting.bits.marks import Marks
from irscope.interpreting.bits.reasons import Reason, reasons
from irscope.interpreting.bits.written import SCATTERED, Addresses
from irscope.interpreting.stage_interpreter import KernelLaunch, StageInterpreter
from irscope.interpreting.stage_program import StageProgram, UnansweredError
from irscope.languages.document import Document
from irscope.layouts.convert import Version

# A grid of so few programs that execute so few operations, or so few elements if they add with atomics, is
# executed whole; of a larger one, the first, the middle and the last program.
_WHOLE_GRID = 32
_WHOLE_STEPS = 10_000
_WHOLE_ELEMENTS = 100_000_000
# The results of the first programs of a grid that is not executed whole have at most so many elements.
_FIRST_ELEMENTS = 20_000_000
# So few contributions to one element give the same bits in any order: addition commutes.
_ORDERLESS = 2


@dataclass(frozen=True)
class Evaluation:
    """What a variant writes at a launch, as hashes of expressions.

    `outputs` maps the number of an argument to the addresses written and their hashes. `unanswered` says why
    the variant could not be evaluated, with the index of the line of the stage; all else is then empty.
    `decisions` are counted; `marks` say in short what each operation computed.
    `repeatable` is False if the order of atomic operations, which no launch repeats, decides about bits.
    `whole`: all programs were executed, so the addresses are all that are written.
    """

    outputs: Mapping[int, tuple[Addresses, Hashes]] = field(default_factory=dict)
    decisions: Mapping[Decision, int] = field(default_factory=dict)
    marks: Marks = field(default_factory=dict)
    fusion: bool = True
    repeatable: bool = True
    whole: bool = False
    unanswered: str = ""


@dataclass(frozen=True)
class BitClass:
    """Variants that compute the same bits; `name` is "a", "b", ...

    If it is not `repeatable`, not even two launches of its one variant do.
    """

    name: str
    variants: tuple[int, ...]
    repeatable: bool


@dataclass(frozen=True)
class ClassDifference:
    """What separates two classes, given by their names."""

    a: str
    b: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class BitClasses:
    """The classes of the variants at one launch. `unknown` maps the ids of the others to the reason."""

    classes: tuple[BitClass, ...]
    unknown: Mapping[int, str]
    differences: tuple[ClassDifference, ...]


def evaluate(
    document: Document,
    triton: Version,
    launch: KernelLaunch,
    fusion: bool,
    flush: bool = True,
    first: int = 1,
) -> Evaluation:
    """Execute the final TTGIR of a variant for some programs of a launch. Never raises.

    `fusion` is the option `enable_fp_fusion`; `flush` is False if denormals are not treated as by default:
    `enable_reflect_ftz=False` on NVIDIA (in libdevice), `allow_flush_denorm=True` on AMD.
    Of a grid that is not executed whole, up to `first` of the first programs, the middle and the last are.
    """
    expressions = Expressions(fusion, flush)
    try:
        machine = StageInterpreter(StageProgram(document, triton), expressions, launch)
        memory, programs = expressions.memory, math.prod(launch.grid)
        machine.run((0, 0, 0))
        whole = programs <= _WHOLE_GRID and programs * machine.elements <= _WHOLE_ELEMENTS
        whole &= memory.adds or first > 1 or programs * machine.steps <= _WHOLE_STEPS
        first = max(1, min(first, _FIRST_ELEMENTS // max(machine.elements, 1)))
        for program_id in _others(launch.grid, programs if whole else first):
            machine.run(program_id)
        for program_id in _neighbors(launch.grid) if memory.adds and not whole else ():
            if memory.most_adds() > _ORDERLESS:
                break
            machine.run(program_id)
        outputs = {argument: writes.final() for argument, writes in memory.outputs.items()}
        repeatable = _add_atomics(expressions, outputs, whole)
        if not outputs:
            raise UnansweredError("the programs that were executed write nothing to memory")
    except UnansweredError as error:
        return Evaluation(unanswered=error.reason)
    return Evaluation(outputs, expressions.decisions, expressions.marks, fusion, repeatable, whole)


def classify(evaluations: Mapping[int, Evaluation]) -> BitClasses:
    """Sort variants, given by id, into classes of equal hashes at every element that two of them wrote."""
    unknown = {number: item.unanswered for number, item in evaluations.items() if item.unanswered}
    groups: list[list[int]] = []
    for number, item in evaluations.items():
        if item.unanswered:
            continue
        answers = [_agree(evaluations[members[0]], item) for members in groups]
        if True in answers:
            groups[answers.index(True)].append(number)
        elif None in answers:
            unknown[number] = "the elements seen of it are not those of the other variants"
        else:
            groups.append([number])
    classes = tuple(
        BitClass(_name(index), tuple(members), evaluations[members[0]].repeatable)
        for index, members in enumerate(groups)
    )
    differences = tuple(
        ClassDifference(
            a.name, b.name, tuple(reasons(evaluations[a.variants[0]], evaluations[b.variants[0]]))
        )
        for a, b in combinations(classes, 2)
    )
    return BitClasses(classes, unknown, differences)


def _others(grid: tuple[int, int, int], first: int) -> list[tuple[int, int, int]]:
    """Return the programs to execute after the first: in total `first` near it, the last, the middle one."""
    x, y, z = grid
    i, j, k = (range(min(size, first)) for size in grid)
    near = sorted(product(i, j, k), key=max)[:first]
    return list(dict.fromkeys([*near, (x - 1, y - 1, z - 1), (x // 2, y // 2, z // 2)]))[1:]


def _neighbors(grid: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    """Yield programs that are likely to add to the elements that the first one adds to.

    A split along an axis of its own, or next to each other, comes first; then one whose parts are far apart.
    """
    for axis in (2, 1, 0):
        for number in dict.fromkeys((1, 2, *(grid[axis] * eighth // 8 for eighth in range(1, 8)))):
            if 0 < number < grid[axis]:
                x, y, z = (number if other == axis else 0 for other in range(3))
                yield x, y, z


def _agree(a: Evaluation, b: Evaluation) -> bool | None:
    """Return True if two variants compute the same bits; None if no element was seen of both."""
    if a.outputs.keys() != b.outputs.keys():
        return False
    if a.whole and b.whole:
        pairs = ((addresses, b.outputs[argument][0]) for argument, (addresses, _) in a.outputs.items())
        if not all(np.array_equal(*pair) for pair in pairs):
            return False
    return common_elements_agree(a, b)


def common_elements_agree(a: Evaluation, b: Evaluation) -> bool | None:
    """Return True if all elements that both write have the same bits; None if no such element was seen."""
    if not (a.repeatable and b.repeatable):
        return False
    answer: bool | None = True
    for argument in a.outputs.keys() & b.outputs.keys():
        (addresses, values), (others, hashed) = a.outputs[argument], b.outputs[argument]
        common = np.intersect1d(addresses, others, assume_unique=True)
        if not len(common) and len(addresses):
            answer = None
        elif not np.array_equal(
            values[np.searchsorted(addresses, common)], hashed[np.searchsorted(others, common)]
        ):
            return False
    return answer


def _add_atomics(expressions: Expressions, outputs: dict[int, tuple[Addresses, Hashes]], whole: bool) -> bool:
    """Add the results of atomic operations to the outputs; return False if no launch repeats them."""
    memory = expressions.memory
    repeatable = not memory.ordered
    for (argument, kind), writes in memory.atomics.items():
        addresses = np.concatenate(writes.addresses)
        values = np.concatenate(writes.values)
        unique, index, counts = np.unique(addresses, return_inverse=True, return_counts=True)
        if kind in ("cas", "exch"):
            raise UnansweredError(f"what an atomic {kind} leaves depends on the order of the programs")
        if kind == "fadd" and (argument == SCATTERED or counts.max(initial=0) > _ORDERLESS):
            repeatable = False
        elif kind == "fadd" and not whole:
            raise UnansweredError(
                "how many programs add to one element is not known without executing all; "
                f"a launch of at most {_WHOLE_GRID} programs tells"
            )
        if kind == "fadd":
            many = int(counts.max(initial=0))
            sums = ("1 program" if many == 1 else f"{many} programs") if whole else "more than 2 programs"
            for step in writes.steps.values():
                expressions.note_way("split", step, f"adds what {sums} computed to each element")
        folded = values if kind == "add" else hashes.folded(kind, values)
        total = np.zeros(len(unique), np.uint64)
        np.add.at(total, index, folded)
        outputs[argument] = (unique, total)
    return repeatable


def _name(index: int) -> str:
    """Return the name of a class: a, b, ..., z, aa, ab, ..."""
    name = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        name = chr(ord("a") + letter) + name
    return name
