"""The first commit of a repository at which a kernel gets worse, found as `git bisect` does."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from irscope.compiling.messages import SweepRequest
from irscope.jobs.bisect.attribution import Endpoint
from irscope.jobs.bisect.compiling import CompiledVariant, KeptResults, compile_on, digest_of
from irscope.jobs.bisect.criteria import Criterion, Reading
from irscope.jobs.bisect.toolchains import choose, planned_subjects
from irscope.jobs.repository import Commit, Repository
from irscope.jobs.versions.environments import Environment
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.model.text import pluralize

# A commit is bad if its value is nearer to that of the bad end.
_HALF = 0.5


@frozen
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


@frozen
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


class CommitSearcher:
    """Finds the first bad commit with the toolchain `side`: one whose value is nearer to the bad end's.

    `folder` checks a commit out. `tested` are the commits that were tested, in order.
    """

    def __init__(
        self,
        repository: Repository,
        request: CommitRequest,
        side: Environment,
        kept: KeptResults,
        folder: Callable[[str], Path],
        report: Callable[[str], None],
    ) -> None:
        self._repository, self._request, self._side = repository, request, side
        self._kept, self._folder, self._report = kept, folder, report
        self._path = repository.relative_path(request.request.file)
        self._good, self.bad_end = map(repository.resolve, split_git_range(request.range))
        self._tested: dict[str, CommitReading] = {}
        self._ends: dict[str, Endpoint] = {}

    def run(self, known: Callable[[CommitSearch], object]) -> CommitSearch:
        """Search; `known` gets each commit's result. Raises UserError if an end does not compile."""
        repository, criterion = self._repository, self._request.criterion
        good, bad = self._good, self.bad_end
        repository.check_ancestor(good, bad)
        self._known = known
        for sha in (good, bad):
            if self._test(sha) is None:
                raise UserError(f"commit {repository.commit(sha).short}: {self._tested[sha].problem}")
        first, last = self._ends[good].reading, self._ends[bad].reading
        if not criterion.is_worse(first, last):
            return self._result(good, bad, reason="it did not get worse")
        goods = [good]
        while True:
            candidates = repository.candidates(goods, bad)
            next_sha = next((sha for sha in candidates if sha != bad and sha not in self._tested), None)
            if next_sha is None:
                break
            self._report(f"{pluralize(len(candidates), 'commit')} left")
            end = self._test(next_sha)
            if end is None:
                continue
            badness = criterion.badness(end.reading, first, last)
            if badness > _HALF if badness is not None else end.reading.value != first.value:
                bad = next_sha
            else:
                goods.append(next_sha)
        base = next(
            sha for sha in (*repository.parents(bad), *reversed(goods)) if self._test(sha) is not None
        )
        result = replace(self._result(base, bad), good_commit=repository.commit(base))
        if len(candidates) == 1:
            return replace(result, first_bad=repository.commit(bad))
        commits = tuple(map(repository.commit, candidates))
        return replace(result, candidates=commits, reason="the commits between them do not compile")

    def _result(self, good: str, bad: str, reason: str = "") -> CommitSearch:
        tested = tuple(self._tested.values())
        return CommitSearch(tested, None, self._ends[good], self._ends[bad], reason=reason)

    def _test(self, sha: str) -> Endpoint | None:
        """Compile and read the kernel at a commit; None if it does not compile there."""
        if sha not in self._tested:
            commit = self._repository.commit(sha)
            self._report(f"commit {commit.short}")
            self._tested[sha] = self._read(sha, commit)
            tested = tuple(self._tested.values())
            self._known(CommitSearch(tested, None, reason="the search was interrupted"))
        return self._ends.get(sha)

    def _read(self, sha: str, commit: Commit) -> CommitReading:
        try:
            compiled = self.compile(sha, self._side)
        except UserError as error:
            return CommitReading(commit, None, str(error))
        reading = self._request.criterion.read(compiled.facts)
        if reading is None:
            return CommitReading(commit, None, "the fact is unknown there")
        self._ends[sha] = Endpoint(self._side, compiled, reading)
        return CommitReading(commit, reading)

    def compile(self, sha: str, side: Environment) -> CompiledVariant:
        """Return the kernel at a commit. Raises UserError if it does not compile there."""
        request = self._request.request
        axes: Mapping[str, object] = request.axes
        sweep = request.kernel, request.signature, request.constants, axes, request.targets
        settings = repr((*sweep, self._request.variant))
        key = digest_of("commit", self._repository.tree(sha), str(self._path), side.identity, settings)
        return CompiledVariant(self._kept.get(key, partial(self._compile, sha, side)))

    def _compile(self, sha: str, side: Environment, path: Path) -> None:
        """Write the capture of a commit. Raises UserError if the commit does not compile."""
        folder = self._folder(sha)
        seconds = self._request.seconds
        try:
            if not (folder / self._path).is_file():
                raise UserError(f"{self._path} is not there")
            request = replace(self._request.request, file=folder / self._path)
            subjects = planned_subjects(side, request, self._kept, seconds, folder)
            subject, _ = choose(subjects, self._request.variant)
            compiled = compile_on(side, subject, self._kept, seconds, folder)
        except UserError as error:
            raise UserError(str(error).replace(f"{folder}/", "")) from error
        shutil.copyfile(compiled.path, path)
