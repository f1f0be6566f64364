"""The comparison table on a terminal: as many columns as fit, and a word on those that do not.

Laid out here and not by rich.table, which takes 4 ms a row: 4 s for 1,000 variants instead of 0.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len

from irscope.analysis.stage_reuse import sharing
from irscope.facts.fact import FactKind
from irscope.model import format_value
from irscope.model.text import one_line
from irscope.report.terminal.paint import Paint
from irscope.workspace.table import BOUND, TableEntry, TableSection, best, config_names, named_apart

_GAP = "  "
BEST = "*"
UNKNOWN = "?"
NONE = "-"


@dataclass(frozen=True)
class _Column:
    """A column as text: heading (may have lines), one cell an entry, its kind if it is a fact.

    `best` are the indexes of the cells that are marked.
    """

    heading: str
    cells: tuple[str, ...]
    kind: FactKind | None = None
    right: bool = True
    best: frozenset[int] = frozenset()

    @cached_property
    def width(self) -> int:
        """In terminal columns."""
        return max(map(cell_len, [*self.headings, *self.cells]))

    @property
    def headings(self) -> list[str]:
        """The heading's lines."""
        return self.heading.split("\n")

    def padded(self, text: str) -> str:
        """`text` as wide as the column."""
        blanks = " " * (self.width - cell_len(text))
        return blanks + text if self.right else text + blanks


def table_text(
    section: TableSection,
    kinds: Sequence[FactKind],
    width: int | None,
    paint: Paint,
) -> str:
    """A section as text, `width` columns wide (None: everything).

    Facts are dropped from the end of `kinds` until the rest fits.
    """
    lead = list(_lead_columns(section))
    facts = [_fact_column(section, kind) for kind in kinds]
    notes = _Column("note", tuple(_note(entry) for entry in section.entries), right=False)
    tail = [notes] if any(notes.cells) else []
    shown = facts if width is None else _fitting(lead, facts, tail, width)
    lines = [paint(one_line(section.title), "heading")]
    lines += _lines([*lead, *shown, *tail], section, paint)
    lines += _footnotes(section, facts, shown)
    return "\n".join(lines) + "\n"


def _lead_columns(section: TableSection) -> Iterator[_Column]:
    entries = section.entries
    yield _Column("#", tuple(f"#{entry.variant.id}" for entry in entries))
    if not named_apart(section):
        yield _Column("variant", tuple(one_line(entry.name) for entry in entries), right=False)
        return
    for name in config_names(section):
        configs = [dict(entry.variant.config.values) for entry in entries]
        cells = tuple(one_line(format_value(c[name])) if name in c else NONE for c in configs)
        yield _Column(one_line(name).replace("_", "_\n"), cells)


def _fact_column(section: TableSection, kind: FactKind) -> _Column:
    top = best(section, kind)
    marked = frozenset(
        index
        for index, entry in enumerate(section.entries)
        if top is not None and not entry.problem and entry.value(kind.name) == top
    )
    cells = [_fact_cell(entry, kind) for entry in section.entries]
    if marked:  # room for the mark on every number, so that digits stand below each other
        cells = [f"{cell}{BEST if index in marked else ' '}" for index, cell in enumerate(cells)]
    right = not any(isinstance(entry.value(kind.name), str) for entry in section.entries)
    return _Column(kind.title.replace(" ", "\n"), tuple(cells), kind, right, marked)


def _fact_cell(entry: TableEntry, kind: FactKind) -> str:
    if entry.value(kind.name) is None:
        return NONE if entry.variant.failure else UNKNOWN
    return one_line(str(entry.facts[kind.name]))


def _fitting(
    lead: Sequence[_Column],
    facts: Sequence[_Column],
    tail: Sequence[_Column],
    width: int,
) -> list[_Column]:
    """What of `facts` fits, in their order: the last goes first, at first of those that tell nothing apart.

    What is BOUND stays or goes together.
    """
    kept = list(facts)
    while kept and sum(c.width + len(_GAP) for c in [*lead, *kept, *tail]) - len(_GAP) > width:
        telling_nothing = [c for c in kept if len(set(c.cells)) == 1 and not _bound(c)]
        gone = (telling_nothing or kept)[-1]
        kept = [c for c in kept if c is not gone and not (_bound(gone) and _bound(c))]
    return kept


def _bound(column: _Column) -> bool:
    return column.kind is not None and column.kind.name in BOUND


def _lines(columns: Sequence[_Column], section: TableSection, paint: Paint) -> Iterator[str]:
    """Headings (their last lines level), a rule, and a line for each entry."""
    height = max(len(column.headings) for column in columns)
    for line in range(height):
        above = [
            ["", *column.headings][max(0, 1 + line - height + len(column.headings))] for column in columns
        ]
        yield _GAP.join(column.padded(text) for column, text in zip(columns, above, strict=True)).rstrip()
    yield "\u2500" * (sum(column.width + len(_GAP) for column in columns) - len(_GAP))
    for index, entry in enumerate(section.entries):
        dim = "dim" if entry.problem else ""
        cells = (
            paint(column.padded(column.cells[index]), "best" if index in column.best else dim)
            for column in columns
        )
        yield _GAP.join(cells).rstrip()


def _note(entry: TableEntry) -> str:
    if entry.variant.failure:
        return "failed"
    if entry.problem:
        return "no launch"
    return f"= #{entry.twin}" if entry.twin is not None else ""


def _footnotes(section: TableSection, facts: Sequence[_Column], shown: Sequence[_Column]) -> Iterator[str]:
    if any(column.best for column in shown):
        yield f"{BEST} best of those that can launch"
    for entry in section.entries:
        if entry.problem:
            yield one_line(f"#{entry.variant.id} {entry.problem}")
    twins = sum(entry.twin is not None and not entry.problem for entry in section.entries)
    if twins:
        of = f"{twins} of {len(section.entries)}"
        yield f"= the machine code of that variant: {of} are nothing new for autotune to measure"
        yield from _sharing(section)
    if dropped := [column.kind.name for column in facts if column not in shown and column.kind]:
        some = ", ".join(dropped[:3]) + (f" and {len(dropped) - 3} more" if len(dropped) > 3 else "")
        yield f"left out for width: {some}"
        yield "(a wider terminal, a pipe or --columns shows them)"


def _sharing(section: TableSection) -> Iterator[str]:
    """What compiling those with equal TTGIR once saved."""
    entries = section.entries
    variants = [entry.variant for entry in entries]
    shared = sharing(variants, {entry.variant.id: entry.facts for entry in entries})
    if shared.variants:
        count = len(shared.variants)
        text = f"{count} of them took the stages below TTGIR from the one with equal TTGIR"
        saved = (
            "" if shared.seconds is None else f": about {shared.seconds:.2g} s saved, by what it took there"
        )
        yield text + saved
