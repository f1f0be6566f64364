"""The facts of a section's variants as a table: read as it stands, sorted and filtered by the script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.facts.fact import FactKind, FactValue
from irscope.model import Value, format_value
from irscope.model.text import pluralize
from irscope.report.html.markup import Html, element, joined
from irscope.workspace.table import (
    TableEntry,
    TableSection,
    best,
    config_names,
    default_kinds,
    minor,
    named_apart,
    telling_kinds,
)

# Shades between the best value of a column and the worst; the style sheet has a class for each.
_SHADES = 6
# A best value that more than one in so many have does not stand out.
_FEW = 4


def variant_anchor(variant: int) -> str:
    """The id of a variant's row."""
    return f"v{variant}"


def facts_table(section: TableSection, pairs: Mapping[int, Sequence[int]]) -> Html:
    """The table, then what is the same in all of its rows, and what is to be known of them.

    `pairs` says by variant id in which pairs of the report (from 1) it is.
    """
    kinds = default_kinds(section)
    telling = telling_kinds(section, kinds)
    columns = [_column(section, kind) for kind in telling]
    configs = config_names(section) if named_apart(section) else []
    heading = [
        _heading("#", "number in the capture"),
        *(_heading(name, f"value of {name}") for name in configs or ["variant"]),
        _heading("note", "problems, identical machine code, pairs of this report", "note"),
        *(_heading(c.kind.title, _description(c.kind), c.classes) for c in columns),
    ]
    rows = [_row(entry, configs, columns, pairs.get(entry.variant.id, ())) for entry in _grouped(section)]
    return joined(
        [
            _tools(section, any(minor(column.kind) for column in columns)),
            element(
                "div",
                element(
                    "table",
                    element("thead", element("tr", *heading)),
                    element("tbody", *rows),
                    class_="facts",
                ),
                class_="scroll",
                tabindex=0,
                role="region",
                aria_label=f"Facts of {section.title}",
            ),
            _same(section, [kind for kind in kinds if kind not in telling]),
            _identical(section),
            _problems(section),
        ]
    )


@dataclass(frozen=True)
class _Column:
    """A fact of all entries.

    `top` is the best value (None: none is), `marked` whether it is to stand out.
    """

    kind: FactKind
    words: bool
    top: FactValue
    marked: bool

    @property
    def classes(self) -> str:
        """The classes of its cells."""
        return ("words" if self.words else "number") + (" minor" if minor(self.kind) else "")


def _column(section: TableSection, kind: FactKind) -> _Column:
    values = [entry.value(kind.name) for entry in section.entries if not entry.problem]
    words = any(isinstance(entry.value(kind.name), str) for entry in section.entries)
    top = best(section, kind)
    return _Column(kind, words, top, values.count(top) <= max(1, len(values) // _FEW))


def _description(kind: FactKind) -> str:
    return f"{kind.description} ({kind.unit})" if kind.unit else kind.description


def _heading(title: str, description: str, classes: str = "number") -> Html:
    # Without the script it is a word; the script makes it a button that sorts.
    return element("th", title, scope="col", class_=classes, title=description)


def _row(entry: TableEntry, configs: Sequence[str], columns: Sequence[_Column], pairs: Sequence[int]) -> Html:
    number = f"#{entry.variant.id}"
    values = dict(entry.variant.config.values)
    lead = [_config(values.get(name), name in values) for name in configs] or [element("td", entry.name)]
    state = "problem" if entry.problem else "twin" if entry.twin else None
    return element(
        "tr",
        element("th", number, scope="row", data_v=entry.variant.id),
        *lead,
        element("td", *_note(entry, pairs), class_="note"),
        *(_cell(entry, column) for column in columns),
        id=variant_anchor(entry.variant.id),
        class_=state,
        data_name=entry.name,
    )


def _config(value: Value, known: bool) -> Html:
    sort = float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    return element("td", format_value(value) if known else "", class_="number", data_v=sort)


def _cell(entry: TableEntry, column: _Column) -> Html:
    """A fact of an entry; the best is marked, and the farther from it the deeper the shade."""
    value = entry.value(column.kind.name)
    if value is None:
        return element("td", "" if entry.variant.failure else "?", class_=f"{column.classes} unknown")
    number = value if isinstance(value, int | float) else None
    shade, mark = "", Html()
    if isinstance(column.top, int | float) and number is not None and not entry.problem:
        away = abs(number - float(column.top))
        # By the share of the larger of the two: half as good is half of the shades away.
        share = away / max(abs(number), abs(float(column.top))) if away else 0
        shade = f" heat{math.ceil(min(share, 1) * _SHADES)}" if away else ""
        if not away and column.marked:
            shade, mark = " best", element("b", "*", title="best of those that can launch")
    text = str(entry.facts[column.kind.name])
    return element("td", text, mark, class_=f"{column.classes}{shade}", data_v=number)


def _note(entry: TableEntry, pairs: Sequence[int]) -> list[Html]:
    notes = []
    if entry.problem:
        what = entry.problem.partition(":")[0]
        notes.append(element("span", f"! {what}", class_="bad", title=entry.problem))
    if entry.twin is not None:
        notes.append(joined(["= ", _link(entry.twin)]))
    notes += [element("a", f"pair {pair}", href=f"#pair{pair}") for pair in pairs]
    return [part for note in notes for part in (note, Html(" "))]


def _link(variant: int) -> Html:
    return element("a", f"#{variant}", href=f"#{variant_anchor(variant)}")


def _grouped(section: TableSection) -> list[TableEntry]:
    """The entries with those of the same machine code behind the first of them, problems last."""
    places = {entry.variant.id: place for place, entry in enumerate(section.entries)}

    def key(entry: TableEntry) -> tuple[bool, int, int]:
        own = places[entry.variant.id]
        return bool(entry.problem), places.get(entry.twin or 0, own), own

    return sorted(section.entries, key=key)


def _tools(section: TableSection, foldable: bool) -> Html:
    """What works on the table: the filter needs the script, the choice of columns does not."""
    columns = element("label", element("input", type="checkbox", class_="all-columns"), " all columns")
    return element(
        "div",
        element(
            "label",
            "Filter ",
            element(
                "input", type="search", class_="filter", placeholder="num_warps=8 128", spellcheck="false"
            ),
            class_="scripted",
        ),
        columns if foldable else Html(),
        element("span", pluralize(len(section.entries), "variant"), class_="shown", aria_live="polite"),
        class_="tools",
    )


def _same(section: TableSection, kinds: Sequence[FactKind]) -> Html:
    if not kinds or len(section.entries) < 2:
        return Html()
    first = section.entries[0]
    known = [f"{kind.title} {first.facts.get(kind.name, '?')}" for kind in kinds]
    return element("p", "The same in all: ", ", ".join(known), class_="quiet")


def _identical(section: TableSection) -> Html:
    """The groups of variants with the same machine code."""
    groups: dict[int, list[TableEntry]] = {}
    for entry in section.entries:
        if entry.twin is not None:
            groups.setdefault(entry.twin, []).append(entry)
    if not groups:
        return Html()
    items = [
        element("li", _link(first), *(part for twin in twins for part in (" = ", _link(twin.variant.id))))
        for first, twins in groups.items()
    ]
    number = sum(map(len, groups.values()))
    text = (
        f"Identical machine code: {number} of {pluralize(len(section.entries), 'variant')} are no new program"
    )
    return element("div", element("p", text), element("ul", *items, class_="identical"), class_="quiet")


def _problems(section: TableSection) -> Html:
    """Why variants cannot be launched, and what the compiler said of those that failed."""
    found = []
    for entry in section.entries:
        problem = element("span", entry.problem, class_="bad")
        line = joined([_link(entry.variant.id), f" {entry.name}: ", problem])
        if entry.variant.failure:
            message = element("pre", entry.variant.failure.message)
            found.append(element("details", element("summary", line), message, class_="failure"))
        elif entry.problem:
            found.append(element("p", line))
    return joined(found)
