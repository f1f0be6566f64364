"""Axis info of every value of a TTIR module: a forward data-flow analysis, with fixed points for loops."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from irscope.diff.def_use import Definition, definitions
from irscope.facts.accesses.axis_info import AxisInfo, scalar, transfer, unknown
from irscope.languages.document import Document, Operation

# The divisibility that the JIT detects in an argument that it specializes: `tt.divisibility = 16`.
ALIGNED = 16
# Each iteration lowers a gcd, so a few are enough; if not, loop-carried values are unknown.
_MAX_ITERATIONS = 10
_DIVISIBILITY = re.compile(r"tt\.divisibility = (\d{1,9})\b")
_TYPE = re.compile(r": (!tt\.ptr|i\d+\b)?")
# Operands before the loop-carried ones in `scf.for %i = %from to %to step %by iter_args(%x = %first, ...)`.
_BOUNDS = 3

_Infos = dict[Definition, AxisInfo]
# The parameters that are taken to be divisible by 16, and the one that is taken to be 1.
_Assumed = tuple[frozenset[Definition], Definition | None]


class ParameterAxis(NamedTuple):
    """A parameter of a function in TTIR: its name, kind and known divisibility."""

    name: str
    pointer: bool
    integer: bool
    divisibility: int


class AxisFlow:
    """The axis info of a TTIR document, as it is or as if more parameters were aligned."""

    def __init__(self, ttir: Document) -> None:
        self.document = ttir
        self.operations = ttir.operations
        self.sources = definitions(ttir)
        self._lines = ttir.lines
        self._known: dict[_Assumed, Mapping[Definition, AxisInfo]] = {}

    @cached_property
    def parameters(self) -> Mapping[Definition, ParameterAxis]:
        """Return the parameters of all functions."""
        by_definition: dict[Definition, ParameterAxis] = {}
        for index, operation in enumerate(self.operations):
            if operation.opcode == "tt.func":
                read = _parameters(operation, self._lines[operation.line])
                by_definition.update(
                    {Definition(index, True, position): parameter for position, parameter in enumerate(read)}
                )
        return by_definition

    def infos(
        self, aligned: frozenset[Definition] = frozenset(), one: Definition | None = None
    ) -> Mapping[Definition, AxisInfo]:
        """Return the axis info by value; values without one are unknown.

        It is as if the parameters `aligned` were divisible by 16, and as if the parameter `one` were 1.
        """
        if (aligned, one) not in self._known:
            self._known[aligned, one] = self._flow(aligned, one)
        return self._known[aligned, one]

    def origins(self, value: Definition, pointer: bool = False) -> frozenset[Definition]:
        """Return the parameters that a value depends on; `pointer`: only those a pointer points into."""
        met, pending = {value}, [value]
        while pending:
            current = pending.pop()
            opcode = self.operations[current.owner].opcode
            if pointer and opcode == "tt.load":
                continue
            before = self._leading_to(current)
            for source in before[:1] if pointer and opcode == "tt.addptr" else before:
                if source is not None and source not in met:
                    met.add(source)
                    pending.append(source)
        return frozenset(met & self.parameters.keys())

    def _leading_to(self, value: Definition) -> tuple[Definition | None, ...]:
        """Return the values that a value is computed from; for a loop-carried value, its initial value."""
        before = tuple(self.sources[value.owner])
        if self.operations[value.owner].opcode != "scf.for":
            return before
        carried = value.position - value.argument
        return before[:_BOUNDS] if carried < 0 else before[_BOUNDS + carried : _BOUNDS + carried + 1]

    def _flow(self, aligned: frozenset[Definition], one: Definition | None) -> Mapping[Definition, AxisInfo]:
        parameter_infos = {
            value: scalar(ALIGNED if value in aligned else parameter.divisibility)
            for value, parameter in self.parameters.items()
        }
        if one is not None:
            parameter_infos[one] = AxisInfo(scalar(1).axes, constant=1)
        carried: _Infos = {}  # loop-carried values, as far as the iterations so far know them
        infos: _Infos = {}
        for number in range(_MAX_ITERATIONS):
            before = dict(carried)
            infos = dict(parameter_infos)
            for index in range(len(self.operations)):
                self._step(index, infos, carried)
            if carried == before:
                break
            if number == _MAX_ITERATIONS - 2:
                carried |= {value: unknown(info.shape) for value, info in carried.items()}
        return infos

    def _step(self, index: int, infos: _Infos, carried: _Infos) -> None:
        operation = self.operations[index]
        operands = [None if source is None else infos.get(source) for source in self.sources[index]]
        if operation.opcode == "scf.for":
            _enter_loop(index, operation, operands, infos, carried)
        elif operation.opcode == "scf.yield" and operation.parent >= 0:
            self._yield(operation.parent, operands, infos, carried)
        elif len(operation.results) == 1 and not operation.opcode.startswith("scf."):
            text = operation.normalized.partition(" = ")[2]
            infos[Definition(index, False, 0)] = transfer(operation.opcode, text, operands)

    def _yield(self, owner: int, operands: list[AxisInfo | None], infos: _Infos, carried: _Infos) -> None:
        """Propagate values to the head and the results of a loop, or to the results of an `scf.if`."""
        opcode = self.operations[owner].opcode
        for number, info in enumerate(operands):
            result = Definition(owner, False, number)
            if opcode == "scf.for":
                argument = Definition(owner, True, number + 1)
                start = carried.get(argument)
                if start is not None:
                    carried[argument] = infos[result] = start.join(info or unknown(start.shape))
            elif opcode == "scf.if":
                yielded = info or unknown((1,))
                infos[result] = infos[result].join(yielded) if result in infos else yielded


def _enter_loop(
    index: int, loop: Operation, operands: list[AxisInfo | None], infos: _Infos, carried: _Infos
) -> None:
    """Initialize the loop's counter and carried values, joined with what earlier iterations found."""
    first, step = (operands[0], operands[2]) if len(operands) >= _BOUNDS else (None, None)
    if loop.arguments and first and step:
        infos[Definition(index, True, 0)] = scalar(first.join(step).axes[0].divisibility)
    for number, info in enumerate(operands[_BOUNDS:], 1):
        argument = Definition(index, True, number)
        if info is not None:
            infos[argument] = carried[argument] = info.join(carried.get(argument, info))


def _parameters(function: Operation, header: str) -> list[ParameterAxis]:
    """Parse the parameters of a `tt.func` from its line: `%n: i32 {tt.divisibility = 16 : i32} ...`."""
    starts = []
    position = 0
    for name in function.arguments:
        position = header.find(f"{name}:", position)
        if position < 0:
            break
        position += len(name)
        starts.append(position)
    parameters = []
    for name, start, end in zip(function.arguments, starts, [*starts[1:], len(header)], strict=False):
        text = header[start:end]
        kind, divisor = _TYPE.match(text), _DIVISIBILITY.search(text)
        word = (kind and kind[1]) or ""
        divisibility = int(divisor[1]) if divisor else 1
        parameters.append(
            ParameterAxis(name.lstrip("%"), word == "!tt.ptr", word.startswith("i"), divisibility)
        )
    return parameters
