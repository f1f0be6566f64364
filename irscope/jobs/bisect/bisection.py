"""Bisections over versions of the toolchain, over commits, and over both: first commits, then versions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Lock
from typing import Any

from irscope.diff.rows import StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.facts.source.alignment import line_map
from irscope.findings.passes import divergences
from irscope.jobs.bisect.attribution import Endpoint, LayerResult, Pair, attribute
from irscope.jobs.bisect.changes import Changes, SourceEdit, changed_python, changes_of, source_edits
from irscope.jobs.bisect.commits import CommitRequest, CommitSearch, CommitSearcher
from irscope.jobs.bisect.compiling import CompiledVariant, KeptResults, Subject, compile_on
from irscope.jobs.bisect.criteria import Criterion, Reading
from irscope.jobs.bisect.interruption import threads
from irscope.jobs.bisect.layer_swap import Mixer
from irscope.jobs.bisect.pass_search import PassResult, PassSearch
from irscope.jobs.repository import Repository, checkouts
from irscope.jobs.versions.environments import Environment
from irscope.languages.language import parse
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.targets import stage_named

# Stages that are made by running passes, which can be searched one by one.
_WITH_PASSES = ("ttir", "ttgir", "llir")
# Aligning longer stages takes seconds; their lines are counted.
_MOST_LINES = 40_000

# The release in the last line of `ptxas --version`.
_CUDA = re.compile(r"Build cuda_(\d+\.\d+)\.r")

Report = Callable[[str], None]


@frozen
class VersionReading:
    """A version, the tools it has, and what was read; `problem` says why nothing was."""

    label: str
    reading: Reading | None
    problem: str
    tools: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Cause:
    """Why one version is worse than another: the layer, the pass, the changed lines, and the evidence.

    `stages` has the differences of each stage of the two in words. `no_changes` says why a step was located,
    but its changes cannot be shown.
    """

    pair: Pair
    layers: LayerResult
    stages: tuple[tuple[str, str], ...] = ()
    passes: PassResult | None = None
    changes: Changes | None = None
    no_changes: str = ""

    @property
    def good(self) -> str:
        """The label of the last good version."""
        return self.pair.good.side.label

    @property
    def bad(self) -> str:
        """The label of the first bad version."""
        return self.pair.bad.side.label


@dataclass(frozen=True)
class SourceCause:
    """The effect of the first bad commit: the edits of the kernel, and where the two compilations diverge."""

    edits: tuple[SourceEdit, ...]
    stages: tuple[tuple[str, str], ...]
    divergence: str
    changes: Changes | None


@dataclass(frozen=True)
class Bisection:
    """The result. `worse` are the labels of consecutive versions between which the value gets worse.

    `interrupted` names the signal that ended the bisection before it was done; "" if none did.
    """

    kernel: str
    target: str
    name: str
    criterion: Criterion
    versions: tuple[VersionReading, ...] = ()
    worse: tuple[tuple[str, str], ...] = ()
    cause: Cause | None = None
    commits: CommitSearch | None = None
    source_cause: SourceCause | None = None
    toolchain: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    built: int = 0
    interrupted: str = ""


@dataclass
class Bisector:
    """Settings of a bisection; `jobs` builds run at once, each for at most `seconds`.

    `latest` is what a bisection that still runs has found; None before it has begun.
    """

    criterion: Criterion
    jobs: int
    seconds: float
    report: Report = lambda _: None
    kept: KeptResults = field(default_factory=KeptResults)
    latest: Bisection | None = None
    _lock: Lock = field(default_factory=Lock)
    _start: float = 0.0

    def versions(
        self, sides: Sequence[Environment | UserError], labels: Sequence[str], subject: Subject, name: str
    ) -> Bisection:
        """Return the first version at which a variant gets worse, and why.

        Raises UserError if fewer than two compile.
        """
        self._begin(Bisection(subject.kernel, str(subject.target), name, self.criterion))
        readings: dict[int, tuple[VersionReading, Endpoint | None]] = {}

        def compile_(side: Environment) -> CompiledVariant:
            self.report(f"compiling with {side.label}")
            return compile_on(side, subject, self.kept, self.seconds)

        def read(index: int) -> None:
            readings[index] = self._read(sides[index], labels[index], compile_)
            self._add(versions=tuple(readings[number][0] for number in sorted(readings)))

        with threads(self.jobs) as executor:
            list(executor.map(read, range(len(sides))))
        self._over_versions([readings[index][1] for index in range(len(sides))])
        return self._add()

    def commits(
        self, request: CommitRequest, sides: Sequence[Environment | UserError], labels: Sequence[str]
    ) -> Bisection:
        """Return the first bad commit with the good (first) toolchain; with several, the first bad version.

        Raises UserError if an end cannot be compiled.
        """
        repository = Repository(request.request.file)
        first = sides[0]
        if isinstance(first, UserError):
            raise first
        kernel, targets = str(request.request.kernel or ""), ", ".join(map(str, request.request.targets))
        self._begin(Bisection(kernel, targets, "", self.criterion, toolchain=first.label))
        with checkouts(repository) as check_out:
            searcher = CommitSearcher(repository, request, first, self.kept, check_out, self.report)
            search = searcher.run(lambda commits: self._add(commits=commits))
            if search.good is None or search.bad is None:
                raise AssertionError(search)
            variant = search.bad.compiled.variant
            self._add(
                commits=search,
                kernel=variant.kernel.name,
                target=str(variant.target),
                name=str(variant.config),
            )
            if len(sides) > 1:
                self._versions_at(searcher, sides, labels)
        if search.first_bad or search.candidates:
            self._add(source_cause=_source_cause(search.good.compiled, search.bad.compiled))
        return self._add()

    def _versions_at(
        self, searcher: CommitSearcher, sides: Sequence[Environment | UserError], labels: Sequence[str]
    ) -> None:
        """Bisect over versions at the bad end of the commits."""
        sha = searcher.bad_end

        def compile_(side: Environment) -> CompiledVariant:
            self.report(f"compiling {sha[:10]} with {side.label}")
            return searcher.compile(sha, side)

        readings = [self._read(side, label, compile_) for side, label in zip(sides, labels, strict=True)]
        self._add(versions=tuple(reading for reading, _ in readings))
        self._over_versions([end for _, end in readings])

    def _begin(self, bisection: Bisection) -> None:
        self._start = time.monotonic()
        self.latest = bisection

    def _add(self, **fields: Any) -> Bisection:
        """Replace fields of what is known so far, and return it; several threads do."""
        with self._lock:
            if self.latest is None:
                raise AssertionError("a bisection has begun")
            seconds = time.monotonic() - self._start
            self.latest = replace(self.latest, **fields, built=self.kept.made, seconds=seconds)
            return self.latest

    def _read(
        self, side: Environment | UserError, label: str, compile_: Callable[[Environment], CompiledVariant]
    ) -> tuple[VersionReading, Endpoint | None]:
        """Compile with a side, and read the criterion."""
        try:
            if isinstance(side, UserError):
                raise side
            compiled = compile_(side)
        except UserError as error:
            return VersionReading(label, None, str(error)), None
        tools = _tools(compiled)
        reading = self.criterion.read(compiled.facts)
        if reading is None:
            return VersionReading(side.label, None, "the fact is unknown", tools), None
        return VersionReading(side.label, reading, "", tools), Endpoint(side, compiled, reading)

    def _over_versions(self, read_ends: Sequence[Endpoint | None]) -> None:
        """Add the versions at which it gets worse, and why it does at the first of them."""
        ends = [end for end in read_ends if end is not None]
        if len(ends) < 2:
            known = self._add()
            problems = "; ".join(f"{one.label}: {one.problem}" for one in known.versions if one.problem)
            raise UserError(f"fewer than two versions compile {known.kernel}: {problems}")
        worse = [(a, b) for a, b in pairwise(ends) if self.criterion.is_worse(a.reading, b.reading)]
        self._add(worse=tuple((a.side.label, b.side.label) for a, b in worse))
        if worse:
            self._find_cause(Pair(*worse[0], self.criterion))

    def _find_cause(self, pair: Pair) -> None:
        """Add the layer and pass that make a variant worse with one toolchain than with another."""
        mixer = Mixer(self.kept, self.seconds)
        layers = attribute(
            pair, mixer, self.jobs, self.report, lambda result: self._add(cause=Cause(pair, result))
        )
        cause = Cause(pair, layers, stage_differences(pair.good.compiled, pair.bad.compiled))
        self._add(cause=cause)
        search = passes = None
        span = layers.located.span
        if span is not None and span.last - span.first == 1 and layers.cuts[span.last].name in _WITH_PASSES:
            search = PassSearch(pair, mixer, layers.cuts[span.first].name, layers.cuts[span.last].name)
            passes = search.run(self.report)
        self.report("comparing")
        changes = changes_of(pair, layers, mixer, search, passes)
        if isinstance(changes, str):
            self._add(cause=replace(cause, passes=passes, no_changes=changes))
        else:
            self._add(cause=replace(cause, passes=passes, changes=changes))


def _source_cause(good: CompiledVariant, bad: CompiledVariant) -> SourceCause:
    lines = line_map(good.variant.kernel, bad.variant.kernel)
    diverging = divergences(good.steps, bad.steps, good.module, bad.module, lines).first
    return SourceCause(
        tuple(source_edits(good.variant, bad.variant)),
        stage_differences(good, bad),
        "" if diverging is None else f"{diverging.place}: {diverging.summary}",
        _source_changes(good, bad),
    )


def _source_changes(good: CompiledVariant, bad: CompiledVariant) -> Changes | None:
    """Return the diff of the first stage that differs."""
    for stage in good.stages:
        diff = _stage_diff(good, bad, stage)
        if diff is not None and not diff.equal:
            python = changed_python(diff.in_lines_of_b(), bad.variant.kernel)
            return Changes(stage, "each commit's own Python", diff, python)
    return None


def _tools(compiled: CompiledVariant) -> tuple[tuple[str, str], ...]:
    """Return the versions of Triton and the assembler: (("triton", "3.8.0"), ("ptxas", "12.9"))."""
    names = ("triton", "ptxas")
    versions = compiled.variant.toolchain.versions
    found = [(name, versions[name]) for name in names if name in versions]
    return tuple((name, match[1] if (match := _CUDA.match(text)) else text) for name, text in found)


def stage_differences(good: CompiledVariant, bad: CompiledVariant) -> tuple[tuple[str, str], ...]:
    """Each stage and how it differs, in words: "equal", "3 added, 0 removed"."""
    found = []
    for stage in good.stages:
        if stage_named(stage).language is None:
            same = good.read(stage) == bad.read(stage)
            found.append((stage, "equal" if same else "differs"))
            continue
        diff = _stage_diff(good, bad, stage)
        if diff is not None:
            found.append((stage, diff.summary))
        else:
            sizes = [f"{compiled.text(stage).count(chr(10)):,}" for compiled in (good, bad)]
            found.append((stage, f"{sizes[0]} -> {sizes[1]} lines"))
    return tuple(found)


def _stage_diff(good: CompiledVariant, bad: CompiledVariant, stage: str) -> StageDiff | None:
    """Return the diff of a text stage; None if it is too large, or binary."""
    language = stage_named(stage).language
    texts = good.text(stage), bad.text(stage)
    if language is None or max(text.count("\n") for text in texts) > _MOST_LINES:
        return None
    left, right = (parse(text, language) for text in texts)
    return diff_stage(stage, left, right, line_map(good.variant.kernel, bad.variant.kernel))
