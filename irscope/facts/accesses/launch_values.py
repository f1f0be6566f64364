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
from dataclasses import dataclass, replace
from functools import cached_property

from irscope.diff.def_use import Definition
from irscope.facts.accesses.axis_flow import AxisFlow
from irscope.facts.accesses.axis_info import integer_constant, shape_of
from irscope.languages.document import Operation
from irscope.model import Launch
from irscope.model.records import FrozenValue

_RANGE = {name: re.compile(rf"\b{name} = (-?\d{{1,18}}) : ") for name in ("start", "end", "axis")}
_AXES = {"x": 0, "y": 1, "z": 2}
_AXIS = re.compile(r"tt\.get_(program_id|num_programs) (x|y|z)\b")
_MAX_BITS = 256
_LOOP = -1  # instead of a dimension


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LaunchValue(FrozenValue):
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
    return _Evaluation(flow, launch).run()


def single(value: int) -> LaunchValue:
    """Return one known number."""
    return LaunchValue(value, value, exact=True)


class _Evaluation:
    def __init__(self, flow: AxisFlow, launch: Launch | None) -> None:
        self._flow = flow
        self._grid = launch.grid if launch else ()
        self._arguments = dict(launch.arguments) if launch else {}
        self._values: _Values = {}

    def run(self) -> _Values:
        for value, parameter in self._flow.parameters.items():
            if parameter.pointer:
                self._values[value] = LaunchValue(0, 0, exact=True, base=parameter.name)
            elif parameter.integer:
                self._values[value] = _argument(self._arguments.get(parameter.name, ""))
        for index, operation in enumerate(self._flow.operations):
            self._step(index, operation)
        return self._values

    def _step(self, index: int, operation: Operation) -> None:
        operands = [
            UNKNOWN if source is None else self._values.get(source, UNKNOWN)
            for source in self._flow.sources[index]
        ]
        if operation.opcode == "scf.for":
            self._loop(index, operation, operands)
        elif len(operation.results) == 1 and not operation.opcode.startswith("scf."):
            text = operation.normalized.partition(" = ")[2]
            self._values[Definition(index, False, 0)] = self._result(index, operation.opcode, text, operands)

    def _result(self, index: int, opcode: str, text: str, operands: Sequence[LaunchValue]) -> LaunchValue:
        shape = shape_of(text) if "tensor<" in text else ()
        if opcode in ("tt.get_program_id", "tt.get_num_programs"):
            return self._program(text)
        if opcode == "arith.constant":
            number = integer_constant(text)
            if number is None:
                return replace(UNKNOWN, steps=(None,) * len(shape))
            return replace(single(number), steps=(0,) * len(shape))
        if opcode == "tt.make_range":
            start, end = (_RANGE[name].search(text) for name in ("start", "end"))
            if start and end:
                return LaunchValue(int(start[1]), int(end[1]) - 1, True, frozenset([(index, 0)]), (1,))
        rule = _RULES.get(opcode)
        result = rule(text, shape, operands) if rule is not None and operands else None
        if result is None or len(result.steps) != len(shape):
            return LaunchValue(steps=(None,) * len(shape))
        return _bounded(result)

    def _program(self, text: str) -> LaunchValue:
        match = _AXIS.match(text)
        axis = _AXES[match[2]] if match else len(self._grid)
        if match is None or axis >= len(self._grid):
            return UNKNOWN
        return single(self._grid[axis] - (match[1] == "program_id"))

    def _loop(self, index: int, loop: Operation, operands: Sequence[LaunchValue]) -> None:
        """Set the counter, the values carried by the loop, and its results."""
        first, last, step = ([bound.single for bound in operands[:3]] + [None] * 3)[:3]
        trips = None
        if first is not None and last is not None and step is not None and step > 0:
            trips = max(0, -(-(last - first) // step))
            # In a loop that never runs, nothing is known of its body.
            if trips:
                counter = LaunchValue(first, first + (trips - 1) * step, True, frozenset([(index, _LOOP)]))
                self._values[Definition(index, True, 0)] = counter
        for position, initial in enumerate(operands[3:]):
            added = self._added(index, position)
            varying = initial.varying | {(index, _LOOP)}
            if added is not None and trips and (index, _LOOP) not in initial.varying:
                within = _moved(initial, 0, added * (trips - 1))
                after = _moved(initial, added * trips, added * trips)
                self._values[Definition(index, True, position + 1)] = replace(within, varying=varying)
                self._values[Definition(index, False, position)] = after
            else:
                steps = initial.steps if self._keeps_steps(index, position) else (None,) * len(initial.steps)
                value = LaunchValue(steps=steps, base=initial.base, varying=varying)
                self._values[Definition(index, True, position + 1)] = value
                self._values[Definition(index, False, position)] = value

    def _added(self, loop: int, position: int) -> int | None:
        """Return the number that each iteration adds to a carried value, or None if that is unknown."""
        increment = self._increment(loop, position)
        value = self._values.get(increment) if increment is not None else None
        return value.single if value is not None and value.uniform else None

    def _keeps_steps(self, loop: int, position: int) -> bool:
        increment = self._increment(loop, position)
        value = self._values.get(increment) if increment is not None else None
        return value is not None and value.uniform

    def _increment(self, loop: int, position: int) -> Definition | None:
        """Return the step of each iteration of a carried value, if it is computed before the loop."""
        yielded = self._yields.get(loop)
        source = yielded[position] if yielded is not None and position < len(yielded) else None
        if source is None or self._flow.operations[source.owner].opcode not in ("arith.addi", "tt.addptr"):
            return None
        terms = self._flow.sources[source.owner]
        carried = Definition(loop, True, position + 1)
        if len(terms) != 2 or carried not in terms:
            return None
        addend = terms[1] if terms[0] == carried else terms[0]
        return addend if addend is not None and addend.owner < loop else None

    @cached_property
    def _yields(self) -> Mapping[int, Sequence[Definition | None]]:
        """Map the index of each loop to the values that it yields."""
        return {
            operation.parent: self._flow.sources[index]
            for index, operation in enumerate(self._flow.operations)
            if operation.opcode == "scf.yield"
        }


def _argument(text: str) -> LaunchValue:
    """Parse a recorded argument: `4096`, or `True`."""
    if text in ("True", "False"):
        return single(int(text == "True"))
    digits = text.removeprefix("-")
    return single(int(text)) if digits.isascii() and digits.isdigit() and len(digits) < 20 else UNKNOWN


def _bounded(value: LaunchValue) -> LaunchValue:
    """Drop ranges that grow without end."""
    ends = [end for end in (value.low, value.high) if end is not None]
    return (
        value
        if all(abs(end).bit_length() <= _MAX_BITS for end in ends)
        else replace(value, low=None, high=None)
    )


def _moved(value: LaunchValue, low: int, high: int) -> LaunchValue:
    """Return `value` plus a number between `low` and `high`, in either order."""
    if value.low is None or value.high is None:
        return value
    return replace(value, low=value.low + min(low, high), high=value.high + max(low, high))


_Operands = Sequence[LaunchValue]
_Rule = Callable[[str, tuple[int, ...], _Operands], LaunchValue | None]


def _same(_: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue:
    return operands[0]


def _if_it_fits(_: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue:
    """Return the value if no conversion changes it, signed or not."""
    low, high = operands[0].low, operands[0].high
    fits = low is not None and high is not None and low >= 0 and high < 1 << 31
    return operands[0] if fits else LaunchValue(steps=operands[0].steps)


def _splat(_: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue:
    return replace(operands[0], steps=(0,) * len(shape))


def _expand(text: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue | None:
    match = _RANGE["axis"].search(text)
    if match is None or not 0 <= int(match[1]) < len(shape):
        return None
    steps, axis = operands[0].steps, int(match[1])
    varying = frozenset((owner, dimension + (dimension >= axis)) for owner, dimension in operands[0].varying)
    return replace(operands[0], varying=varying, steps=(*steps[:axis], 0, *steps[axis:]))


def _ends(operands: _Operands) -> tuple[int, int, int, int] | None:
    """Return the ends of the ranges of two operands."""
    a, b = operands
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None
    return a.low, a.high, b.low, b.high


def _combined(operands: _Operands, ends: Sequence[int] | None, steps: tuple[int | None, ...]) -> LaunchValue:
    a, b = operands
    exact = a.exact and b.exact and not a.varying & b.varying
    low, high = (min(ends), max(ends)) if ends else (None, None)
    return LaunchValue(low, high, exact, a.varying | b.varying, steps, a.base or b.base)


def _sum(_: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue | None:
    if len(operands) != 2 or len(operands[0].steps) != len(operands[1].steps):
        return None
    ends = _ends(operands)
    pairs = zip(operands[0].steps, operands[1].steps, strict=True)
    steps = tuple(
        None if left_step is None or right_step is None else left_step + right_step
        for left_step, right_step in pairs
    )
    return _combined(operands, ends and (ends[0] + ends[2], ends[1] + ends[3]), steps)


def _difference(text: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue | None:
    if len(operands) != 2:
        return None
    subtrahend = operands[1]
    negated = replace(
        subtrahend,
        low=None if subtrahend.high is None else -subtrahend.high,
        high=None if subtrahend.low is None else -subtrahend.low,
        steps=tuple(None if step is None else -step for step in subtrahend.steps),
    )
    return _sum(text, shape, (operands[0], negated))


def _product(_: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue | None:
    if len(operands) != 2 or len(operands[0].steps) != len(operands[1].steps):
        return None
    a, b = operands
    if not a.uniform:
        a, b = b, a
    factor = a.single
    steps = tuple(
        0 if step == 0 and a.uniform else None if step is None or factor is None else step * factor
        for step in b.steps
    )
    ends = _ends(operands)
    products = ends and [left_end * right_end for left_end in ends[:2] for right_end in ends[2:]]
    return _combined(operands, products, steps)


def _division(_: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue | None:
    """Divide numbers that are not negative by a known positive one: others round differently."""
    ends, steps = _divided(operands)
    by = operands[1].single if len(operands) == 2 else None
    if ends is None or by is None or by <= 0 or ends[0] < 0:
        return LaunchValue(steps=steps)
    return replace(_combined(operands, (ends[0] // by, ends[1] // by), steps), varying=operands[0].varying)


def _remainder(_: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue | None:
    ends, steps = _divided(operands)
    by = operands[1].single if len(operands) == 2 else None
    if ends is None or by is None or by <= 0 or ends[0] < 0:
        return LaunchValue(steps=steps)
    if ends[0] // by == ends[1] // by:
        return replace(operands[0], low=ends[0] % by, high=ends[1] % by)
    return LaunchValue(0, by - 1, False, operands[0].varying, steps)


def _divided(operands: _Operands) -> tuple[tuple[int, int, int, int] | None, tuple[int | None, ...]]:
    if len(operands) != 2:
        return None, ()
    uniform = all(operand.uniform for operand in operands)
    return _ends(operands), tuple(0 if uniform else None for _ in operands[0].steps)


def _extreme(choose: Callable[[int, int], int]) -> _Rule:
    def rule(_: str, shape: tuple[int, ...], operands: _Operands) -> LaunchValue | None:
        ends, steps = _divided(operands)
        if ends is None:
            return LaunchValue(steps=steps)
        return _combined(operands, (choose(ends[0], ends[2]), choose(ends[1], ends[3])), steps)

    return rule


_RULES: Mapping[str, _Rule] = {
    "tt.splat": _splat,
    "tt.expand_dims": _expand,
    **dict.fromkeys(("tt.broadcast", "arith.extsi", "arith.index_cast"), _same),
    **dict.fromkeys(("arith.extui", "arith.index_castui", "arith.trunci"), _if_it_fits),
    **dict.fromkeys(("arith.addi", "tt.addptr"), _sum),
    "arith.subi": _difference,
    "arith.muli": _product,
    **dict.fromkeys(("arith.divsi", "arith.divui"), _division),
    **dict.fromkeys(("arith.remsi", "arith.remui"), _remainder),
    **dict.fromkeys(("arith.minsi", "arith.minui"), _extreme(min)),
    **dict.fromkeys(("arith.maxsi", "arith.maxui"), _extreme(max)),
}
