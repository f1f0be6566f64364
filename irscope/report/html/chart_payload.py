"""The variants of a section as data for the script, which draws charts of any two of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.report.html.chart_choices import MARKS, PROBLEM_MARK, about, charted_kinds, split_of, ticks_of
from irscope.report.html.markup import Html
from irscope.report.html.payload import payload
from irscope.workspace import (
    EACH,
    FactColumn,
    FactKind,
    TableSection,
    axes,
    chart,
    minor,
    plotted,
    table_view,
)


def chart_payload(
    section: TableSection, identity: str, pairs: Sequence[tuple[int, int]], capture: str
) -> Html:
    """The element with the data of a section's charts.

    `pairs` are the ids of the variants of the report's pairs, in order. The JSON:

    - `capture`: the name of the file; `pairs`: `[number from 1, A's id, B's id]` of those in the section;
    - `variants`: `[id, name, problem]`; `config`: `[name, text per variant]` of each value that varies;
    - `axes`: `{name, ticks, of}`, with the index of the tick of each variant; `split` is the axis that
      splits charts over the first one ("" for none);
    - `facts`: `{name, title, about, better, values, texts, ticks}`: a number or null per variant, and the
      `[number, label]` of its axis, from end to end; `main` are the names of those that are shown first;
    - `marks`: the path of each series' mark, `trouble` that of a variant with a problem.
    """
    view = table_view(section)
    known = {entry.variant.id for entry in section.entries}
    names = [name for name in axes([entry.variant for entry in section.entries]) if name != EACH]
    return payload(
        identity,
        {
            "capture": capture,
            "pairs": [[n, a, b] for n, (a, b) in enumerate(pairs, 1) if {a, b} <= known],
            "variants": [[entry.variant.id, entry.name, entry.problem] for entry in section.entries],
            "config": [[one.name, [cell.text for cell in one.cells]] for one in view.configs],
            "axes": [_axis(section, name) for name in names],
            "split": split_of(section, names[0]) if names else "",
            "facts": [_fact(column) for column in view.varying_facts if not minor(column.kind)],
            "main": [kind.name for kind in charted_kinds(section)],
            "marks": MARKS,
            "trouble": PROBLEM_MARK,
        },
    )


def _axis(section: TableSection, name: str) -> dict[str, Any]:
    """An axis with its ticks in order, as `chart` has them."""
    variants = [entry.variant for entry in section.entries]
    found = chart(variants, {}, _NO_FACT, name)
    ticks = {point.variant.id: point.tick for point in found.points}
    return {"name": name, "ticks": found.ticks, "of": [ticks[variant.id] for variant in variants]}


_NO_FACT = FactKind("", "", "", "", "")


def _fact(column: FactColumn) -> dict[str, Any]:
    kind = column.kind
    values = [plotted(cell.value) for cell in column.cells]
    return {
        "name": kind.name,
        "title": kind.title,
        "about": about(kind),
        "better": kind.better,
        "values": values,
        "texts": [cell.text for cell in column.cells],
        "ticks": ticks_of([value for value in values if value is not None], kind.unit),
    }
