"""The first slides of a chapter: the kernel, what is fixed at compile time, its configs as table and bars."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence

from irscope.document.html.markup import Html, element, highlighted, table
from irscope.document.html.slides.pair import (
    Slide,
    bar,
    breakable,
    capitalized,
    code_lines,
    command,
    paragraph,
    term_notes,
)
from irscope.document.slide_content import Chapter
from irscope.model import SourceFunction, Variant
from irscope.model.text import pluralize
from irscope.workspace import FactColumn, TableSection
from irscope.workspace.variant_registers import CompileTimeInput

# The lines of code, rows and columns that can be read from the last row of a room.
_LINES, _CODE_SLIDES = 25, 3
_ROWS, _FACTS = 14, 6
_BARS = 3
_MOST_VALUES = 12
# Facts in the order of importance for a table or bars.
_SHOWN = (
    "ms", "estimate", "registers", "stack", "occupancy", "shared", "matrix", "limiter", "load_width",
    "global_loads", "pipeline_depth", "instructions",
)  # fmt: skip
_KINDS = {"constexpr": "Constants", "option": "Options", "argument": "Arguments"}


def kernel_slides(chapter: Chapter, path: str) -> Iterator[Slide]:
    """Yield the slides of a chapter's kernel; of a long one only the lines that findings name."""
    constants = {
        name
        for compile_input in chapter.inputs
        if compile_input.kind == "constexpr"
        for name in compile_input.names
    }
    named = {
        excerpt.number for pair in chapter.pairs for excerpt in pair.excerpts if excerpt.number is not None
    }
    yield from source_slides(chapter.shown.kernel.source, constants, named, f"irscope tui {path}")


def source_slides(
    source: SourceFunction, constants: Collection[str], named: Collection[int], live: str
) -> Iterator[Slide]:
    """Yield the Python of a kernel with its `constants` marked.

    Of a long kernel only its head and the lines around those in `named` are shown. `live` is the
    command that shows it.
    """
    lines = highlighted(textwrap.dedent(source.text).strip("\n").split("\n"), constants)
    numbered = [(source.line + index, line) for index, line in enumerate(lines)]
    parts = _parts(_shortened(numbered, named))
    for index, part in enumerate(parts, 1):
        title = f"The kernel: {source.name}" + (f" ({index} of {len(parts)})" if len(parts) > 1 else "")
        legend = paragraph(element("mark", "marked"), ": a constant when it is compiled", class_="legend")
        notes = [*term_notes("kernel", "constexpr"), command(live)]
        yield Slide(title, [code_lines(part), legend if constants else Html()], notes, "source")


_Line = tuple[int | None, str]


def _shortened(lines: Sequence[tuple[int, str]], named: Collection[int]) -> list[_Line]:
    """Return all lines, or the head of a long kernel and the lines in `named` with their neighbors."""
    if len(lines) <= _LINES * _CODE_SLIDES:
        return list(lines)
    shortened: list[_Line] = []
    omitted = 0
    for index, (number, text) in enumerate(lines):
        if index < _LINES or any(abs(number - line) <= _LINES // 3 for line in named):
            if omitted:
                shortened.append((None, f"... {pluralize(omitted, 'line')} ..."))
                omitted = 0
            shortened.append((number, text))
        else:
            omitted += 1
    return [*shortened, (None, f"... {pluralize(omitted, 'line')} ...")] if omitted else shortened


def _parts(lines: Sequence[_Line]) -> list[Sequence[_Line]]:
    """Return the lines of each slide, as many on each."""
    number = min(_CODE_SLIDES, -(-len(lines) // _LINES))
    size = -(-len(lines) // max(1, number))
    return [lines[start : start + size] for start in range(0, len(lines), size)]


def inputs_slide(chapter: Chapter, path: str) -> Slide:
    """Return the inputs that are fixed when the kernel is compiled, with their values in the capture."""
    rows = []
    for kind, title in _KINDS.items():
        inputs = [compile_input for compile_input in chapter.inputs if compile_input.kind == kind]
        for index, compile_input in enumerate(inputs):
            heading = [] if index else [element("th", title, scope="rowgroup", rowspan=len(inputs))]
            names = element("td", element("code", ", ".join(compile_input.names)))
            values = element("td", *_values(compile_input))
            rows.append(element("tr", *heading, names, values, class_=None if index else "first"))
    again = element("b", chapter.compiled)
    body = [
        element("table", *rows, class_="inputs"),
        paragraph("Another value in any row is another compilation. ", again, class_="point"),
    ]
    notes = [*term_notes("cache key", "specialization", "config"), command(f"irscope why {path}")]
    return Slide("Fixed when it is compiled", body, notes)


def _values(compile_input: CompileTimeInput) -> Iterator[str]:
    for value in compile_input.values[:_MOST_VALUES]:
        yield from (element("span", value, class_="value"), " ")
    if len(compile_input.values) > _MOST_VALUES:
        yield f" and {len(compile_input.values) - _MOST_VALUES} more"


def config_slides(chapter: Chapter, path: str) -> Iterator[Slide]:
    """Yield the configs as a table of the facts that vary, then as bars; none for a single variant."""
    if len(chapter.section.variants) < 2:
        return
    varying = {kind.name: kind for kind in chapter.section.varying_kinds(_SHOWN)}
    section = chapter.section.showing([varying[name] for name in _SHOWN if name in varying][:_FACTS])
    columns = section.fact_columns
    config_table = _ConfigTable(chapter, section)
    notes = [*term_notes(*(column.name for column in columns)), command(f"irscope table {path}")]
    title = f"{pluralize(len(section.variants), 'config')}, {section.target}"
    yield Slide(title, config_table.facts(), notes, "configs")
    numbers = [c for c in columns if c.numeric and len({*c.values(section.variants)}) > 1][:_BARS]
    if numbers:
        titles = ", ".join(capitalized(column.kind.subject) for column in numbers)
        yield Slide(titles, config_table.bars(numbers), notes, "bars")


class _ConfigTable:
    """The configs of a chapter that fit on a slide, those of A and B and the first others, as tables."""

    def __init__(self, chapter: Chapter, section: TableSection) -> None:
        self._section, self._letters = section, chapter.compared
        others = [variant.id for variant in section.variants if variant.id not in self._letters]
        room = _ROWS - (len(section.variants) - len(others))
        left_out = set(others[max(0, room) :])
        self._variants = [variant for variant in section.variants if variant.id not in left_out]

    def facts(self) -> list[Html]:
        """Return the table of the facts, the best marked, and what is left out."""
        notes = list(map(self._section.note, self._variants))
        columns = self._section.fact_columns
        titles: list[tuple[str, str | None]] = [(c.kind.heading, _class(c)) for c in columns]
        rows = [[self._fact(column, variant) for column in columns] for variant in self._variants]
        if any(notes):
            titles.append(("", None))
            rows = [[*row, element("td", note, class_="bad")] for row, note in zip(rows, notes, strict=True)]
        return self._table(titles, rows, "facts")

    def bars(self, columns: Sequence[FactColumn]) -> list[Html]:
        """Return the table of the facts as bars, and what is left out."""
        most = [max(map(_number, column.values(self._section.variants))) for column in columns]
        rows = [
            [self._bar(column, top, variant) for column, top in zip(columns, most, strict=True)]
            for variant in self._variants
        ]
        return self._table([(column.kind.heading, "wide") for column in columns], rows)

    def _fact(self, column: FactColumn, variant: Variant) -> Html:
        cell = self._section.cell(column, variant)
        star = element("b", "*", title="best among the variants that can launch") if cell.best else Html()
        return element("td", cell.text, star, class_=_class(column))

    def _bar(self, column: FactColumn, top: float, variant: Variant) -> Html:
        cell, letter = self._section.cell(column, variant), self._letters.get(variant.id, "").lower()
        reading = element("span", cell.text, class_="reading")
        return element("td", reading, bar(_number(cell.value) / top if top else 0.0, letter), class_="wide")

    def _table(
        self,
        titles: Sequence[tuple[str, str | None]],
        rows: Sequence[Sequence[Html]],
        class_: str | None = None,
    ) -> list[Html]:
        """Return a row per variant: what identifies it, then its cells under `titles`, with classes."""
        section = self._section
        names = [column.name for column in section.configs] if section.identified else ["variant"]
        heading = [
            element("th", "#", scope="col"),
            *(element("th", breakable(name), scope="col", class_="number") for name in names),
            *(element("th", title, scope="col", class_=kind) for title, kind in titles),
        ]
        html = []
        for variant, cells in zip(self._variants, rows, strict=True):
            letter = self._letters.get(variant.id, "").lower()
            state = f"row-{letter}" if letter else "problem" if section.facts.problem(variant) else None
            html.append(element("tr", *self._identity(variant), *cells, class_=state))
        omitted = len(section.variants) - len(self._variants)
        more = [paragraph(f"{omitted:,} more are not shown.", class_="quiet")] if omitted else []
        return [element("div", table(heading, html, class_), class_="scroll"), *more]

    def _identity(self, variant: Variant) -> list[Html]:
        """Return the cells that identify a variant: its letter, its number, and its config values."""
        section, letter = self._section, self._letters.get(variant.id, "")
        mark = element("b", letter, class_=f"letter {letter.lower()}") if letter else Html()
        texts = [section.cell(column, variant).text for column in section.configs]
        texts = texts if section.identified else [section.names[variant.id]]
        return [
            element("th", mark, f" #{variant.id}", scope="row"),
            *(element("td", text, class_="number") for text in texts),
        ]


def _class(column: FactColumn) -> str:
    return "number" if column.numeric else "words"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
