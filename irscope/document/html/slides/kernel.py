"""The first slides of a chapter: the kernel, what is fixed at compile time, its configs as table and bars."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

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
from irscope.model import SourceFunction
from irscope.model.text import pluralize
from irscope.workspace import FactColumn, TableView
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
    if len(chapter.section.entries) < 2:
        return
    view = TableView.of_section(chapter.section)
    columns = _columns(view)
    order = _order(chapter)
    words = [column.kind.name for column in columns]
    notes = [*term_notes(*words), command(f"irscope table {path}")]
    yield Slide(
        f"{pluralize(len(view.entries), 'config')}, {chapter.section.target}",
        [_facts(chapter, view, columns, order), *_left_out(view, order)],
        notes,
        "configs",
    )
    drawn = [
        column for column in columns if column.numeric and len({cell.value for cell in column.cells}) > 1
    ]
    drawn = drawn[:_BARS]
    if drawn:
        titles = ", ".join(_label(column) for column in drawn)
        yield Slide(titles, [_bars(chapter, view, drawn, order), *_left_out(view, order)], notes, "bars")


def _columns(view: TableView) -> list[FactColumn]:
    """Return the most important facts that vary."""
    kinds = view.section.varying_kinds([column.kind for column in view.facts if not column.kind.minor])
    by_name = {column.kind.name: column for column in view.facts if column.kind in kinds}
    return [by_name[name] for name in _SHOWN if name in by_name][:_FACTS]


def _order(chapter: Chapter) -> list[int]:
    """Return the indices of the rows that fit, in the order of the table.

    They are those of A and B and the first others.
    """
    entries, compared = chapter.section.entries, chapter.compared
    compared_rows = [index for index, entry in enumerate(entries) if entry.variant.id in compared]
    rest = [index for index, entry in enumerate(entries) if entry.variant.id not in compared]
    return sorted((*compared_rows, *rest[: max(0, _ROWS - len(compared_rows))]))


def _left_out(view: TableView, order: Sequence[int]) -> list[Html]:
    if len(order) == len(view.entries):
        return []
    return [paragraph(f"{len(view.entries) - len(order):,} more are not shown.", class_="quiet")]


def _label(column: FactColumn) -> str:
    return capitalized(column.kind.subject)


def _identity(chapter: Chapter, view: TableView, index: int) -> list[Html]:
    """Return the cells that identify a variant.

    They are its letter if it is compared, its number, and its config values.
    """
    entry = view.entries[index]
    letter = chapter.compared.get(entry.variant.id, "")
    mark = element("b", letter, class_=f"letter {letter.lower()}") if letter else Html()
    texts = [column.cells[index].text for column in view.configs] if view.identified else [entry.name]
    return [
        element("th", mark, f" #{entry.variant.id}", scope="row"),
        *(element("td", text, class_="number") for text in texts),
    ]


def _config_table(
    chapter: Chapter,
    view: TableView,
    order: Sequence[int],
    titles: Iterable[tuple[str, str | None]],
    cells: Callable[[int], Iterable[Html]],
    class_: str | None = None,
) -> Html:
    """Return a row per variant in `order`: what identifies it, then `cells` under `titles`, with classes."""
    names = [column.name for column in view.configs] if view.identified else ["variant"]
    heading = [
        element("th", "#", scope="col"),
        *(element("th", breakable(name), scope="col", class_="number") for name in names),
        *(element("th", title, scope="col", class_=kind) for title, kind in titles),
    ]
    rows = []
    for index in order:
        entry = view.entries[index]
        letter = chapter.compared.get(entry.variant.id, "").lower()
        state = f"row-{letter}" if letter else "problem" if entry.problem else None
        rows.append(element("tr", *_identity(chapter, view, index), *cells(index), class_=state))
    return element("div", table(heading, rows, class_), class_="scroll")


def _facts(chapter: Chapter, view: TableView, columns: Sequence[FactColumn], order: Sequence[int]) -> Html:
    noted = any(view.entries[index].note for index in order)
    titles: list[tuple[str, str | None]] = [(column.kind.heading, _class(column)) for column in columns]

    def cells(index: int) -> Iterator[Html]:
        yield from (_cell(column, index) for column in columns)
        if noted:
            yield element("td", view.entries[index].note, class_="bad")

    return _config_table(chapter, view, order, [*titles, ("", None)] if noted else titles, cells, "facts")


def _class(column: FactColumn) -> str:
    return "number" if column.numeric else "words"


def _cell(column: FactColumn, index: int) -> Html:
    cell = column.cells[index]
    star = element("b", "*", title="best among the variants that can launch") if cell.best else Html()
    return element("td", cell.text, star, class_=_class(column))


def _bars(chapter: Chapter, view: TableView, columns: Sequence[FactColumn], order: Sequence[int]) -> Html:
    most = [max((_number(cell.value) for cell in column.cells), default=0.0) for column in columns]

    def cells(index: int) -> Iterator[Html]:
        letter = chapter.compared.get(view.entries[index].variant.id, "").lower()
        for column, top in zip(columns, most, strict=True):
            cell = column.cells[index]
            reading = element("span", cell.text, class_="reading")
            yield element(
                "td", reading, bar(_number(cell.value) / top if top else 0.0, letter), class_="wide"
            )

    return _config_table(chapter, view, order, [(c.kind.heading, "wide") for c in columns], cells)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
