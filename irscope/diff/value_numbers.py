"""Value numbers: two operations of equal number compute the same value from the parameters of their kernel.

    left                                right
    %a = tt.splat %x   -> 1             %b = tt.splat %y   -> 2
    %b = tt.splat %y   -> 2             %a = tt.splat %x   -> 1

An operation is numbered by its normalized text and the numbers of its operands (value numbering as in
compilers, but over two modules). Texts and positions would match the first `tt.splat` with the first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from irscope.diff.def_use import Definition, Definitions, matched_parameters
from irscope.languages.document import Document, Operation

_DIGITS = re.compile(r"\d+")
_UNKNOWN = 0

Numbers = Sequence[int]


def value_numbers(
    left: Document, right: Document, defs: tuple[Definitions, Definitions], *, sizes: bool
) -> tuple[Numbers, Numbers]:
    """The number, from 1, of each operation of both documents; `defs` are the definitions of their operands.

    With `sizes`, numbers in the text count; without, `tensor<64xf32>` and `tensor<128xf32>` are the same.
    """
    numbering = _Numbering(sizes)
    parameters = _parameter_map(left, right)
    return numbering.numbers(left, defs[0], {}), numbering.numbers(right, defs[1], parameters)


class _Numbering:
    """The numbers so far, by what was numbered."""

    def __init__(self, sizes: bool) -> None:
        self._sizes = sizes
        self._numbers: dict[Hashable, int] = {}
        self._texts: dict[str, str] = {}

    def numbers(self, document: Document, defs: Definitions, parameters: Mapping[int, int]) -> Numbers:
        """The number of each operation; `parameters` maps the positions of the kernel's parameters."""
        own: list[int] = []
        values: dict[Definition, int] = {}
        for index, operation in enumerate(document.operations):
            operands = [values.get(one, _UNKNOWN) if one else _UNKNOWN for one in defs[index]]
            number = self._number(self._text(operation.normalized), *operands)
            own.append(number)
            values.update(self._defined(index, operation, number, operands, parameters))
        return own

    def _defined(
        self,
        index: int,
        operation: Operation,
        number: int,
        operands: Sequence[int],
        parameters: Mapping[int, int],
    ) -> dict[Definition, int]:
        """The numbers of the results of an operation and of the arguments of its regions."""
        if operation.opcode.endswith(".func"):
            return {
                Definition(index, True, position): self._number(
                    "parameter", parameters.get(position, position)
                )
                for position in range(len(operation.arguments))
            }
        if operation.opcode == "scf.for":
            return self._carried(index, operation, operands)
        results = {
            Definition(index, False, position): self._number("result", number, position)
            for position in range(len(operation.results))
        }
        arguments = {
            Definition(index, True, position): self._number("argument", number, position)
            for position in range(len(operation.arguments))
        }
        return results | arguments

    def _carried(self, index: int, operation: Operation, operands: Sequence[int]) -> dict[Definition, int]:
        """The numbers of a loop's induction variable and of the values that it carries.

        A carried value has the number of its initial value, so an edit in the body does not change it.
        """
        carried = len(operation.results)
        bounds, starts = operands[: len(operands) - carried], operands[len(operands) - carried :]
        loop, leading = self._number("loop", *bounds), len(operation.arguments) - carried
        found = {Definition(index, True, 0): self._number("index", loop)}
        seen: Counter[int] = Counter()
        for position, start in enumerate(starts):
            key = (loop, start, seen[start])
            found[Definition(index, True, leading + position)] = self._number("carried", *key)
            found[Definition(index, False, position)] = self._number("after", *key)
            seen[start] += 1
        return found

    def _text(self, normalized: str) -> str:
        if self._sizes:
            return normalized
        if normalized not in self._texts:
            self._texts[normalized] = _DIGITS.sub("", normalized)
        return self._texts[normalized]

    def _number(self, *key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)


def _parameter_map(left: Document, right: Document) -> dict[int, int]:
    """Right position -> left position of the kernel's parameters, by name if their number differs."""
    ours, theirs = _parameters(left), _parameters(right)
    if len(ours) == len(theirs):
        return {}
    unknown = {position: -1 - position for position in range(len(theirs))}
    return unknown | {j: i for i, j in matched_parameters(ours, theirs).items()}


def _parameters(document: Document) -> Sequence[str]:
    functions = (one for one in document.operations if one.opcode.endswith(".func"))
    first = next(functions, None)
    return first.arguments if first else ()
