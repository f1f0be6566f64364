"""The facts of a section's variants as a table; the script sorts and filters it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from irscope.document.html.markup import Html, element, joined, table
from irscope.model import Variant
from irscope.model.records import grouped
from irscope.model.text import pluralize
from irscope.workspace import FactColumn, FactKind, FactTable, TableSection
from irscope.workspace.table import Cell

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
    section = section.showing()
    first = section.variants[0]
    if len(section.variants) == 1 and first.failure is None:
        return joined([_one_variant(section, pairs.get(first.id, ())), _problems(section)])
    columns = section.varying(section.fact_columns)
    configs = [column.name for column in section.configs] if section.identified else []
    heading = [
        _heading("#", "number in the capture"),
        *(_heading(name, f"value of {name}") for name in configs or ["variant"]),
        _heading("note", "problems, identical machine code, pairs of this report", "note"),
        *(_heading(c.kind.title, _description(c.kind), _classes(c)) for c in columns),
    ]
    return joined(
        [
            _tools(section, any(column.kind.minor for column in columns)),
            element(
                "div",
                table(heading, _rows(section, columns, pairs), "facts"),
                class_="scroll",
                tabindex=0,
                role="region",
                aria_label=f"Facts of {section.title}",
            ),
            _constant(section, whole),
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


def _rows(
    section: TableSection, columns: Sequence[FactColumn], pairs: Mapping[int, Sequence[int]]
) -> Iterator[Html]:
    """Yield the rows in the order of the table.

    Duplicates follow the first of them; variants with a problem are last.
    """
    facts = section.facts
    indices = {variant.id: index for index, variant in enumerate(section.variants)}

    def order(variant: Variant) -> tuple[bool, int, int]:
        index = indices[variant.id]
        first = facts.duplicate_of(variant) or 0
        return variant.id in facts.with_problem, indices.get(first, index), index

    ordered = replace(section, variants=sorted(section.variants, key=order))
    names = [element("td", ordered.names[variant.id]) for variant in ordered.variants]
    configs = [map(_config, ordered.cells(column)) for column in section.configs]
    rows = zip(
        ordered.variants,
        *(configs if section.identified and configs else [names]),
        [element("td", *_note(facts, v, pairs.get(v.id, ())), class_="note") for v in ordered.variants],
        *(_cells(ordered, column) for column in columns),
        strict=True,
    )
    for variant, *cells in rows:
        problem, duplicate = variant.id in facts.with_problem, facts.duplicate_of(variant)
        yield element(
            "tr",
            element("th", f"#{variant.id}", scope="row", data_v=variant.id),
            *cells,
            id=variant_anchor(variant.id),
            class_="problem" if problem else "duplicate" if duplicate else None,
            data_name=section.names[variant.id],
        )


def _config(cell: Cell) -> Html:
    value = cell.value
    sort = float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    return element("td", cell.text, class_="number", data_v=sort)


def _cells(section: TableSection, column: FactColumn) -> Iterator[Html]:
    """Yield the cells of a fact: the best is marked, and worse values have deeper shades."""
    classes, best = _classes(column), section.best(column).best
    for variant, cell in zip(section.variants, section.cells(column), strict=True):
        if cell.value is None:
            yield element("td", cell.text, class_=f"{classes} unknown")
            continue
        number = cell.value if isinstance(cell.value, int | float) else None
        shade, mark = "", Html()
        if best is not None and number is not None and variant.id not in section.facts.with_problem:
            distance = abs(number - best)
            # Relative to the larger of the two: half as good is half of the shades away.
            share = distance / max(abs(number), abs(best)) if distance else 0
            shade = f" heat{math.ceil(min(share, 1) * _SHADES)}" if distance else ""
            if cell.best:
                shade, mark = " best", element("b", "*", title="best among the variants that can launch")
        yield element("td", cell.text, mark, class_=f"{classes}{shade}", data_v=number)


def _note(facts: FactTable, variant: Variant, pairs: Sequence[int]) -> list[Html]:
    notes = []
    if problem := facts.problem(variant):
        notes.append(element("span", f"! {problem.partition(':')[0]}", class_="bad", title=problem))
    first = facts.duplicate_of(variant)
    if first is not None:
        notes.append(joined(["= ", _link(first)]))
    notes += [element("a", f"pair {pair}", href=f"#pair{pair}") for pair in pairs]
    return [part for note in notes for part in (note, Html(" "))]


def _link(variant: int) -> Html:
    return element("a", f"#{variant}", href=f"#{variant_anchor(variant)}")


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
        element("span", pluralize(len(section.variants), "variant"), class_="shown", aria_live="polite"),
        class_="tools",
    )


def _one_variant(section: TableSection, pairs: Sequence[int]) -> Html:
    """Return the config and the facts of the only variant, a row each.

    One sentence names the facts that are 0 or none.
    """
    (variant,) = section.variants
    number, name = element("th", f"#{variant.id}", scope="row"), element("td", section.names[variant.id])
    rows = [element("tr", number, name, element("td", *_note(section.facts, variant, pairs)))]
    facts = [(column.kind, section.cell(column, variant).text) for column in section.fact_columns]
    nothing = [kind.title for kind, text in facts if text in _NOTHING]
    main = [_fact_row(kind, text) for kind, text in facts if text not in _NOTHING and not kind.minor]
    minor_rows = [_fact_row(kind, text) for kind, text in facts if text not in _NOTHING and kind.minor]
    main_table, more = (
        element("table", element("tbody", *part), class_="one") for part in ((*rows, *main), minor_rows)
    )
    return joined(
        [
            element("div", main_table, class_="scroll", id=variant_anchor(variant.id)),
            element("p", f"0 or none: {', '.join(nothing)}", class_="quiet") if nothing else Html(),
            element("details", element("summary", "Times and sizes"), more) if minor_rows else Html(),
        ]
    )


def _fact_row(kind: FactKind, text: str) -> Html:
    return element(
        "tr",
        element("th", kind.heading, scope="row"),
        element("td", text),
        element("td", kind.description, class_="quiet about"),
    )


def _constant(section: TableSection, whole: bool) -> Html:
    """Return the config values and facts that do not vary, once."""
    hidden = [column for column in section.columns if column not in section.configs]
    constants = section.constants(hidden)
    if not constants:
        return Html()
    failures = sum(variant.failure is not None for variant in section.variants)
    which = "" if whole else " that are shown"
    if 0 < failures < len(section.variants):
        which += " and compiled" if which else " that compiled"
    return element("p", f"Equal in all{which}: ", ", ".join(constants), class_="quiet constants")


def _duplicates(section: TableSection) -> Html:
    """Return the groups of variants with identical machine code."""
    groups = grouped(section.variants, section.facts.duplicate_of)
    groups.pop(None, None)
    if not groups:
        return Html()
    items = [
        element("li", *(_link(first), *(part for v in group for part in (" = ", _link(v.id)))))
        for first, group in groups.items()
        if first is not None
    ]
    number = sum(map(len, groups.values()))
    variants = pluralize(len(section.variants), "variant")
    text = f"Identical machine code: {number} of {variants} are duplicates"
    return element("div", element("p", text), element("ul", *items, class_="identical"), class_="quiet")


def _problems(section: TableSection) -> Html:
    """Return why variants cannot be launched, and the compiler's messages.

    Variants that share a message have it once.
    """
    groups: dict[tuple[str, str], list[Variant]] = {}
    for variant in section.variants:
        if problem := section.facts.problem(variant):
            message = variant.failure.message if variant.failure else ""
            groups.setdefault((problem, message), []).append(variant)
    opened = all(variant.failure for variant in section.variants)
    elements = [
        _problem(section, *key, variants, opened and not index)
        for index, (key, variants) in enumerate(list(groups.items())[:_MAX_PROBLEMS])
    ]
    rest = len(groups) - len(elements)
    if rest > 0:
        elements.append(element("p", f"{rest} more problems are in the column note."))
    return joined(elements)


def _problem(
    section: TableSection, problem: str, message: str, variants: Sequence[Variant], opened: bool
) -> Html:
    first, *others = variants
    links = [part for variant in others[:_MAX_NAMED] for part in (", ", _link(variant.id))]
    more = f" and {len(others) - _MAX_NAMED} more" if len(others) > _MAX_NAMED else ""
    name = "" if others else f" {section.names[first.id]}"
    line = joined([_link(first.id), *links, more, f"{name}: ", element("span", problem, class_="bad")])
    if not message:
        return element("p", line)
    excerpt = message[:_MAX_MESSAGE]
    if len(excerpt) < len(message):
        excerpt += f"\n... {len(message) - len(excerpt):,} more characters in irscope show --stage error"
    return element(
        "details", element("summary", line), element("pre", excerpt), class_="failure", open=opened
    )
