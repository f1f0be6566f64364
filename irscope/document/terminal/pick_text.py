"""`irscope pick` for a person: per problem, the configs to measure, why not the others, and code to paste.

`irscope pick --calibrate` for a person: each constant before and after, and the error of the estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len

from irscope.document.terminal.styles import Paint
from irscope.model import Value, format_value
from irscope.model.records import varying_keys
from irscope.model.text import clipped, one_line, pluralize
from irscope.workspace import Choice, Pick, microseconds_text
from irscope.workspace.comparison import config_code
from irscope.workspace.estimate_text import estimate_lines
from irscope.workspace.picking import Calibration
from irscope.workspace.problem_sizes import problem_titles

_GAP = "  "
# More rejected configs than this are counted by reason.
_MAX_REJECTED = 8


def picks_text(
    picks: Sequence[Pick], width: int | None, paint: Paint, explain: bool = False
) -> Iterator[str]:
    """Yield the lines of all picks; if `explain`, with the terms of each estimate worth measuring."""
    titles = problem_titles([pick.problem for pick in picks])
    for number, (pick, title) in enumerate(zip(picks, titles, strict=True)):
        if number:
            yield ""
        yield from _pick(pick, title, width, paint)
        if explain:
            yield from _explained(pick.accepted, paint)


def _pick(pick: Pick, title: str, width: int | None, paint: Paint) -> Iterator[str]:
    problem = pick.problem
    heading = one_line(f"{problem.kernel}  {problem.target}  {title}")
    yield paint(heading if width is None else clipped(heading, width), "heading")
    counts = [pluralize(len(pick.choices), "config"), f"{len(pick.accepted)} worth measuring"]
    yield _GAP.join([", ".join(counts), pick.device]).rstrip()
    if pick.trouble:
        yield f"not estimated: {one_line(pick.trouble)}"
    elif pick.accepted:
        yield ""
        yield from _table(pick, width, paint)
        if not _by_estimate(pick.accepted):
            yield "in the order to measure them: the estimates of similar configs err alike"
        yield from map(one_line, pick.limits)
    yield from _rejected(pick, width)
    yield from _measurements(pick)
    if pick.accepted:
        yield ""
        yield "configs = ["
        yield from (f"    {one_line(config_code(choice.variant))}," for choice in pick.accepted)
        yield "]"


def _table(pick: Pick, width: int | None, paint: Paint) -> Iterator[str]:
    """Yield the configs worth measuring in order; without the last column if it does not fit."""
    choices = pick.accepted
    columns = list(_columns(choices, _names(pick)))
    sizes = [max(cell_len(line) for text in column for line in text.split("\n")) for column in columns]
    last = columns.pop() if _total(sizes) > (width or _total(sizes)) else None
    if last is not None:
        sizes.pop()
    height = max(column[0].count("\n") + 1 for column in columns)
    for line in range(height):
        parts = []
        for column, size in zip(columns, sizes, strict=True):
            lines = ["", *column[0].split("\n")]
            parts.append(lines[max(0, 1 + line - height + len(lines) - 1)].rjust(size))
        yield _GAP.join(parts).rstrip()
    yield "\u2500" * min(_total(sizes), width or _total(sizes))
    for row in range(1, len(choices) + 1):
        cells = [column[row].rjust(size) for column, size in zip(columns, sizes, strict=True)]
        yield paint(_GAP.join(cells).rstrip(), "best" if row == 1 else "")


def _by_estimate(choices: Sequence[Choice]) -> bool:
    """Return True if the configs are in the order of their estimates, as they are shown."""
    times = [float(f"{choice.estimate.microseconds:.3g}") for choice in choices if choice.estimate]
    return times == sorted(times)


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + len(_GAP) * (len(sizes) - 1)


def _names(pick: Pick) -> list[str]:
    """Return the config values that vary, or all of them if none does."""
    settings = [choice.variant.settings for choice in pick.choices]
    return varying_keys(settings) or list(dict.fromkeys(name for config in settings for name in config))


def _columns(choices: Sequence[Choice], names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the columns, each with its heading first."""
    yield ["#", *(f"#{choice.variant.id}" for choice in choices)]
    settings = [choice.variant.settings for choice in choices]
    for name in names:
        yield [one_line(name).replace("_", "_\n"), *(_setting(config, name) for config in settings)]
    estimates = [choice.estimate for choice in choices]
    yield ["estimate\nus", *(microseconds_text(e.microseconds) if e else "?" for e in estimates)]
    if any(choice.measured is not None for choice in choices):
        measured = (choice.measured for choice in choices)
        yield ["measured\nus", *(microseconds_text(m) if m is not None else "-" for m in measured)]
    yield ["bound by", *(choice.bound or "-" for choice in choices)]


def _setting(settings: dict[str, Value], name: str) -> str:
    return one_line(format_value(settings[name])) if name in settings else "-"


def _rejected(pick: Pick, width: int | None) -> Iterator[str]:
    """Yield the rejected configs by reason.

    Configs that are only slower have the range of their estimates.
    """
    groups: dict[str, list[Choice]] = {}
    for choice in pick.choices:
        if choice.rejected is not None:
            groups.setdefault(choice.reason, []).append(choice)
    for reason, choices in groups.items():
        yield ""
        if reason == "slower":
            yield _slower(choices)
            continue
        yield f"{reason or 'rejected'}: {pluralize(len(choices), 'config')}"
        some = choices[:_MAX_REJECTED]
        size = max(len(str(choice.variant.id)) for choice in some) + 1
        for choice in some:
            number = f"#{choice.variant.id}"
            why = (choice.rejected or "").removeprefix(f"{reason}: ")
            line = one_line(f"  {number:>{size}}  {why}  ({choice.variant.config})")
            yield line if width is None else clipped(line, width)
        if len(choices) > len(some):
            yield f"  and {len(choices) - len(some)} more; --format json has all"


def _slower(choices: Sequence[Choice]) -> str:
    """Return how many configs are slower by estimate, and by how much."""
    times = [choice.estimate.microseconds for choice in choices if choice.estimate]
    count = pluralize(len(choices), "config")
    if not times:
        return f"not estimated: {count}"
    least, most = microseconds_text(min(times)), microseconds_text(max(times))
    return f"slower by estimate: {count}, {least} to {most} us; --top 100% shows them"


def _measurements(pick: Pick) -> Iterator[str]:
    if not pick.measured:
        return
    yield ""
    count = pluralize(len(pick.measured), "config")
    if pick.correlation is None:
        yield f"{count} measured"
    else:
        yield f"{count} measured: rank correlation {pick.correlation:.2f} with the estimates"
    if pick.speed is not None:
        yield f"the fastest of those worth measuring has {pick.speed:.1%} of the best speed"


def _explained(choices: Iterable[Choice], paint: Paint) -> Iterator[str]:
    """Yield the estimate of each of `choices`, term by term."""
    for choice in choices:
        yield ""
        yield paint(one_line(f"#{choice.variant.id} {choice.name}"), "heading")
        if choice.estimate is None:
            yield f"  {choice.rejected or 'no estimate'}"
            continue
        for line in estimate_lines(choice.estimate):
            yield one_line(f"  {line.text}")
            if line.detail:
                yield one_line(f"      {line.detail}")


def calibration_text(found: Calibration, paint: Paint) -> Iterator[str]:
    """Yield the lines of the report; constants that moved are marked with `*`."""
    launches, problems = pluralize(found.launches, "measured launch"), pluralize(found.problems, "problem")
    yield paint(one_line(f"{found.device}: {launches} of {problems}"), "heading")
    yield ""
    width = max(len(constant.name) for constant in found.constants)
    yield f"{'constant':<{width}}  {'before':>8}  {'after':>8}   unit"
    for constant in found.constants:
        before, after = (f"{value:.3g}" for value in (constant.before, constant.after))
        mark = " " if before == after else "*"
        what = f"{constant.unit}: {constant.meaning}" if constant.unit else constant.meaning
        yield f"{constant.name:<{width}}  {before:>8}  {after:>8}{mark}  {what}"
    yield ""
    yield f"typical error of an estimate: {found.error_before:.1%} before, {found.error_after:.1%} after"
    yield one_line(f"written: {found.path}")
