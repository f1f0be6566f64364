"""Maps the lines of a stage to the lines of Python they come from, and back.

Corrects the source lines of SASS by the PTX lines that its instructions were assembled from.

LLVM counts the lines of inline assembly on from the source line (Triton 3.8 and later); ptxas copies that:

    line 13: tl.load      .loc 1 17 15; ld.global.v4.b32      //## File "kernel.py", line 17; LDG.E.128

The parser of PTX takes such lines back. The line table of the cubin has the PTX line of each instruction of
SASS, so the location of that PTX instruction is the right one.

The user's line that a line of generated Triton came from, as Helion's comments say.

# src[matmul.py:14]: acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])
load = tl.load(x + (indices_0[:, None] * 1024 + indices_2[None, :] * 1), None)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from irscope.languages.document import OPAQUE, Document, Location, Operation, inlining_chain
from irscope.languages.language import Language
from irscope.model import Kernel, SourceFunction
from irscope.model.origin import Origin
from irscope.model.records import frozen
from irscope.model.text import base_name, one_line


class SourcePlace(NamedTuple):
    """A line of the captured source: its file, and its number from 1.

    In a comparison, the lines of A are given as the lines of B that they match (see `line_map`); `removed`
    marks one that B does not have, which is A's own.
    """

    file: str
    line: int
    removed: bool = False

    @property
    def file_name(self) -> str:
        """Return the file without its folder."""
        return base_name(self.file)


def place_of(location: Location) -> SourcePlace:
    """Return the place of a location itself, before inlining."""
    return SourcePlace(location.file, location.line, location.removed)


def kernel_place(location: Location | None) -> SourcePlace | None:
    """Return the place in the kernel itself, or None if it is unknown.

    It is the place of the outermost call if the location is inlined.
    """
    return None if location is None else place_of(location.outermost)


class SourceMap:
    """The operations of one stage by the Python lines they come from.

    An operation of an inlined helper belongs to the helper's line and to each line of the call chain.
    """

    def __init__(self, document: Document) -> None:
        self._language = Language.named(document.language)
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._chains: list[tuple[SourcePlace, ...]] = []
        self._parents: list[int] = []
        self._at: dict[SourcePlace, list[int]] = defaultdict(list)
        self._opcodes: list[str] = []
        chains: dict[Location | None, tuple[SourcePlace, ...]] = {None: ()}
        for index, operation in enumerate(document.operations):
            location = operation.location
            if location not in chains:
                chains[location] = tuple(dict.fromkeys(map(place_of, inlining_chain(location))))
            self._starts.append(operation.line)
            self._ends.append(operation.end)
            self._parents.append(operation.parent)
            self._opcodes.append(operation.opcode)
            self._chains.append(chains[location])
            for source_place in chains[location]:
                self._at[source_place].append(index)

    def __len__(self) -> int:
        return len(self._starts)

    def of_line(self, line: int) -> tuple[SourcePlace, ...]:
        """Return the places that a line (from 0) comes from.

        The innermost helper is first, the kernel's own line last. A line on which no operation starts
        belongs to the operation around it.
        """
        index = bisect_right(self._starts, line) - 1
        while index >= 0 and self._ends[index] <= line:
            index = self._parents[index]
        return self._chains[index] if index >= 0 else ()

    def lines(self, place: SourcePlace) -> Sequence[int]:
        """Return the lines (from 0) of the operations that come from `place`, in order."""
        return [self._starts[index] for index in self._at.get(place, ())]

    def count(self, place: SourcePlace) -> int:
        """Count the operations that come from `place`."""
        return len(self._at.get(place, ()))

    def counts(self, place: SourcePlace) -> Counter[str]:
        """Count the operations or instructions of each class that come from `place`."""
        counts = Counter[str]()
        for opcode, number in Counter(map(self._opcodes.__getitem__, self._at.get(place, ()))).items():
            if opcode != OPAQUE:
                counts[self._language.instruction_class(opcode)] += number
        return counts


@frozen
class PythonLine:
    """A line of a kernel's Python: its text, number and place in its file; 0 and None for a heading.

    `library`: it is in a function of Triton's own library, such as `tl.cdiv`.
    """

    text: str
    number: int = 0
    place: SourcePlace | None = None
    library: bool = False


def python_lines(kernel: Kernel) -> list[PythonLine]:
    """Return the source of a kernel, of its own helpers, then of Triton's, each after a file comment."""
    own_lines = [line for function in kernel.own_functions for line in _function_lines(function, False)]
    return own_lines + [
        line for function in kernel.library_functions for line in _function_lines(function, True)
    ]


def _function_lines(function: SourceFunction, library: bool) -> Iterator[PythonLine]:
    yield PythonLine(f"# {function.file}", library=library)
    for number, text in enumerate(function.text.rstrip("\n").split("\n"), function.line):
        yield PythonLine(text, number, place_of(Location(function.file, number)), library)
    yield PythonLine("", library=library)


def origin_lines(origin: Origin) -> list[PythonLine]:
    """Return the origin as a comment, then the lines of the program that the kernel was made from."""
    lines = [PythonLine(f"# {one_line(origin.sentence)}")]
    for file, group in groupby(origin.lines, key=lambda line: line.file):
        lines.append(PythonLine(f"# {file}"))
        lines += [PythonLine(one_line(n.text), n.line, SourcePlace(n.file, n.line)) for n in group]
    return [*lines, PythonLine("")]


_ADDRESS = re.compile(r"\s*/\*([0-9a-f]+)\*/")


def in_lines_of_ptx(sass: Document, ptx: Document, table: Sequence[tuple[int, int]]) -> Document:
    """Return the SASS with the locations of the PTX that its instructions were assembled from.

    `table` has the PTX line (from 1) from each address on, as `ptx_line_table` returns it. An
    instruction whose PTX has no location has none: nvdisasm prints the one before it. In a text
    with several sections of code, addresses are ambiguous, and all keep their own.
    """
    if not table or len(sass.functions) != 1:
        return sass
    addresses = [address for address, _ in table]
    locations = {operation.line: operation.location for operation in ptx.operations}

    def relocated(operation: Operation) -> Operation:
        match = _ADDRESS.match(sass.lines[operation.line])
        row = bisect_right(addresses, int(match[1], 16)) - 1 if match else -1
        return replace(operation, location=locations.get(table[row][1] - 1)) if row >= 0 else operation

    return replace(sass, operations=[relocated(operation) for operation in sass.operations])


# One per line of the user's statement, up to three (helion/_compiler/ast_extension.py).
_COMMENT = re.compile(r"\s*# src\[(?P<place>[^\]\n]{1,200}:\d{1,9})\]: (?P<code>.*)")


def user_line(lines: Sequence[str], index: int) -> str:
    """Return the user's line for the line at `index` (from 0) of a generated function.

    For example "matmul.py:14: acc = ..."; "" if no comment above it says so.
    """
    above = range(min(index, len(lines) - 1), -1, -1)
    last = next((i for i in above if _COMMENT.match(lines[i])), None)
    if last is None:
        return ""
    while last and _COMMENT.match(lines[last - 1]):
        last -= 1
    match = _COMMENT.match(lines[last])
    return f"{match['place']}: {match['code'].strip()}" if match else ""
