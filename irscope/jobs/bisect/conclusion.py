"""The conclusion of a bisection in sentences, the same in every view, and its evidence as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.document.blocks import Block, Table, title
from irscope.facts.fact import change_text
from irscope.jobs.bisect.attribution import CutResult, Mixed
from irscope.jobs.bisect.bisection import Bisection, Cause, SourceCause
from irscope.jobs.bisect.commits import CommitSearch
from irscope.jobs.bisect.criteria import Criterion, Reading
from irscope.jobs.bisect.pass_search import PassResult
from irscope.model.text import one_line, pluralize

UNKNOWN = "unknown"
_MOST_EDITS = 8


def conclusion(found: Bisection) -> list[str]:
    """Return the results of a bisection, a sentence per line."""
    lines: list[str] = []
    if found.interrupted:
        lines.append(f"Interrupted by {found.interrupted}; this is what was found until then.")
    if found.commits is not None:
        lines += _commits(found, found.commits)
    if found.versions:
        lines += _versions(found)
    return [*lines, *found.notes]


def _commits(found: Bisection, search: CommitSearch) -> Iterator[str]:
    if search.good is None or search.bad is None:
        return
    with_ = f" with {found.toolchain}"
    if search.first_bad is None and not search.candidates:
        yield f"Commits: {_same(found.criterion, search.good.reading, search.bad.reading)} over them{with_}."
        return
    change = _change(found.criterion, search.good.reading, search.bad.reading)
    if search.first_bad is not None:
        commit = search.first_bad
        yield f"Commit: {commit.sha[:10]} ({commit.author}, {commit.date}): {commit.subject}"
    else:
        names = ", ".join(commit.sha[:10] for commit in search.candidates)
        yield f"Commit: {UNKNOWN}, one of {names}: {search.reason}"
    yield f"{change}{with_}."
    if found.source_cause is not None:
        yield from _source(found.source_cause)


def _source(cause: SourceCause) -> Iterator[str]:
    yield "Layer: the kernel's Python; the toolchain is the same on both sides."
    shown = cause.edits[:_MOST_EDITS]
    yield from (f"{edit.file}:{edit.line} ({edit.function}): {edit.text}" for edit in shown)
    if len(cause.edits) > len(shown):
        yield f"{len(cause.edits) - len(shown)} more edits"
    if not cause.edits:
        yield "The kernel and the functions that it calls are the same: something else that it reads differs."
    if cause.divergence:
        yield f"The two compilations diverge {cause.divergence}."


def _versions(found: Bisection) -> Iterator[str]:
    if found.cause is None and found.interrupted:
        yield from (f"{found.criterion.label} got worse: {good} -> {bad}." for good, bad in found.worse)
        return
    if found.cause is None:
        readings = [one.reading for one in found.versions if one.reading is not None]
        yield f"Versions: {_same(found.criterion, readings[0], readings[-1])} in any version after the first."
        return
    cause = found.cause
    yield f"Version: {cause.bad} is the first bad one, {cause.good} the last good one."
    between = _between(found)
    if between:
        yield f"Not compiled between the two: {', '.join(between)}."
    yield f"{_change(found.criterion, cause.pair.good.reading, cause.pair.bad.reading)}."
    yield from _layer(cause)
    if cause.changes is not None and cause.changes.python:
        line = cause.changes.python[0]
        number = pluralize(line.operations, "changed operation")
        yield f"Python: {line.file}:{line.line}: {line.text or '(not in the kernel)'} ({number})"
    if cause.no_changes:
        yield f"The changed lines are not shown: {cause.no_changes}."
    if len(found.worse) > 1:
        later = "; ".join(f"{good} -> {bad}" for good, bad in found.worse[1:])
        yield f"It gets worse again: {later}. --triton GOOD..BAD looks at one of them."


def _layer(cause: Cause) -> Iterator[str]:
    layers, located = cause.layers, cause.layers.located
    if layers.layer is not None and located.span is not None:
        share = "" if located.span.share > 0.95 else f", {located.span.share:.0%} of the change"
        yield f"Layer: {layers.layer} ({layers.step}){share}."
        yield from _pass(cause)
    elif located.span is not None:
        yield f"Layer: {UNKNOWN}, {' or '.join(cause.layers.layers)} ({layers.step}): {_why_unknown(cause)}"
    else:
        yield f"Layer: {UNKNOWN}: {located.reason}."


def _why_unknown(cause: Cause) -> str:
    """Why cuts inside of the steps that were located do not count."""
    span = cause.layers.located.span
    inner = cause.layers.cuts[span.first + 1 : span.last] if span else ()
    reasons = [f"{cut.name}: {_problem(cut)}" for cut in inner if _problem(cut)]
    return "; ".join(reasons) or "no stage between them could be swapped."


def _problem(cut: CutResult) -> str:
    return cut.problem or cut.good_to_bad.problem or cut.bad_to_good.problem


def _pass(cause: Cause) -> Iterator[str]:
    found = cause.passes
    if found is None:
        return
    if found.name is None:
        several = f"one of {', '.join(found.candidates)}: " if found.candidates else ""
        yield f"Pass: {UNKNOWN}, {several}{found.reason}."
        return
    options = ""
    if found.options[0] != found.options[1]:
        ours, theirs = (text or "no options" for text in found.options)
        options = f" ({cause.good}: {ours}; {cause.bad}: {theirs})"
    yield f"Pass: {found.name}{options}."


def _between(found: Bisection) -> list[str]:
    labels = [one.label for one in found.versions]
    cause = found.cause
    if cause is None or cause.good not in labels or cause.bad not in labels:
        return []
    first = labels.index(cause.good)
    last = labels.index(cause.bad, first + 1) if cause.bad in labels[first + 1 :] else first
    return [f"{one.label} ({one.problem})" for one in found.versions[first + 1 : last] if one.problem]


def _change(criterion: Criterion, good: Reading, bad: Reading) -> str:
    if criterion.kind is not None:
        return change_text(criterion.kind, good.value, bad.value)
    return f"{criterion.text}: {good.text} -> {bad.text}"


def _same(criterion: Criterion, good: Reading, bad: Reading) -> str:
    return f"{criterion.label} did not get worse ({good.text} -> {bad.text})"


def evidence(found: Bisection) -> Iterator[Block]:
    """Yield the tables of what was measured, each after its title, in the order in which it was."""
    label = one_line(found.criterion.text)
    if found.commits is not None:
        commits = [
            (
                one.commit.sha[:10],
                one.commit.subject,
                one.reading.text if one.reading else f"skipped: {one.problem}",
            )
            for one in found.commits.tested
        ]
        heading = f"Commits tested with {found.toolchain}, in order"
        yield from _table(heading, ("commit", "subject", label), commits)
    if found.source_cause is not None:
        yield from _stage_table("Good and bad commit, stage by stage", found.source_cause.stages)
    if found.versions:
        versions = [
            (
                one.label,
                one.reading.text if one.reading else one.problem,
                ", ".join(f"{name} {version}" for name, version in one.tools),
            )
            for one in found.versions
        ]
        yield from _table("Versions", ("version", label, "tools"), versions)
    if found.cause is not None:
        yield from _cause_tables(found.cause)


def _table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Block]:
    yield title(heading)
    yield Table.from_rows(rows, columns, "<" * len(columns), level=1)


def _stage_table(heading: str, stages: tuple[tuple[str, str], ...]) -> Iterator[Block]:
    return _table(heading, ("stage", "good to bad"), stages)


def _cause_tables(cause: Cause) -> Iterator[Block]:
    good, bad = cause.good, cause.bad
    ways = f"{good}, then {bad}", f"{bad}, then {good}"
    cuts = [
        (cut.name, _mixed(cut, cut.good_to_bad), _mixed(cut, cut.bad_to_good)) for cut in cause.layers.cuts
    ]
    heading = "Stages swapped: the first toolchain up to this stage, the second below it"
    yield from _table(heading, ("stage", *ways), cuts)
    if cause.passes is not None:
        heading = "Passes swapped: the first toolchain up to this pass, the second below it"
        yield from _table(heading, ("pass", *ways), _tests(cause.passes))
    if cause.stages:
        yield from _stage_table(f"{good} and {bad}, stage by stage", cause.stages)


def _tests(passes: PassResult) -> list[list[str]]:
    """Return a row per boundary that was tried, with both directions."""
    rows: dict[int, list[str]] = {}
    for test in passes.tests:
        row = rows.setdefault(test.number, [test.after, "", ""])
        row[1 if test.good_to_bad else 2] = _text(test.result)
    return list(rows.values())


def _mixed(cut: CutResult, result: Mixed) -> str:
    return cut.problem if result.problem == "not counted" else _text(result)


def _text(result: Mixed) -> str:
    if result.problem:
        return f"{result.text} ({result.problem})" if result.text else result.problem
    return f"{result.text} ({result.note})" if result.note else result.text
