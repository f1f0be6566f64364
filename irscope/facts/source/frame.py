"""Locates the functions of a variant's IR in the user's files.

The IR names a file and a line, but neither identifies the line of a function: Triton's cache returns the IR
of an identical kernel in another file, and decorators may have been added above it. So a line is identified
by its offset from the `def` that the IR itself locates, and shown as the line of the captured source:

    IR: tt.func @kernel at /tmp/copy.py:12, operation at /tmp/copy.py:15   ->   line 3 of `kernel`
    captured: `def kernel` at kernels.py:40                                ->   kernels.py:43
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from irscope.facts.source.tokens import def_index
from irscope.languages.document import Document, Location
from irscope.languages.mlir.locations import parse_location, resolve_aliases
from irscope.model import Kernel, SourceFunction
from irscope.model.records import frozen, grouped
from irscope.model.text import base_name

# The first line of a function, or its last one, which has its location.
_FUNCTION = re.compile(
    r'^  (?:tt\.func (?P<public>public )?[^@\n]{0,40}@(?P<symbol>"[^"\n]*"|[\w.$-]+)\('
    r"|\} loc\((?P<location>[^\n]*)\)$)",
    re.MULTILINE,
)
_ALIAS = re.compile(r"^(#loc\d*) = loc\(([^\n]*)\)$", re.MULTILINE)
_SUBPROGRAM = re.compile(
    r"^!\d+ = distinct !DISubprogram\([^\n]*\bfile: !(\d+), line: (\d{1,9})\b", re.MULTILINE
)
_FILE = r'^!{} = !DIFile\(filename: "([^"\n]*)"'
# Names of helpers with more double underscores are compared up to this many.
_MOST_PARTS = 8
# Functions of files with one name in different folders can overlap; at most this many are distinguished.
_MOST_FILES = 8
# The stages whose text locates functions. The front end's have the helpers too, which are inlined later.
LOCATING_STAGES = ("source", "glir", "ttir", "ttgir", "llir")


@frozen
class IrFunction:
    """A function of the IR and the place of its `def`; `column` is 0 or 1, depending on Triton's version."""

    symbol: str
    public: bool
    file: str
    line: int
    column: int


def ir_functions(text: str) -> list[IrFunction]:
    """Return the functions of an MLIR or LLVM IR text that have a location.

    Takes time linear in the text.
    """
    aliases = resolve_aliases(dict(_ALIAS.findall(text)))
    functions = []
    symbol, public = "", False
    for match in _FUNCTION.finditer(text):
        if match["symbol"]:
            symbol, public = match["symbol"].strip('"'), bool(match["public"])
        elif symbol and (location := parse_location(match["location"], aliases)) is not None:
            functions.append(IrFunction(symbol, public, location.file, location.line, location.column))
            symbol = ""
    return functions or list(_subprogram(text))


def _subprogram(text: str) -> Iterator[IrFunction]:
    match = _SUBPROGRAM.search(text)
    file = re.search(_FILE.format(match[1]), text, re.MULTILINE) if match else None
    if match and file:
        yield IrFunction("", True, file[1], int(match[2]), 1)


class _Span(NamedTuple):
    """The lines of a function in the IR's file, from its `def` to its end, and where they were captured."""

    file: str
    first: int
    length: int
    function: SourceFunction
    captured_first: int


class SourceFrame:
    """Moves locations from the IR's files and lines to those of the captured source."""

    def __init__(self, kernel: Kernel, functions: Sequence[IrFunction]) -> None:
        self._moved: dict[tuple[str, int], tuple[str, int]] = {}
        public = next((function for function in functions if function.public), None)
        self._column = min(public.column, 1) if public else 0
        self._spans = grouped(_spans(kernel, functions, public), lambda span: base_name(span.file))
        for spans in self._spans.values():
            spans.sort(key=lambda span: span.first)
        self._firsts = {name: [span.first for span in spans] for name, spans in self._spans.items()}

    def in_captured_source(self, document: Document) -> Document:
        """Return the document with the locations of the captured source; columns count from 0."""
        return document.relocated(self.move) if self._spans else document

    def move(self, location: Location) -> Location:
        """Return the captured file and line of a location, without its inlined-at chain.

        The column counts from 0. A line of a function that was not captured keeps its file and line.
        """
        key = location.file, location.line
        if key not in self._moved:
            self._moved[key] = self._place(*key)
        return Location(*self._moved[key], max(location.column - self._column, 0))

    def _place(self, file: str, line: int) -> tuple[str, int]:
        name = base_name(file)
        last = bisect_right(self._firsts.get(name, ()), line)
        near = self._spans.get(name, [])[max(0, last - _MOST_FILES) : last]
        around = [span for span in near if line < span.first + span.length]
        if not around:
            return file, line
        span = max(around, key=lambda span: _common_suffix(span.file, file))
        return span.function.file, span.captured_first + line - span.first


def _spans(kernel: Kernel, functions: Sequence[IrFunction], public: IrFunction | None) -> Iterator[_Span]:
    if kernel.source.text:
        yield _span(kernel.source, public)
    by_name: dict[str, list[IrFunction]] = {}
    for function in functions:
        if not function.public:
            for name in _possible_names(function.symbol):
                by_name.setdefault(name, []).append(function)
    for helper in kernel.helpers:
        if helper.text:
            nearest = _nearest(helper, by_name.get(helper.name, ()))
            yield _span(helper, nearest or _moved_with(kernel, helper, public))


def _possible_names(symbol: str) -> Iterator[str]:
    """Yield the helpers' names that a symbol can be made from: `module.a__b__fp32` -> a, a__b, ..."""
    parts = symbol.rpartition(".")[2].split("__")[:_MOST_PARTS]
    return ("__".join(parts[:size]) for size in range(1, len(parts) + 1))


def _nearest(helper: SourceFunction, functions: Sequence[IrFunction]) -> IrFunction | None:
    """Return the function of the IR that is nearest to where the helper was captured."""
    return max(
        functions,
        key=lambda each: (_common_suffix(each.file, helper.file), -abs(each.line - helper.line)),
        default=None,
    )


def _span(function: SourceFunction, found: IrFunction | None) -> _Span:
    """Return the lines of a captured function; as captured if the IR does not locate it."""
    lines = function.text.rstrip("\n").split("\n")
    offset = def_index(lines)
    captured = function.line + offset
    file, first = (found.file, found.line) if found else (function.file, captured)
    return _Span(file, first, len(lines) - offset, function, captured)


def _moved_with(kernel: Kernel, helper: SourceFunction, public: IrFunction | None) -> IrFunction | None:
    """Return the place of a helper in the kernel's file, if the IR does not locate the helper.

    Triton's cache key has the first line of each function, so the helper's line is the captured
    one.
    """
    if public is None or helper.file != kernel.source.file:
        return None
    line = helper.line + def_index(helper.text.split("\n"))
    return IrFunction("", False, public.file, line, public.column)


def _common_suffix(one: str, other: str) -> int:
    """Count the equal last parts of two paths."""
    parts = [path.replace("\\", "/").split("/")[::-1] for path in (one, other)]
    return next(
        (n for n, (ours, theirs) in enumerate(zip(*parts, strict=False)) if ours != theirs),
        min(map(len, parts)),
    )
