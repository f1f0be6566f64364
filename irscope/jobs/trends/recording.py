"""Compiles recorded launches at commits of a repository, each with each Triton, into a folder of captures.

Incremental: a commit whose packages are equal to those of an earlier one shares its capture, and a kernel
that did not change comes from the Triton cache of the folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.jobs.repository import Commit, Repository, checkouts
from irscope.jobs.trends.launches import at_commit, digest, import_roots, package_folders, relative_files
from irscope.jobs.trends.trends import CAPTURES, Entry, History
from irscope.jobs.versions.environments import Environment
from irscope.jobs.warm.launch_plans import PLANNER, KernelLaunches, WarmOptions, compile_launches
from irscope.model import UserError
from irscope.model.text import one_line

CACHE = "triton-cache"
_HASH = 12
Report = Callable[[str], None]


@dataclass(frozen=True)
class Recording:
    """A run that compiles the `kernels` of a repository with each of `environments`.

    `jobs` processes (None: one per core) with a limit of `seconds` per variant.
    """

    repository: Repository
    kernels: tuple[KernelLaunches, ...]
    environments: tuple[Environment, ...]
    jobs: int | None = None
    seconds: float = 300.0

    @property
    def files(self) -> dict[Path, Path]:
        """The files of the kernels in the repository. Raises UserError if one is not in it."""
        return relative_files(self.kernels, self.repository.root)

    @property
    def folders(self) -> list[str]:
        """The folders of the packages."""
        return package_folders(self.files.values(), self.repository.root)


def record(recording: Recording, commits: Sequence[Commit], history: History, report: Report) -> History:
    """Compiles the commits that the history lacks; writes captures and history as it goes.

    `report` receives a line per commit and Triton. Raises UserError if the folder cannot be written.
    """
    history = replace(history, name=recording.repository.name, url=recording.repository.url)
    try:
        (history.folder / CAPTURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{history.folder}: cannot be written: {error.strerror}") from error
    launches = digest(recording.kernels)
    with checkouts(recording.repository, recording.repository.name) as check_out:
        for number, commit in enumerate(commits, 1):
            content = " ".join(
                recording.repository.tree(commit.sha, folder) or "-" for folder in recording.folders
            )
            for environment in recording.environments:
                known = history.find(environment.name, launches, content)
                place = f"{number}/{len(commits)} {_named(commit)} triton {environment.name}"
                if known is not None:
                    history = history.with_entry(known.of(commit))
                    report(f"{place}: as {known.commit[:_HASH]}")
                else:
                    blank = Entry(
                        commit.sha, commit.committed, commit.subject, environment.name, "", content, launches
                    )
                    entry = _compiled(recording, environment, check_out(commit.sha), blank, history)
                    history = history.with_entry(entry)
                    report(f"{place}: {entry.capture or 'nothing compiled'}{_problems(entry)}")
                history.write()
    return history


def _named(commit: Commit) -> str:
    return f"{commit.sha[:_HASH]} {commit.committed[:10]}"


def _problems(entry: Entry) -> str:
    return "".join(f"\n  {one_line(problem)}" for problem in entry.problems)


def _compiled(
    recording: Recording, environment: Environment, tree: Path, entry: Entry, history: History
) -> Entry:
    """Return the entry with its capture: what this Triton compiled of the files in `tree`."""
    kernels, problems = at_commit(recording.kernels, recording.files, tree)
    if not kernels:
        return replace(entry, problems=tuple(problems))
    name = f"{entry.date[:10]}-{entry.commit[:_HASH]}-{environment.name}-{entry.launches[:6]}.irscope"
    roots = import_roots([file.relative_to(tree) for file in {each.file for each in kernels}], tree)
    variables = {
        "TRITON_CACHE_DIR": str((history.folder / CACHE / environment.name).absolute()),
        "PYTHONPATH": os.pathsep.join(filter(None, [*map(str, roots), os.environ.get("PYTHONPATH")])),
    }
    options = WarmOptions(processes=recording.jobs, seconds=recording.seconds, prices=False)
    with temporary_folder(".compiling-", history.folder) as temporary:
        output = Path(temporary) / name
        start = environment.spawner(PLANNER, variables)
        problems += compile_launches(kernels, output, options, "irscope trends", start).problems
        output.replace(history.folder / CAPTURES / name)
    problems = [problem.replace(f"{tree}{os.sep}", "") for problem in problems]
    return replace(entry, capture=name, problems=tuple(problems))
