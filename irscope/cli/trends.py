"""Follow the kernels of a package over its commits: registers, spills, instructions, shared memory.

With --launches, the recorded launches (a capture of `irscope run`, or a plan file) are compiled at commits of
a git repository, for each --target and with each --triton, into FOLDER, without a GPU. Only what changed is
compiled. FOLDER/index.html then shows the trends: one page that loads nothing else, to publish as it is.
What is compiled is what was committed; the work tree is not touched. Compiling a commit executes its files.

example: irscope trends nightly --launches launches.irscope --repository . --triton 3.8.0,3.9.0
  irscope trends nightly --launches launches.irscope --commits v1.0..HEAD --target cuda:90 --target hip:gfx942
  irscope trends nightly
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError
from irscope.model.errors import print_note
from irscope.model.files import write_output
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from irscope.jobs.trends.trends import History
    from irscope.jobs.versions.environments import Environment

NAME = "trends"
GROUP = "check"
SUMMARY = "follow the kernels of a package over its commits"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the captures and the page")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="the page (FOLDER/index.html)")
    compiling = parser.add_argument_group("compiling commits")
    compiling.add_argument(
        "--launches",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a capture or a plan file with launches; can be repeated",
    )
    compiling.add_argument(
        "--repository", metavar="DIR", type=Path, default=Path(), help="the git repository (default: here)"
    )
    compiling.add_argument(
        "--commits",
        metavar="RANGE",
        default="HEAD",
        help="a commit, v1.0..HEAD, or -20 for the last 20 that touch the kernels' packages (default: HEAD)",
    )
    options.add_target(compiling)
    compiling.add_argument(
        "--triton",
        metavar="VERSIONS",
        action="append",
        help="versions of Triton, installed in folders of their own (default: the one that is installed)",
    )
    options.add_workers(compiling)


def run(args: argparse.Namespace) -> int:
    """Compiles, then writes the page; returns 1 if nothing could be compiled at a commit."""
    from irscope.jobs.trends.trends import read_trends
    from irscope.jobs.trends.trends_page import trends_html
    from irscope.model.text import encoded

    code = _compile(args) if args.launches else 0
    trends = read_trends(args.folder)
    output = args.output or args.folder / "index.html"
    output.parent.mkdir(parents=True, exist_ok=True)
    write_output(output, encoded(trends_html(trends)), force=True)
    print(f"{output}: {trends.summary}; {pluralize(len(trends.steps), 'commit')} with changes")
    return code


def _compile(args: argparse.Namespace) -> int:
    from irscope.jobs.repository import Repository
    from irscope.jobs.trends.launches import for_targets, read_launches
    from irscope.jobs.trends.recording import Recording, record
    from irscope.jobs.trends.trends import read_history

    options.check_workers(args)
    targets = tuple(dict.fromkeys(map(options.target, args.target)))
    kernels = for_targets(read_launches(args.launches), targets)
    if not args.repository.is_dir():
        raise UserError(f"{args.repository}: no such folder; name a git repository with --repository")
    repository = Repository(args.repository)
    recording = Recording(repository, kernels, _environments(args), args.jobs, args.timeout)
    commits = repository.commits(args.commits, recording.folders)
    if not commits:
        raise UserError(f"--commits {args.commits}: no commit touches {', '.join(recording.folders)}")
    history = record(recording, commits, read_history(args.folder), print_note)
    _store_facts(history)
    compiled = {commit.sha for commit in commits}
    return int(any(entry.commit in compiled and not entry.capture for entry in history.entries))


def _environments(args: argparse.Namespace) -> tuple[Environment, ...]:
    """Return the environments of --triton. Raises UserError if one cannot be had."""
    from irscope.jobs.versions.environments import own_triton, prepare

    versions = options.split_names(args.triton)
    if not versions:
        installed = own_triton()
        if installed is None:
            raise UserError(
                "Triton is not installed; pip install 'irscope[compile]', or name --triton VERSION"
            )
        versions = [installed[0]]
    return tuple(prepare(version, report=print_note) for version in versions)


def _store_facts(history: History) -> None:
    """Store the facts of the captures that lack them, so that the page is written quickly."""
    from irscope.workspace import Workspace

    for name in dict.fromkeys(entry.capture for entry in history.entries if entry.capture):
        Workspace(history.folder / "captures" / name).store_facts()
