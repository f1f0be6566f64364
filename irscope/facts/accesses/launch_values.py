"""The integers and pointers of TTIR in the last program of a recorded launch: ranges, and steps.

    %r = arith.muli %pid, %c64        -> 69952 for pid 1093
    %s = arith.addi %r, %range        -> 69952 to 70015, one more per element
    %q = tt.addptr %x_ptr, %s * 3     -> offsets 209856 to 210045 into x_ptr, in steps of 3

Interval arithmetic (Moore, Interval Analysis, 1966) on exact integers: results are not wrapped to 32
bits, so that an overflow shows as a range that does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from irscope.diff.def_use import Definition
from irscope.facts.accesses.axis_info import NUMBERS, AxisFlow, integer_constant, shape_of
from irscope.languages.document import Operation
from irscope.model import Launch
from irscope.model.records import frozen

_AXES = {"x": 0, "y": 1, "z": 2}
_AXIS = re.compile(r"tt\.get_(program_id|num_programs) (x|y|z)\b")
_MAX_BITS = 256
_LOOP = -1  # instead of a dimension


@frozen
class LaunchValue:
    """An integer, a tensor of integers, or a pointer plus an offset in elements.

    All elements are between `low` and `high`; None: unknown. If `exact`, some element equals each.
    `varying` are the ranges (each with the dimension that it runs along) and loops that it depends on.
    `steps` is the difference between neighbors along each dimension, None if unknown or not constant. `base`
    is the parameter that a pointer points into.
    """

    low: int | None = None
    high: int | None = None
    exact: bool = False
    varying: frozenset[tuple[int, int]] = frozenset()
    steps: tuple[int | None, ...] = ()
    base: str = ""

    @property
    def single(self) -> int | None:
        """Return the value, if it is one known number for all elements."""
        return self.low if self.low == self.high and not self.base else None

    @property
    def uniform(self) -> bool:
        """Return True if all elements are equal."""
        return not any(step != 0 for step in self.steps)


_Values = dict[Definition, LaunchValue]
UNKNOWN = LaunchValue()


def launch_values(flow: AxisFlow, launch: Launch | None) -> Mapping[Definition, LaunchValue]:
    """Return the known range of each value in the last program of `launch`.

    Without a launch, only steps and constants are known. Empty if the control flow is not
    structured, because the last program may then leave early, and if functions are not inlined.
    """
    if any(operation.opcode.startswith(("cf.", "tt.call")) for operation in flow.operations):
        return {}
    return integer_values(flow, recorded_integers(launch), launch.grid if launch else ())


def integer_values(
    flow: AxisFlow, arguments: Mapping[str, int], grid: Sequence[int] = ()
) -> Mapping[Definition, LaunchValue]:
    """Return the known range of each value in the last program of a grid, given values of parameters.

    Without the grid, values that depend on the program are unknown.
    """
    return _Evaluation(flow, arguments, grid).run()


def recorded_integer(text: str) -> int | None:
    """Parse a recorded integer or truth value; return None if it is something else."""
    if text in ("True", "False"):
        return int(text == "True")
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def recorded_integers(launch: Launch | None) -> dict[str, int]:
    """Return the integers among the arguments of a launch, by name."""
    texts = launch.arguments if launch else ()
    return {name: value for name, text in texts if (value := recorded_integer(text)) is not None}


def single(value: int) -> LaunchValue:
    """Return one known number."""
    return LaunchValue(value, value, exact=True)


class _Evaluation:
    def __init__(self, flow: AxisFlow, arguments: Mapping[str, int], grid: Sequence[int]) -> None:
        self._flow, self._arguments, self._grid = flow, arguments, grid
        self._values: _Values = {}

    def run(self) -> _Values:
        for value, parameter in self._flow.parameters.items():
            if parameter.pointer:
                self._values[value] = LaunchValue(0, 0, exact=True, base=parameter.name)
            elif parameter.integer and parameter.name in self._arguments:
                self._values[value] = single(self._arguments[parameter.name])
        for index, operation in enumerate(self._flow.operations):
            self._step(index, operation)
        return self._values

    def _step(self, index: int, operation: Operation) -> None:
        operands = [
            UNKNOWN if source is None else self._values.get(source, UNKNOWN)
            for source in self._flow.sources[index]
        ]
        if operation.opcode == "scf.for":
            self._loop(index, operands)
        elif len(operation.results) == 1 and not operation.opcode.startswith("scf."):
            text = operation.normalized.partition(" = ")[2]
            rank = len(shape_of(text)) if "tensor<" in text else 0
            value = self._result(index, operation.opcode, text, rank, operands)
            if value is None or len(value.steps) != rank:
                value = LaunchValue(steps=(None,) * rank)
            self._values[Definition(index, False, 0)] = _bounded(value)

    def _result(
        self, index: int, opcode: str, text: str, rank: int, operands: Sequence[LaunchValue]
    ) -> LaunchValue | None:
        if opcode in ("tt.get_program_id", "tt.get_num_programs"):
            return self._program(text)
        if opcode == "arith.constant":
            number = integer_constant(text)
            return None if number is None else replace(single(number), steps=(0,) * rank)
        if opcode == "tt.make_range":
            start, end = (NUMBERS[name].search(text) for name in ("start", "end"))
            if start and end:
                return LaunchValue(int(start[1]), int(end[1]) - 1, True, frozenset([(index, 0)]), (1,))
        if (unary := _UNARY.get(opcode)) is not None and operands:
            return unary(text, rank, operands[0])
        if (binary := _BINARY.get(opcode)) is not None and len(operands) == 2:
            return binary(*operands) if len(operands[0].steps) == len(operands[1].steps) else None
        return None

    def _program(self, text: str) -> LaunchValue:
        match = _AXIS.match(text)
        axis = _AXES[match[2]] if match else len(self._grid)
        if match is None or axis >= len(self._grid):
            return UNKNOWN
        return single(self._grid[axis] - (match[1] == "program_id"))

    def _loop(self, index: int, operands: Sequence[LaunchValue]) -> None:
        """Set the counter, the values carried by the loop, and its results."""
        first, last, step = ([bound.single for bound in operands[:3]] + [None] * 3)[:3]
        trips = 0  # or unknown
        if first is not None and last is not None and step is not None and step > 0:
            trips = max(0, -(-(last - first) // step))
            # In a loop that never runs, nothing is known of its body.
            if trips:
                counter = LaunchValue(first, first + (trips - 1) * step, True, frozenset([(index, _LOOP)]))
                self._values[Definition(index, True, 0)] = counter
        for position, initial in enumerate(operands[3:]):
            increment = self._increment(index, position)
            added = increment.single if increment else None
            varying = initial.varying | {(index, _LOOP)}
            if added is not None and trips and (index, _LOOP) not in initial.varying:
                within = replace(_moved(initial, 0, added * (trips - 1)), varying=varying)
                after = _moved(initial, added * trips, added * trips)
            else:
                steps = initial.steps if increment else (None,) * len(initial.steps)
                within = after = LaunchValue(steps=steps, base=initial.base, varying=varying)
            self._values[Definition(index, True, position + 1)] = within
            self._values[Definition(index, False, position)] = after

    def _increment(self, loop: int, position: int) -> LaunchValue | None:
        """Return what each iteration adds to all elements of a carried value, if that is computed before."""
        yielded = self._yields.get(loop, ())
        source = yielded[position] if position < len(yielded) else None
        if source is None or self._flow.operations[source.owner].opcode not in ("arith.addi", "tt.addptr"):
            return None
        terms = self._flow.sources[source.owner]
        carried = Definition(loop, True, position + 1)
        if len(terms) != 2 or carried not in terms:
            return None
        addend = terms[1] if terms[0] == carried else terms[0]
        value = self._values.get(addend) if addend is not None and addend.owner < loop else None
        return value if value is not None and value.uniform else None

    @cached_property
    def _yields(self) -> Mapping[int, Sequence[Definition | None]]:
        """Map the index of each loop to the values that it yields."""
        return {
            operation.parent: self._flow.sources[index]
            for index, operation in enumerate(self._flow.operations)
            if operation.opcode == "scf.yield"
        }


def _bounded(value: LaunchValue) -> LaunchValue:
    """Drop ranges that grow without end."""
    ends = [end for end in (value.low, value.high) if end is not None]
    fits = all(abs(end).bit_length() <= _MAX_BITS for end in ends)
    return value if fits else replace(value, low=None, high=None)


def _moved(value: LaunchValue, low: int, high: int) -> LaunchValue:
    """Return `value` plus a number between `low` and `high`, in either order."""
    if value.low is None or value.high is None:
        return value
    return replace(value, low=value.low + min(low, high), high=value.high + max(low, high))


def _same(_: str, rank: int, value: LaunchValue) -> LaunchValue:
    return value


def _if_it_fits(_: str, rank: int, value: LaunchValue) -> LaunchValue:
    """Return the value if no conversion changes it, signed or not."""
    low, high = value.low, value.high
    fits = low is not None and high is not None and low >= 0 and high < 1 << 31
    return value if fits else LaunchValue(steps=value.steps)


def _splat(_: str, rank: int, value: LaunchValue) -> LaunchValue:
    return replace(value, steps=(0,) * rank)


def _expand(text: str, rank: int, value: LaunchValue) -> LaunchValue | None:
    match = NUMBERS["axis"].search(text)
    axis = int(match[1]) if match else -1
    if not 0 <= axis < rank:
        return None
    varying = frozenset((owner, dimension + (dimension >= axis)) for owner, dimension in value.varying)
    return replace(value, varying=varying, steps=(*value.steps[:axis], 0, *value.steps[axis:]))


def _ends(a: LaunchValue, b: LaunchValue) -> tuple[int, int, int, int] | None:
    """Return the ends of the ranges of two operands."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None
    return a.low, a.high, b.low, b.high


def _combined(
    a: LaunchValue, b: LaunchValue, ends: Sequence[int] | None, steps: tuple[int | None, ...]
) -> LaunchValue:
    exact = a.exact and b.exact and not a.varying & b.varying
    low, high = (min(ends), max(ends)) if ends else (None, None)
    return LaunchValue(low, high, exact, a.varying | b.varying, steps, a.base or b.base)


def _sum(a: LaunchValue, b: LaunchValue) -> LaunchValue:
    ends, pairs = _ends(a, b), zip(a.steps, b.steps, strict=True)
    steps = tuple(None if x is None or y is None else x + y for x, y in pairs)
    return _combined(a, b, ends and (ends[0] + ends[2], ends[1] + ends[3]), steps)


def _difference(a: LaunchValue, b: LaunchValue) -> LaunchValue:
    low, high = (None if end is None else -end for end in (b.high, b.low))
    steps = tuple(None if step is None else -step for step in b.steps)
    return _sum(a, replace(b, low=low, high=high, steps=steps))


def _product(a: LaunchValue, b: LaunchValue) -> LaunchValue:
    uniform, other = (a, b) if a.uniform else (b, a)
    factor = uniform.single
    steps = tuple(
        0 if step == 0 and uniform.uniform else None if step is None or factor is None else step * factor
        for step in other.steps
    )
    ends = _ends(a, b)
    products = ends and [left_end * right_end for left_end in ends[:2] for right_end in ends[2:]]
    return _combined(uniform, other, products, steps)


def _uniform_steps(a: LaunchValue, b: LaunchValue) -> tuple[int | None, ...]:
    """Return the steps of a result that is equal where both operands are, and unknown elsewhere."""
    return (0 if a.uniform and b.uniform else None,) * len(a.steps)


def _division(a: LaunchValue, b: LaunchValue) -> LaunchValue:
    """Divide numbers that are not negative by a known positive one: others round differently."""
    ends, by, steps = _ends(a, b), b.single, _uniform_steps(a, b)
    if ends is None or by is None or by <= 0 or ends[0] < 0:
        return LaunchValue(steps=steps)
    return replace(_combined(a, b, (ends[0] // by, ends[1] // by), steps), varying=a.varying)


def _ceiling(a: LaunchValue, b: LaunchValue) -> LaunchValue:
    """Divide a known number by a known one and round up."""
    value, by = a.single, b.single
    return LaunchValue(steps=_uniform_steps(a, b)) if value is None or not by else single(-(-value // by))


def _remainder(a: LaunchValue, b: LaunchValue) -> LaunchValue:
    ends, by, steps = _ends(a, b), b.single, _uniform_steps(a, b)
    if ends is None or by is None or by <= 0 or ends[0] < 0:
        return LaunchValue(steps=steps)
    if ends[0] // by == ends[1] // by:
        return replace(a, low=ends[0] % by, high=ends[1] % by)
    return LaunchValue(0, by - 1, False, a.varying, steps)


def _extreme(choose: Callable[[int, int], int], a: LaunchValue, b: LaunchValue) -> LaunchValue:
    ends, steps = _ends(a, b), _uniform_steps(a, b)
    if ends is None:
        return LaunchValue(steps=steps)
    return _combined(a, b, (choose(ends[0], ends[2]), choose(ends[1], ends[3])), steps)


# Of operations with one operand; the arguments are the operation, the rank of its result, and the operand.
_UNARY: Mapping[str, Callable[[str, int, LaunchValue], LaunchValue | None]] = {
    "tt.splat": _splat,
    "tt.expand_dims": _expand,
    **dict.fromkeys(("tt.broadcast", "arith.extsi", "arith.index_cast"), _same),
    **dict.fromkeys(("arith.extui", "arith.index_castui", "arith.trunci"), _if_it_fits),
}
_BINARY: Mapping[str, Callable[[LaunchValue, LaunchValue], LaunchValue]] = {
    **dict.fromkeys(("arith.addi", "tt.addptr"), _sum),
    "arith.subi": _difference,
    "arith.muli": _product,
    **dict.fromkeys(("arith.divsi", "arith.divui"), _division),
    "arith.ceildivsi": _ceiling,
    **dict.fromkeys(("arith.remsi", "arith.remui"), _remainder),
    **dict.fromkeys(("arith.minsi", "arith.minui"), partial(_extreme, min)),
    **dict.fromkeys(("arith.maxsi", "arith.maxui"), partial(_extreme, max)),
}
