"""The first commit of a repository at which a kernel gets worse, found as `git bisect` does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from irscope.compiling.messages import SweepRequest
from irscope.jobs.bisect.attribution import Endpoint
from irscope.jobs.bisect.compiling import CompiledVariant, KeptResults, compile_on, compile_path, digest_of
from irscope.jobs.bisect.criteria import Criterion, Reading
from irscope.jobs.bisect.plans import choose, planned_subjects
from irscope.jobs.bisect.toolchains import Side
from irscope.jobs.repository import Commit, Repository
from irscope.model import UserError
from irscope.model.text import pluralize

# A commit is bad if its value is nearer to that of the bad end.
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class CommitReading:
    """A commit that was tested: what was read, or why it was skipped."""

    commit: Commit
    reading: Reading | None
    problem: str = ""


@dataclass(frozen=True)
class CommitSearch:
    """The result: the tested commits in order, the first bad one, and the good one that it is compared with.

    `candidates` are the commits of which one is the first bad one, if those between could not be compiled.
    """

    tested: tuple[CommitReading, ...]
    first_bad: Commit | None
    good: Endpoint | None = None
    bad: Endpoint | None = None
    good_commit: Commit | None = None
    candidates: tuple[Commit, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """A bisection of commits: `range` is GOOD..BAD, `request` names the kernel's file in the user's tree."""

    range: str
    request: SweepRequest
    variant: str | None
    criterion: Criterion
    seconds: float


def split_git_range(text: str) -> tuple[str, str]:
    """GOOD and BAD of `GOOD..BAD`; an empty end is HEAD, as in git. Raises UserError."""
    good, dots, bad = text.partition("..")
    if not dots or not (good or bad) or bad.startswith("."):
        raise UserError(f"--git {text}: write GOOD..BAD, two commits, such as v1.2..HEAD")
    return good or "HEAD", bad or "HEAD"


class CommitTester:
    """Compiles the kernel at commits, in one worktree, which is made when the first commit needs it."""

    def __init__(
        self, repository: Repository, request: CommitRequest, kept: KeptResults, folder: Callable[[str], Path]
    ) -> None:
        self._repository, self._request, self._kept, self._folder = repository, request, kept, folder
        self._path = repository.relative_path(request.request.file)

    def compile(self, sha: str, side: Side) -> CompiledVariant:
        """The kernel at a commit. Raises UserError if it does not compile there."""
        key = digest_of(
            "commit", self._repository.tree(sha), str(self._path), side.identity, self._settings()
        )
        path = self._kept.path(key, ".json")
        if not (path.exists() and _capture(path).exists()):
            self._kept.put(key, partial(self._compile, sha, side), ".json")
        return CompiledVariant(_capture(path))

    def read(self, sha: str, side: Side) -> tuple[Endpoint | None, CommitReading]:
        """The compilation at a commit and its reading; None and a reading that says why if it failed."""
        commit = self._repository.commit(sha)
        try:
            compiled = self.compile(sha, side)
        except UserError as error:
            return None, CommitReading(commit, None, str(error))
        reading = self._request.criterion.read(compiled.facts)
        if reading is None:
            return None, CommitReading(commit, None, "the fact is unknown there")
        return Endpoint(side, compiled, reading), CommitReading(commit, reading)

    def _settings(self) -> str:
        request = self._request.request
        axes: Mapping[str, object] = request.axes
        return repr(
            (
                request.kernel,
                request.signature,
                request.constants,
                axes,
                request.targets,
                self._request.variant,
            )
        )

    def _compile(self, sha: str, side: Side, path: Path) -> None:
        """Write where the result is kept. Raises UserError if the commit does not compile."""
        folder = self._folder(sha)
        seconds = self._request.seconds
        try:
            if not (folder / self._path).is_file():
                raise UserError(f"{self._path} is not there")
            request = replace(self._request.request, file=folder / self._path)
            subjects = planned_subjects(side, request, self._kept, seconds, folder)
            subject, _ = choose(subjects, self._request.variant)
            compile_on(side, subject, self._kept, seconds, folder)
            capture = compile_path(side, subject, self._kept, seconds, folder)
        except UserError as error:
            raise UserError(str(error).replace(f"{folder}/", "")) from error
        path.write_text(json.dumps({"capture": str(capture)}), encoding="utf-8")


def _capture(path: Path) -> Path:
    """The capture that a kept result names."""
    return Path(json.loads(path.read_text(encoding="utf-8"))["capture"])


def search_commits(
    tester: CommitTester,
    repository: Repository,
    request: CommitRequest,
    side: Side,
    report: Callable[[str], None],
    known: Callable[[CommitSearch], None] = lambda _: None,
) -> CommitSearch:
    """The first bad commit with one toolchain: one whose value is nearer to the bad end's.

    `known` gets what is known after each commit. Raises UserError if an end does not compile.
    """
    good, bad = map(repository.resolve, split_git_range(request.range))
    repository.check_ancestor(good, bad)
    log = _Log(tester, repository, side, report, known)
    first, last = log.must_test(good), log.must_test(bad)
    if not request.criterion.is_worse(first.reading, last.reading):
        return CommitSearch(tuple(log.tested.values()), None, first, last, reason="it did not get worse")
    goods: list[str] = [good]
    while True:
        candidates = repository.candidates(goods, bad)
        sha = next((sha for sha in candidates if sha != bad and sha not in log.tested), None)
        if sha is None:
            break
        report(f"{pluralize(len(candidates), 'commit')} left")
        end = log.test(sha)
        if end is None:
            continue
        badness = request.criterion.badness(end.reading, first.reading, last.reading)
        is_bad = badness > _HALF if badness is not None else end.reading.value != first.reading.value
        if is_bad:
            bad = sha
        else:
            goods.append(sha)
    base = next(sha for sha in (*repository.parents(bad), *reversed(goods)) if log.test(sha) is not None)
    one = len(candidates) == 1
    return CommitSearch(
        tuple(log.tested.values()),
        repository.commit(bad) if one else None,
        log.found[base],
        log.found[bad],
        repository.commit(base),
        () if one else tuple(map(repository.commit, candidates)),
        "" if one else "the commits between them do not compile",
    )


class _Log:
    """The commits that were tested, in order."""

    def __init__(
        self,
        tester: CommitTester,
        repository: Repository,
        side: Side,
        report: Callable[[str], None],
        known: Callable[[CommitSearch], None],
    ) -> None:
        self._tester, self._repository, self._side, self._report = tester, repository, side, report
        self._known = known
        self.tested: dict[str, CommitReading] = {}
        self.found: dict[str, Endpoint] = {}

    def test(self, sha: str) -> Endpoint | None:
        """The kernel at a commit; None if it does not compile there."""
        if sha not in self.tested:
            self._report(f"commit {self._repository.commit(sha).short}")
            compilation, self.tested[sha] = self._tester.read(sha, self._side)
            if compilation is not None:
                self.found[sha] = compilation
            self._known(CommitSearch(tuple(self.tested.values()), None, reason="the search was interrupted"))
        return self.found.get(sha)

    def must_test(self, sha: str) -> Endpoint:
        """The kernel at a commit. Raises UserError if it does not compile there."""
        found = self.test(sha)
        if found is None:
            raise UserError(f"commit {self._repository.commit(sha).short}: {self.tested[sha].problem}")
        return found
