"""Trends of a package's kernels over commits, from the captures of `irscope trends`.

A kernel has a series per target and Triton: for each commit, the largest value among its variants. Between
two commits, the captures are compared variant by variant, so a step says what got worse or better, and which
edit of the Python changed it.

The file `history.json` of a folder of captures says which commit and which Triton each capture is of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from irscope.facts.fact import FactKind, FactValue, value_of
from irscope.facts.registry import INSTRUCTIONS, REGISTERS, SHARED, SPILLS
from irscope.jobs.repository import Commit
from irscope.model import UserError, Variant
from irscope.model.files import check_regular, write_output
from irscope.model.records import frozen, grouped
from irscope.model.text import one_line, pluralize
from irscope.workspace.capture_comparison import CaptureComparison, change_text, compare_captures
from irscope.workspace.workspace import Workspace

NAME, CAPTURES = "history.json", "captures"
SCHEMA = "irscope.history/1"


@frozen
class Entry:
    """A commit compiled with one Triton.

    `capture` is the name of its file in the folder of captures, "" if nothing could be compiled; commits
    whose packages are equal share it. `content` identifies those packages, `launches` what was compiled of
    them. `problems` are lines about kernels that could not be compiled at this commit.
    """

    commit: str
    date: str
    subject: str
    triton: str
    capture: str
    content: str
    launches: str
    problems: tuple[str, ...] = ()

    def of(self, commit: Commit) -> Entry:
        """Return the same result for another commit."""
        return replace(self, commit=commit.sha, date=commit.committed, subject=commit.subject)


@dataclass(frozen=True)
class History:
    """The entries of a folder by date; `name` and `url` are the repository's."""

    folder: Path
    name: str = ""
    url: str = ""
    entries: tuple[Entry, ...] = ()

    def capture(self, entry: Entry) -> Path:
        """Return the path of an entry's capture."""
        return self.folder / CAPTURES / entry.capture

    def find(self, triton: str, launches: str, content: str) -> Entry | None:
        """Return an entry with these packages, launches and Triton whose capture exists; None if none has."""
        key = (triton, launches, content)
        for entry in self.entries:
            if (entry.triton, entry.launches, entry.content) == key and self.capture(entry).is_file():
                return entry
        return None

    def with_entry(self, entry: Entry) -> History:
        """Return the history with an entry in place of the one of the same commit and Triton."""
        others = [one for one in self.entries if (one.commit, one.triton) != (entry.commit, entry.triton)]
        return replace(self, entries=tuple(sorted([*others, entry], key=_date)))

    def write(self) -> None:
        """Write the file. Raises UserError if it cannot be written."""
        document = {
            "schema": SCHEMA,
            "name": self.name,
            "url": self.url,
            "entries": [asdict(entry) for entry in self.entries],
        }
        text = json.dumps(document, indent=1)
        write_output(self.folder / NAME, f"{text}\n".encode(), force=True)


def read_history(folder: Path) -> History:
    """Return the history of a folder, empty if there is none yet. Raises UserError if it is damaged."""
    path = folder / NAME
    if not path.exists():
        return History(folder)
    try:
        check_regular(path)
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        entries = tuple(sorted(map(_entry, document["entries"]), key=_date))
        return History(folder, str(document["name"]), str(document["url"]), entries)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: not a history of irscope trends: {error}") from error


def _entry(found: Any) -> Entry:
    texts = {field.name: found[field.name] for field in fields(Entry) if field.name != "problems"}
    problems: Sequence[Any] = found["problems"]
    if not all(isinstance(text, str) for text in [*texts.values(), *problems]):
        raise ValueError("an entry has a value that is no text")
    # A capture is a file of the folder of captures: a path could name any other.
    if Path(texts["capture"]).name != texts["capture"]:
        raise ValueError(f"'{texts['capture']}' is no name of a capture")
    return Entry(**texts, problems=tuple(problems))


def _date(entry: Entry) -> str:
    """Return the date in UTC, as text that sorts."""
    from datetime import datetime, timezone

    try:
        return datetime.fromisoformat(entry.date.replace("Z", "+00:00")).astimezone(timezone.utc).isoformat()
    except (ValueError, OverflowError):
        return entry.date


# The facts of the page, in its order.
TRENDS: tuple[FactKind, ...] = (REGISTERS, SPILLS, INSTRUCTIONS, SHARED)
# The most variants of a kernel that a step lists; the others are counted.
_MAX_VARIANTS = 3
_SeriesKey = tuple[str, str, str]


@dataclass(frozen=True)
class TrendSeries:
    """A kernel on one target, compiled by one Triton.

    `values` has, per fact of TRENDS, the largest value among the variants at each commit; None if the kernel
    was not compiled there. `variants` and `failed` are the numbers of variants per commit.
    """

    target: str
    triton: str
    values: Mapping[str, tuple[FactValue, ...]]
    variants: tuple[int, ...]
    failed: tuple[int, ...]

    @property
    def title(self) -> str:
        """Target and Triton."""
        return f"{self.target}, triton {self.triton}"

    def moved(self, kind: FactKind) -> bool:
        """Whether a fact has two values or more."""
        return len({value for value in self.values[kind.name] if value is not None}) > 1


@dataclass(frozen=True)
class KernelTrend:
    """A kernel with its series; `file` is relative to the repository."""

    name: str
    file: str
    series: tuple[TrendSeries, ...]

    @property
    def moved(self) -> bool:
        """Whether a fact of a series has two values or more."""
        return any(series.moved(kind) for series in self.series for kind in TRENDS)


@dataclass(frozen=True)
class TrendStep:
    """The changes at a commit, against the commit before it in the history.

    `index` is the commit's. `worse`, `better` and `other` are lines that name kernel, target and Triton;
    `edits` are the edits of the Python that changed TTIR.
    """

    index: int
    worse: tuple[str, ...]
    better: tuple[str, ...]
    other: tuple[str, ...]
    edits: tuple[str, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.worse or self.better or self.other)


@dataclass(frozen=True)
class Trends:
    """The trends of a folder. `commits` are the entries of the history, one per commit, oldest first.

    `steps` are the commits at which something changed, oldest first; `problems` are lines per commit.
    """

    history: History
    commits: tuple[Entry, ...]
    kernels: tuple[KernelTrend, ...]
    steps: tuple[TrendStep, ...]
    problems: tuple[tuple[int, str], ...]

    @property
    def summary(self) -> str:
        """The numbers of commits, kernels, targets and versions in one line."""
        series = [one for kernel in self.kernels for one in kernel.series]
        targets = ", ".join(dict.fromkeys(one.target for one in series))
        tritons = ", ".join(dict.fromkeys(one.triton for one in series))
        counts = f"{pluralize(len(self.commits), 'commit')}, {pluralize(len(self.kernels), 'kernel')}"
        return f"{counts}; {targets or 'no target'}; triton {tritons or 'none'}"


@frozen
class _Point:
    """A kernel at a commit: the largest value of each fact, and how many variants there are, and failed."""

    values: Mapping[str, FactValue]
    variants: int
    failed: int


def read_trends(folder: Path) -> Trends:
    """Return the trends of a folder. Raises UserError if it has no captures, or if one is damaged."""
    history = read_history(folder)
    if not any(entry.capture for entry in history.entries):
        raise UserError(f"{folder}: has no captures of commits; make some with irscope trends --launches")
    commits = tuple({entry.commit: entry for entry in history.entries}.values())
    index = {entry.commit: number for number, entry in enumerate(commits)}
    points: dict[_SeriesKey, dict[int, _Point]] = {}
    files: dict[str, str] = {}
    steps: dict[int, list[TrendStep]] = {}
    for triton in dict.fromkeys(entry.triton for entry in history.entries):
        entries = [entry for entry in history.entries if entry.triton == triton and entry.capture]
        by_capture: dict[str, list[int]] = {}
        for entry in entries:
            by_capture.setdefault(entry.capture, []).append(index[entry.commit])
        for capture, indices in by_capture.items():
            with Workspace(history.folder / CAPTURES / capture) as workspace:
                series = grouped(workspace.variants, lambda each: (each.kernel.name, str(each.target)))
                for (kernel, target), variants in series.items():
                    files[kernel] = _relative(variants[-1].kernel.source.file, history.name)
                    point = _point(workspace, variants)
                    points.setdefault((kernel, target, triton), {}).update(dict.fromkeys(indices, point))
        for before, after in pairwise(entries):
            if before.capture != after.capture:
                number = index[after.commit]
                steps.setdefault(number, []).append(_step(history, before, after, number))
    joined = (_joined(number, steps[number]) for number in sorted(steps))
    problems = dict.fromkeys(
        (index[entry.commit], f"triton {entry.triton}: {problem}")
        for entry in history.entries
        for problem in entry.problems
    )
    kernels = _kernels(points, files, len(commits))
    return Trends(
        history, commits, tuple(kernels), tuple(step for step in joined if not step.empty), tuple(problems)
    )


def _point(workspace: Workspace, variants: Sequence[Variant]) -> _Point:
    facts = workspace.all_facts(variants)
    values: dict[str, FactValue] = {}
    for kind in TRENDS:
        numbers = (value_of(facts[variant.id], kind) for variant in variants)
        values[kind.name] = max((value for value in numbers if isinstance(value, int | float)), default=None)
    return _Point(values, len(variants), sum(variant.failure is not None for variant in variants))


def _relative(file: str, repository: str) -> str:
    """Return a file of a commit's folder, relative to the top folder of the repository."""
    _, folder, inside = file.rpartition(f"/{repository}/") if repository else ("", "", file)
    return inside if folder else file


def _kernels(
    points: Mapping[_SeriesKey, Mapping[int, _Point]], files: Mapping[str, str], commits: int
) -> list[KernelTrend]:
    """Return the kernels by name, those that moved first."""
    by_kernel: dict[str, list[TrendSeries]] = {}
    missing = _Point({}, 0, 0)
    for kernel, target, triton in sorted(points):
        known = points[kernel, target, triton]
        row = [known.get(number, missing) for number in range(commits)]
        series = TrendSeries(
            target,
            triton,
            {kind.name: tuple(point.values.get(kind.name) for point in row) for kind in TRENDS},
            tuple(point.variants for point in row),
            tuple(point.failed for point in row),
        )
        by_kernel.setdefault(kernel, []).append(series)
    trends = [KernelTrend(name, files[name], tuple(series)) for name, series in by_kernel.items()]
    return sorted(trends, key=lambda kernel: not kernel.moved)


def _step(history: History, before: Entry, after: Entry, index: int) -> TrendStep:
    """Return the changes between two captures with the same Triton."""
    with Workspace(history.capture(before)) as old, Workspace(history.capture(after)) as new:
        comparison = compare_captures(old, new)
    return TrendStep(
        index,
        (*_new_failures(comparison, after.triton), *_lines(comparison, after.triton, worse=True)),
        tuple(_lines(comparison, after.triton, worse=False)),
        tuple(f"{line} (triton {after.triton})" for line in map(one_line, comparison.unmatched)),
        tuple(one_line(f"{kernel}, {text}") for kernel, text in comparison.edits),
    )


def _lines(comparison: CaptureComparison, triton: str, worse: bool) -> Iterator[str]:
    """Yield a line per kernel and target that got worse, or only better, with its first variants."""
    groups: dict[tuple[str, str], list[str]] = {}
    for pair in comparison.worse if worse else comparison.better:
        changes = ", ".join(change_text(change, pair) for change in (pair.worse if worse else pair.better))
        group = groups.setdefault((pair.b.kernel.name, str(pair.b.target)), [])
        group.append(changes)
    for (kernel, target), texts in groups.items():
        shown = "; ".join(dict.fromkeys(texts[:_MAX_VARIANTS]))
        more = f"; {pluralize(len(texts), 'variant')} in all" if len(texts) > 1 else ""
        yield one_line(f"{kernel} on {target}, triton {triton}: {shown}{more}")


def _new_failures(comparison: CaptureComparison, triton: str) -> Iterator[str]:
    """Yield a line per variant that does not compile and is new: `worse` has the others."""
    for variant in comparison.diff.only_b:
        if variant.failure is not None:
            place = f"{variant.kernel.name} on {variant.target}, triton {triton}"
            yield one_line(f"{place}: does not compile: {variant.failure.summary}")


def _joined(index: int, steps: Sequence[TrendStep]) -> TrendStep:
    """Join the steps of the commit with this index, one per Triton."""

    def lines(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line for step in steps for line in getattr(step, name)))

    return TrendStep(index, lines("worse"), lines("better"), lines("other"), lines("edits"))
