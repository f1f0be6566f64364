"""The comparison table of a capture: its variants by kernel and target, sorted, with their facts.

Which facts can be columns, and the table as plain dicts, for Python and data frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from irscope.facts.fact import BOUND_BY, ESTIMATE, ESTIMATE_KEY, FactKind, FactValue
from irscope.facts.registry import kinds_for, kinds_of
from irscope.model import UserError, Value, Variant, format_value
from irscope.model.records import grouped
from irscope.workspace.compiler_version import chosen_values
from irscope.workspace.fact_table import FactTable, kinds_named
from irscope.workspace.table import SHOWN_TOGETHER, TableSection, fact_column, setting_columns


def sections(
    variants: Sequence[Variant],
    names: Mapping[int, str],
    facts: FactTable,
    sort: str | None = None,
    estimate: bool = False,
) -> list[TableSection]:
    """Group the variants by kernel and target, each section sorted by `sort`.

    `sort` is the name of a fact or config value (None: the capture's order); see
    `TableSection.sorted_by`. `estimate`: they have the facts of estimates. Raises UserError,
    listing the known names, if `sort` is unknown.
    """
    # The version of Triton is a setting if it varies.
    versions = {variant.toolchain.versions.get("triton", "") for variant in variants}
    made = []
    for group in grouped(variants, lambda v: (v.kernel.name, str(v.target))).values():
        settings = {v.id: chosen_values(v) if len(versions) > 1 else v.settings for v in group}
        kinds = _with_estimates(kinds_for(group[0].target.backend), estimate)
        columns = [*setting_columns(settings), *(fact_column(kind, facts) for kind in kinds)]
        made.append(TableSection(group, facts, columns, settings, names))
    if sort is None:
        return made
    sortable = [kind.name for kind in all_kinds(made)]
    sortable += [column.name for section in made for column in section.other_columns]
    if sort not in sortable:
        raise UserError(f"cannot sort by '{sort}'; known names: {', '.join(dict.fromkeys(sortable))}")
    return [section.sorted_by(sort) for section in made]


def _with_estimates(kinds: Iterable[FactKind], estimate: bool) -> list[FactKind]:
    """Add the facts of estimates if `estimate`; what they are for comes last."""
    return [ESTIMATE, BOUND_BY, *kinds, ESTIMATE_KEY] if estimate else list(kinds)


def chosen_kinds(names: Sequence[str]) -> list[FactKind]:
    """Return the kinds called `names`, in that order. Raises UserError, listing the known ones.

    If one of SHOWN_TOGETHER is named, all of them are included.
    """
    available = kinds_named(names)
    chosen: dict[str, FactKind] = {}
    for name in names:
        if name not in available:
            raise UserError(f"no column '{name}'; known columns: {', '.join(available)}")
        for companion in SHOWN_TOGETHER if name in SHOWN_TOGETHER else (name,):
            chosen[companion] = available[companion]
    return list(chosen.values())


def all_kinds(sections: Sequence[TableSection]) -> list[FactKind]:
    """Return the kinds of all facts that the sections' backends have."""
    measured = kinds_of(dict.fromkeys(section.variants[0].target.backend for section in sections))
    estimate = any(column.kind is ESTIMATE for section in sections for column in section.fact_columns)
    return _with_estimates(measured, estimate)


PlainValue = int | float | str | None


def table_rows(sections: Sequence[TableSection]) -> list[dict[str, PlainValue]]:
    """Return the sections as plain rows.

    Their keys are id, kernel, target, name, config values, facts, problem, duplicate_of. A
    config value that has the name of another column appears as `config.NAME`. Element types and
    the launch status are text.
    """
    rows: list[dict[str, PlainValue]] = []
    for section in sections:
        names = [column.name for column in section.fact_columns]
        for variant in section.variants:
            row: dict[str, PlainValue] = {
                "id": variant.id,
                "kernel": section.kernel,
                "target": section.target,
                "name": section.names[variant.id],
            }
            facts = dict(zip(names, map(_plain, section.facts.values(variant.id, names)), strict=True))
            used_names = {*row, *facts, "problem", "duplicate_of"}
            for name, value in section.settings[variant.id].items():
                row[f"config.{name}" if name in used_names else name] = _plain(value)
            row |= facts
            row["problem"] = section.facts.problem(variant) or None
            row["duplicate_of"] = section.facts.duplicate_of(variant)
            rows.append(row)
    return rows


def _plain(value: FactValue | Value) -> PlainValue:
    if isinstance(value, tuple):
        return format_value(value)
    return value if isinstance(value, int | float | str | None) else str(value)
