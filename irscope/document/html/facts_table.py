"""The facts of a section's variants as a table; the script sorts and filters it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from irscope.document.html.markup import Html, element, joined, table
from irscope.model.text import pluralize
from irscope.workspace import FactColumn, FactKind, TableCell, TableEntry, TableSection, TableView

# Shades between the best value of a column and the worst; the style sheet has a class for each.
_SHADES = 6
# Problems that are listed, variants that are named with one, and characters of a compiler's message.
_MAX_PROBLEMS, _MAX_NAMED, _MAX_MESSAGE = 30, 12, 4000
# The texts of facts about things that a variant does not have.
_NOTHING = ("0", "none")


def variant_anchor(variant: int) -> str:
    """Return the id of a variant's row."""
    return f"v{variant}"


def facts_table(section: TableSection, pairs: Mapping[int, Sequence[int]], whole: bool = True) -> Html:
    """Return the table of the values that vary, then the constants, the duplicates and the problems.

    `pairs` has the numbers (from 1) of the report's pairs that contain a variant, by variant id.
    `whole`: the section has all variants of its kernel and target.
    """
    view = TableView.of_section(section)
    columns = view.varying_facts
    configs = [column.name for column in view.configs] if view.identified else []
    heading = [
        _heading("#", "number in the capture"),
        *(_heading(name, f"value of {name}") for name in configs or ["variant"]),
        _heading("note", "problems, identical machine code, pairs of this report", "note"),
        *(_heading(c.kind.title, _description(c.kind), _classes(c)) for c in columns),
    ]
    rows = [
        _row(view, index, columns, pairs.get(view.entries[index].variant.id, ())) for index in _order(section)
    ]
    if len(view.entries) == 1 and view.entries[0].variant.failure is None:
        return joined([_one_variant(view, pairs.get(view.entries[0].variant.id, ())), _problems(section)])
    return joined(
        [
            _tools(section, any(column.kind.minor for column in columns)),
            element(
                "div",
                table(heading, rows, "facts"),
                class_="scroll",
                tabindex=0,
                role="region",
                aria_label=f"Facts of {section.title}",
            ),
            _constant(view, whole),
            _duplicates(section),
            _problems(section),
        ]
    )


def _classes(column: FactColumn) -> str:
    return ("number" if column.numeric else "words") + (" minor" if column.kind.minor else "")


def _description(kind: FactKind) -> str:
    return f"{kind.description} ({kind.unit})" if kind.unit else kind.description


def _heading(title: str, description: str, classes: str = "number") -> Html:
    # The script turns it into a button that sorts.
    return element("th", title, scope="col", class_=classes, title=description)


def _row(view: TableView, index: int, columns: Sequence[FactColumn], pairs: Sequence[int]) -> Html:
    entry = view.entries[index]
    configs = [_config(column.cells[index]) for column in view.configs] if view.identified else []
    state = "problem" if entry.problem else "duplicate" if entry.duplicate_of else None
    return element(
        "tr",
        element("th", f"#{entry.variant.id}", scope="row", data_v=entry.variant.id),
        *(configs or [element("td", entry.name)]),
        element("td", *_note(entry, pairs), class_="note"),
        *(_cell(entry, column, column.cells[index]) for column in columns),
        id=variant_anchor(entry.variant.id),
        class_=state,
        data_name=entry.name,
    )


def _config(cell: TableCell) -> Html:
    value = cell.value
    sort = float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    return element("td", cell.text, class_="number", data_v=sort)


def _cell(entry: TableEntry, column: FactColumn, cell: TableCell) -> Html:
    """Return a fact of an entry: the best is marked, and worse values have deeper shades."""
    classes = _classes(column)
    if cell.value is None:
        return element("td", cell.text, class_=f"{classes} unknown")
    number = cell.value if isinstance(cell.value, int | float) else None
    shade, mark = "", Html()
    if isinstance(column.best, int | float) and number is not None and not entry.problem:
        distance = abs(number - float(column.best))
        # Relative to the larger of the two: half as good is half of the shades away.
        share = distance / max(abs(number), abs(float(column.best))) if distance else 0
        shade = f" heat{math.ceil(min(share, 1) * _SHADES)}" if distance else ""
        if cell.best:
            shade, mark = " best", element("b", "*", title="best among the variants that can launch")
    return element("td", cell.text, mark, class_=f"{classes}{shade}", data_v=number)


def _note(entry: TableEntry, pairs: Sequence[int]) -> list[Html]:
    notes = []
    if entry.problem:
        what = entry.problem.partition(":")[0]
        notes.append(element("span", f"! {what}", class_="bad", title=entry.problem))
    if entry.duplicate_of is not None:
        notes.append(joined(["= ", _link(entry.duplicate_of)]))
    notes += [element("a", f"pair {pair}", href=f"#pair{pair}") for pair in pairs]
    return [part for note in notes for part in (note, Html(" "))]


def _link(variant: int) -> Html:
    return element("a", f"#{variant}", href=f"#{variant_anchor(variant)}")


def _order(section: TableSection) -> list[int]:
    """Return the indices of the entries in the order of the table.

    Duplicates follow the first of them; entries with a problem are last.
    """
    entries = section.entries
    indices = {entry.variant.id: index for index, entry in enumerate(entries)}

    def key(index: int) -> tuple[bool, int, int]:
        entry = entries[index]
        return bool(entry.problem), indices.get(entry.duplicate_of or 0, index), index

    return sorted(range(len(entries)), key=key)


def _tools(section: TableSection, foldable: bool) -> Html:
    """Return the controls of the table: the filter needs the script, the choice of columns does not."""
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


def _one_variant(view: TableView, pairs: Sequence[int]) -> Html:
    """Return the config and the facts of the only variant, a row each.

    One sentence names the facts that are 0 or none.
    """
    (entry,) = view.entries
    number = element("th", f"#{entry.variant.id}", scope="row")
    rows = [element("tr", number, element("td", entry.name), element("td", *_note(entry, pairs)))]
    facts = [column for column in view.facts if column.cells[0].text not in _NOTHING]
    nothing = [column.kind.title for column in view.facts if column.cells[0].text in _NOTHING]
    main = [_fact_row(column) for column in facts if not column.kind.minor]
    minor_rows = [_fact_row(column) for column in facts if column.kind.minor]
    main_table, more = (
        element("table", element("tbody", *part), class_="one") for part in ((*rows, *main), minor_rows)
    )
    return joined(
        [
            element("div", main_table, class_="scroll", id=variant_anchor(entry.variant.id)),
            element("p", f"0 or none: {', '.join(nothing)}", class_="quiet") if nothing else Html(),
            element("details", element("summary", "Times and sizes"), more) if minor_rows else Html(),
        ]
    )


def _fact_row(column: FactColumn) -> Html:
    return element(
        "tr",
        element("th", column.kind.heading, scope="row"),
        element("td", column.cells[0].text),
        element("td", column.kind.description, class_="quiet about"),
    )


def _constant(view: TableView, whole: bool) -> Html:
    """Return the config values and facts that do not vary, once."""
    constants = view.constants
    if not constants or len(view.entries) < 2:
        return Html()
    failures = sum(entry.variant.failure is not None for entry in view.entries)
    which = "" if whole else " that are shown"
    if 0 < failures < len(view.entries):
        which += " and compiled" if which else " that compiled"
    return element("p", f"Equal in all{which}: ", ", ".join(constants), class_="quiet constants")


def _duplicates(section: TableSection) -> Html:
    """Return the groups of variants with identical machine code."""
    groups: dict[int, list[TableEntry]] = {}
    for entry in section.entries:
        if entry.duplicate_of is not None:
            groups.setdefault(entry.duplicate_of, []).append(entry)
    if not groups:
        return Html()
    items = [
        element("li", _link(first), *(part for entry in group for part in (" = ", _link(entry.variant.id))))
        for first, group in groups.items()
    ]
    number = sum(map(len, groups.values()))
    variants = pluralize(len(section.entries), "variant")
    text = f"Identical machine code: {number} of {variants} are duplicates"
    return element("div", element("p", text), element("ul", *items, class_="identical"), class_="quiet")


def _problems(section: TableSection) -> Html:
    """Return why variants cannot be launched, and the compiler's messages.

    Variants that share a message have it once.
    """
    groups: dict[tuple[str, str], list[TableEntry]] = {}
    for entry in section.entries:
        if entry.problem:
            failure = entry.variant.failure
            groups.setdefault((entry.problem, failure.message if failure else ""), []).append(entry)
    opened = all(entry.variant.failure for entry in section.entries)
    elements = [
        _problem(*key, entries, opened and not index)
        for index, (key, entries) in enumerate(list(groups.items())[:_MAX_PROBLEMS])
    ]
    rest = len(groups) - len(elements)
    if rest > 0:
        elements.append(element("p", f"{rest} more problems are in the column note."))
    return joined(elements)


def _problem(problem: str, message: str, entries: Sequence[TableEntry], opened: bool) -> Html:
    first, *more_entries = entries
    links = [part for entry in more_entries[:_MAX_NAMED] for part in (", ", _link(entry.variant.id))]
    more = f" and {len(more_entries) - _MAX_NAMED} more" if len(more_entries) > _MAX_NAMED else ""
    name = "" if more_entries else f" {first.name}"
    line = joined(
        [_link(first.variant.id), *links, more, f"{name}: ", element("span", problem, class_="bad")]
    )
    if not message:
        return element("p", line)
    excerpt = message[:_MAX_MESSAGE]
    if len(excerpt) < len(message):
        excerpt += f"\n... {len(message) - len(excerpt):,} more characters in irscope show --stage error"
    return element(
        "details", element("summary", line), element("pre", excerpt), class_="failure", open=opened
    )
