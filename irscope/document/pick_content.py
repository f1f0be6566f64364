"""The configs of each problem: which to measure, why not the others, and code to paste; a calibration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irscope.document.blocks import Block, Code, Column, Line, Table, title
from irscope.model.text import microseconds_text, one_line, pluralize
from irscope.workspace import Choice, FactTable, Pick, TableSection
from irscope.workspace.estimate_text import estimate_lines
from irscope.workspace.picking import Calibration
from irscope.workspace.problem_sizes import problem_titles
from irscope.workspace.table import setting_columns

# More rejected configs than this are counted by reason.
_MAX_REJECTED = 8


def picks_content(picks: Sequence[Pick], explain: bool) -> Iterator[Block]:
    """Yield all picks; if `explain`, with the terms of each estimate worth measuring."""
    titles = problem_titles([pick.problem for pick in picks])
    for pick, text in zip(picks, titles, strict=True):
        yield from _pick(pick, text)
        if explain:
            yield from _explained(pick.accepted)


def _pick(pick: Pick, text: str) -> Iterator[Block]:
    problem = pick.problem
    heading = f"{problem.kernel}  {problem.target}  {text}"
    yield Line([(heading, "heading")], gap=True, fit="cut")
    counts = f"{pluralize(len(pick.choices), 'config')}, {len(pick.accepted)} worth measuring"
    yield Line(f"{counts}  {pick.device}".rstrip())
    if pick.same_bits:
        yield Line(pick.same_bits.text)
    if pick.trouble:
        yield Line(f"not estimated: {pick.trouble}")
    elif pick.accepted:
        yield Table(list(_columns(pick)), ruled=True, roles=["best"], gap=True)
        if not _by_estimate(pick.accepted):
            yield Line("in the order to measure them: the estimates of similar configs err alike")
        yield from map(Line, pick.limits)
        if pick.unsure:
            yield Line(pick.confidence)
    yield from _rejected(pick)
    yield from _measurements(pick)
    if pick.accepted:
        configs = [f"    {one_line(choice.variant.config.code)}," for choice in pick.accepted]
        yield Code(["configs = [", *configs, "]"])


def _by_estimate(choices: Sequence[Choice]) -> bool:
    """Return True if the configs are in the order of their estimates, as they are shown."""
    times = [float(f"{choice.estimate.microseconds:.3g}") for choice in choices if choice.estimate]
    return times == sorted(times)


def _columns(pick: Pick) -> Iterator[Column]:
    choices = pick.accepted
    variants = [choice.variant for choice in choices]
    yield Column("#", [f"#{variant.id}" for variant in variants], right=True)
    every = [choice.variant for choice in pick.choices]
    settings = setting_columns({variant.id: variant.settings for variant in every})
    for column in TableSection(every, FactTable(), settings).configs:
        cells = [one_line(column.write(value)) or "-" for value in column.values(variants)]
        yield Column(one_line(column.name).replace("_", "_\n"), cells, right=True)
    estimates = [choice.estimate for choice in choices]
    times = [estimate.text if estimate else "?" for estimate in estimates]
    yield Column("estimate\nus", times, right=True)
    measured = [choice.measured for choice in choices]
    if any(time is not None for time in measured):
        times = [microseconds_text(time) if time is not None else "-" for time in measured]
        yield Column("measured\nus", times, right=True)
    bounds = [choice.bound or "-" for choice in choices]
    yield Column("bound by", bounds, right=True, optional="bound by")


def _rejected(pick: Pick) -> Iterator[Line]:
    """Yield the rejected configs by reason.

    Configs that are only slower have the range of their estimates.
    """
    groups: dict[str, list[Choice]] = {}
    for choice in pick.choices:
        if choice.rejected is not None:
            groups.setdefault(choice.reason, []).append(choice)
    for reason, choices in groups.items():
        if reason == "slower":
            yield Line(_slower(choices), gap=True)
            continue
        yield Line(f"{reason or 'rejected'}: {pluralize(len(choices), 'config')}", gap=True)
        some = choices[:_MAX_REJECTED]
        size = max(len(str(choice.variant.id)) for choice in some) + 1
        for choice in some:
            number = f"#{choice.variant.id}"
            why = (choice.rejected or "").removeprefix(f"{reason}: ")
            yield Line(f"{number:>{size}}  {why}  ({choice.variant.config})", 1, fit="cut")
        if len(choices) > len(some):
            yield Line(f"and {len(choices) - len(some)} more; --format json has all", 1)


def _slower(choices: Sequence[Choice]) -> str:
    """Return how many configs are slower by estimate, and by how much."""
    times = [choice.estimate.microseconds for choice in choices if choice.estimate]
    count = pluralize(len(choices), "config")
    if not times:
        return f"not estimated: {count}"
    least, most = microseconds_text(min(times)), microseconds_text(max(times))
    return f"slower by estimate: {count}, {least} to {most} us; --top 100% shows them"


def _measurements(pick: Pick) -> Iterator[Line]:
    if not pick.measured:
        return
    text = f"{pluralize(len(pick.measured), 'config')} measured"
    if pick.correlation is not None:
        text += f": rank correlation {pick.correlation:.2f} with the estimates"
    yield Line(text, gap=True)
    if pick.speed is not None:
        yield Line(f"the fastest of those worth measuring has {pick.speed:.1%} of the best speed")


def _explained(choices: Iterable[Choice]) -> Iterator[Line]:
    """Yield the estimate of each of `choices`, term by term."""
    for choice in choices:
        yield title(f"#{choice.variant.id} {choice.name}")
        if choice.estimate is None:
            yield Line(choice.rejected or "no estimate", 1)
            continue
        for line in estimate_lines(choice.estimate):
            yield Line(line.text, 1)
            if line.detail:
                yield Line(line.detail, 3)


def calibration_content(found: Calibration) -> Iterator[Block]:
    """Yield each constant before and after, with `*` if it moved, and the error of the estimates."""
    launches, problems = pluralize(found.launches, "measured launch"), pluralize(found.problems, "problem")
    yield title(f"{found.device}: {launches} of {problems}")
    rows = []
    for constant in found.constants:
        before, after = (f"{value:.3g}" for value in (constant.before, constant.after))
        what = f"{constant.unit}: {constant.meaning}" if constant.unit else constant.meaning
        rows.append((constant.name, before, f"{after}{' ' if before == after else '*'}", what))
    yield Table.from_rows(rows, ["constant", "before", "after ", "unit"], "<>><", (0, 8, 9), gap=True)
    errors = f"{found.error_before:.1%} before, {found.error_after:.1%} after"
    yield Line(f"typical error of an estimate: {errors}", gap=True)
    yield Line(f"written: {found.path}")
