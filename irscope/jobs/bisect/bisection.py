"""Bisections over versions of the toolchain, over commits, and over both: first commits, then versions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Lock

from irscope.diff.rows import StageDiff, summarize
from irscope.diff.stage_diff import diff_stage
from irscope.facts.source.alignment import line_map
from irscope.findings.passes import divergences
from irscope.jobs.bisect.attribution import Endpoint, LayerResult, Pair, attribute, layers_of
from irscope.jobs.bisect.changes import Changes, SourceEdit, changed_python, changes_of, source_edits
from irscope.jobs.bisect.commits import CommitRequest, CommitSearch, CommitTester, search_commits
from irscope.jobs.bisect.compiling import CompiledVariant, KeptResults, Subject, compile_on
from irscope.jobs.bisect.criteria import Criterion, Reading
from irscope.jobs.bisect.interruption import threads
from irscope.jobs.bisect.layer_swap import Mixer
from irscope.jobs.bisect.pass_search import PassResult, PassSearch
from irscope.jobs.bisect.toolchains import Side
from irscope.jobs.repository import Repository, checkouts
from irscope.languages.language import parse
from irscope.model import UserError
from irscope.targets import stage_named

# Stages that are made by running passes, which can be searched one by one.
_WITH_PASSES = ("ttir", "ttgir", "llir")
# Aligning longer stages takes seconds; their lines are counted.
_MOST_LINES = 40_000

# The release in the last line of `ptxas --version`.
_CUDA = re.compile(r"Build cuda_(\d+\.\d+)\.r")

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class VersionReading:
    """A version, the tools it has, and what was read; `problem` says why nothing was."""

    label: str
    reading: Reading | None
    problem: str = ""
    tools: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Cause:
    """Why one version is worse than another: the layer, the pass, the changed lines, and the evidence.

    `good` and `bad` are labels; `stages` has the differences of each stage of the two in words. `candidates`
    are the layers that it may be if it is not known which. `no_changes` says why a step was located, but its
    changes cannot be shown.
    """

    good: str
    bad: str
    pair: Pair
    layers: LayerResult
    stages: tuple[tuple[str, str], ...]
    passes: PassResult | None = None
    changes: Changes | None = None
    no_changes: str = ""
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceCause:
    """The effect of the first bad commit: the edits of the kernel, and where the two compilations diverge."""

    edits: tuple[SourceEdit, ...]
    stages: tuple[tuple[str, str], ...]
    divergence: str
    changes: Changes | None = None


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
    jobs: int = 2
    seconds: float = 300.0
    report: Report = lambda _: None
    kept: KeptResults = field(default_factory=KeptResults)
    latest: Bisection | None = None
    _lock: Lock = field(default_factory=Lock)
    _start: float = 0.0

    def _know(self, change: Callable[[Bisection], Bisection]) -> None:
        """Add to what is known so far; several threads do."""
        with self._lock:
            if self.latest is not None:
                seconds = time.monotonic() - self._start
                self.latest = replace(change(self.latest), built=self.kept.made, seconds=seconds)

    def _begin(self, named: tuple[str, str, str], toolchain: str = "") -> None:
        self._start = time.monotonic()
        self.latest = Bisection(*named, self.criterion, toolchain=toolchain)

    def versions(
        self, sides: Sequence[Side | UserError], labels: Sequence[str], subject: Subject, name: str
    ) -> Bisection:
        """The first version at which a variant gets worse, and why.

        Raises UserError if fewer than two compile.
        """
        start = time.monotonic()
        named = subject.kernel, str(subject.target), name
        self._begin(named)
        known: dict[int, VersionReading] = {}

        def compile_(index: int, side: Side | UserError) -> CompiledVariant | UserError:
            result = self._compile(side, subject)
            known[index] = self._reading(side, labels[index], result)[0]
            readings = tuple(known[number] for number in sorted(known))
            self._know(lambda found: replace(found, versions=readings))
            return result

        with threads(self.jobs) as executor:
            compiled = list(executor.map(compile_, range(len(sides)), sides))
        return self._over_versions(sides, labels, compiled, named, start)

    def _compile(self, side: Side | UserError, subject: Subject) -> CompiledVariant | UserError:
        if isinstance(side, UserError):
            return side
        self.report(f"compiling with {side.label}")
        try:
            return compile_on(side, subject, self.kept, self.seconds)
        except UserError as error:
            return error

    def _over_versions(
        self,
        sides: Sequence[Side | UserError],
        labels: Sequence[str],
        compiled: Sequence[CompiledVariant | UserError],
        named: tuple[str, str, str],
        start: float,
    ) -> Bisection:
        ends: list[Endpoint] = []
        readings: list[VersionReading] = []
        for side, label, result in zip(sides, labels, compiled, strict=True):
            reading, end = self._reading(side, label, result)
            readings.append(reading)
            ends += [end] if end is not None else []
        if len(ends) < 2:
            problems = "; ".join(f"{one.label}: {one.problem}" for one in readings if one.problem)
            raise UserError(f"fewer than two versions compile {named[0]}: {problems}")
        worse = [(a, b) for a, b in pairwise(ends) if self.criterion.is_worse(a.reading, b.reading)]
        labeled = tuple((a.side.label, b.side.label) for a, b in worse)
        self._know(lambda found: replace(found, versions=tuple(readings), worse=labeled))
        cause = self.cause(*worse[0]) if worse else None
        return Bisection(
            *named,
            self.criterion,
            tuple(readings),
            labeled,
            cause,
            seconds=time.monotonic() - start,
            built=self.kept.made,
        )

    def _reading(
        self, side: Side | UserError, label: str, result: CompiledVariant | UserError
    ) -> tuple[VersionReading, Endpoint | None]:
        if isinstance(side, UserError) or isinstance(result, UserError):
            return VersionReading(label, None, str(result)), None
        tools = _tools(result)
        reading = self.criterion.read(result.facts)
        if reading is None:
            return VersionReading(side.label, None, "the fact is unknown", tools), None
        return VersionReading(side.label, reading, "", tools), Endpoint(side, result, reading)

    def cause(self, good: Endpoint, bad: Endpoint) -> Cause:
        """The layer and pass that make a variant worse with one toolchain than with another."""
        pair, mixer = Pair(good, bad, self.criterion), Mixer(self.kept, self.seconds)

        def know_layers(result: LayerResult) -> None:
            self._know(lambda found: replace(found, cause=_cause(pair, result, ())))

        layers = attribute(pair, mixer, self.jobs, self.report, know_layers)
        known = _cause(pair, layers, stage_differences(good.compiled, bad.compiled))
        self._know(lambda found: replace(found, cause=known))
        search, passes = self._passes(pair, layers, mixer)
        self.report("comparing")
        changes = changes_of(pair, layers, mixer, search, passes)
        return replace(
            known,
            passes=passes,
            changes=None if isinstance(changes, str) else changes,
            no_changes=changes if isinstance(changes, str) else "",
        )

    def _passes(
        self, pair: Pair, layers: LayerResult, mixer: Mixer
    ) -> tuple[PassSearch | None, PassResult | None]:
        span = layers.located.span
        if span is None or span.last - span.first != 1 or layers.cuts[span.last].name not in _WITH_PASSES:
            return None, None
        search = PassSearch(pair, mixer, layers.cuts[span.first].name, layers.cuts[span.last].name)
        return search, search.run(self.report)

    def commits(
        self, request: CommitRequest, sides: Sequence[Side | UserError], labels: Sequence[str]
    ) -> Bisection:
        """The first bad commit with the good (first) toolchain; with several, then the first bad version.

        Raises UserError if an end cannot be compiled.
        """
        start = time.monotonic()
        repository = Repository(request.request.file)
        first = sides[0]
        if isinstance(first, UserError):
            raise first
        requested = request.request
        self._begin((str(requested.kernel or ""), ", ".join(map(str, requested.targets)), ""), first.label)
        with checkouts(repository) as check_out:
            tester = CommitTester(repository, request, self.kept, check_out)
            found = search_commits(tester, repository, request, first, self.report, self._know_commits)
            if found.good is None or found.bad is None:
                raise AssertionError(found)
            variant = found.bad.compiled.variant
            named = variant.kernel.name, str(variant.target), str(variant.config)
            over = None
            if len(sides) > 1:
                compiled = self._at_bad_end(tester, repository, request, sides)
                over = self._over_versions(sides, labels, compiled, named, start)
        source = self._source_cause(found) if found.first_bad or found.candidates else None
        return Bisection(
            *named,
            self.criterion,
            over.versions if over else (),
            over.worse if over else (),
            over.cause if over else None,
            found,
            source,
            first.label,
            seconds=time.monotonic() - start,
            built=self.kept.made,
        )

    def _know_commits(self, known: CommitSearch) -> None:
        self._know(lambda found: replace(found, commits=known))

    def _at_bad_end(
        self,
        tester: CommitTester,
        repository: Repository,
        request: CommitRequest,
        sides: Sequence[Side | UserError],
    ) -> list[CompiledVariant | UserError]:
        sha = repository.resolve(request.range.partition("..")[2] or "HEAD")
        found: list[CompiledVariant | UserError] = []
        for side in sides:
            if not isinstance(side, UserError):
                self.report(f"compiling {sha[:10]} with {side.label}")
            try:
                if isinstance(side, UserError):
                    raise side
                found.append(tester.compile(sha, side))
            except UserError as error:
                found.append(error)
        return found

    def _source_cause(self, found: CommitSearch) -> SourceCause | None:
        if found.good is None or found.bad is None:
            return None
        good, bad = found.good.compiled, found.bad.compiled
        lines = line_map(good.variant.kernel, bad.variant.kernel)
        diverging = divergences(good.steps, bad.steps, good.documents, bad.documents, lines).first
        return SourceCause(
            tuple(source_edits(good.variant, bad.variant)),
            stage_differences(good, bad),
            "" if diverging is None else f"{diverging.place}: {diverging.summary}",
            self._source_changes(good, bad),
        )

    def _source_changes(self, good: CompiledVariant, bad: CompiledVariant) -> Changes | None:
        """The diff of the first stage that differs."""
        for stage in good.stages:
            diff = _stage_diff(good, bad, stage)
            if diff is not None and not diff.equal:
                python = changed_python(diff.in_lines_of_b(), bad.variant.kernel)
                return Changes(stage, "each commit's own Python", diff, python)
        return None


def _cause(pair: Pair, layers: LayerResult, stages: tuple[tuple[str, str], ...]) -> Cause:
    """Return the cause as far as the layers say it."""
    names = [cut.name for cut in layers.cuts[1:]]
    return Cause(
        pair.good.side.label,
        pair.bad.side.label,
        pair,
        layers,
        stages,
        candidates=tuple(layers_of(layers.located, names, pair)),
    )


def _tools(compiled: CompiledVariant) -> tuple[tuple[str, str], ...]:
    """The versions of Triton and the assembler: (("triton", "3.8.0"), ("ptxas", "12.9"))."""
    names = ("triton", "ptxas")
    found = [(name, compiled.versions[name]) for name in names if name in compiled.versions]
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
            found.append((stage, summarize(diff)))
        else:
            sizes = [f"{compiled.text(stage).count(chr(10)):,}" for compiled in (good, bad)]
            found.append((stage, f"{sizes[0]} -> {sizes[1]} lines"))
    return tuple(found)


def _stage_diff(good: CompiledVariant, bad: CompiledVariant, stage: str) -> StageDiff | None:
    """The diff of a text stage; None if it is too large, or binary."""
    language = stage_named(stage).language
    texts = good.text(stage), bad.text(stage)
    if language is None or max(text.count("\n") for text in texts) > _MOST_LINES:
        return None
    left, right = (parse(text, language) for text in texts)
    return diff_stage(stage, left, right, line_map(good.variant.kernel, bad.variant.kernel))
