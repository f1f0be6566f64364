"""Lessons on why autotune recompiles, on IR that this machine just made.

Without LESSON it lists them. Each compiles its own capture, asks, lets you look, then shows the answer:
in the app, where . goes on and , goes back; with --text, or where there is no terminal, as Markdown.

  irscope learn 2
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from irscope import __version__
from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.capturing.compile.request import SweepRequest
    from irscope.capturing.compile.sweep import Progress
    from irscope.learn.lesson import Lesson, LessonSweep

NAME = "learn"
SUMMARY = "learn why autotune recompiles, lesson by lesson, on IR made here"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares LESSON and how to take it."""
    parser.add_argument("lesson", metavar="LESSON", nargs="?", help="its number or name; none: list them")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--text", action="store_true", help="print it, questions and answers, as Markdown")
    how.add_argument(
        "--check", action="store_true", help="check what the lesson says on what was compiled here"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="where its capture goes")


def run(args: argparse.Namespace) -> int:
    """Lists the lessons, or gives one; 1 where --check finds something that is not so."""
    from irscope.learn.lesson import find_lesson, lessons

    if args.lesson is None:
        for lesson in lessons():
            print(f"{lesson.number:3}  {lesson.title}")
        print("\nirscope learn NUMBER opens one")
        return 0
    lesson = find_lesson(args.lesson)
    path = args.output or _home() / f"{lesson.number:02}_{lesson.name}.irscope"
    path.parent.mkdir(parents=True, exist_ok=True)
    compile_lesson(lesson, path)
    if args.check:
        return _check(lesson, path)
    if args.text or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _print(lesson, path)
        return 0
    from irscope.learn.pages import LessonPages
    from irscope.tui.app import run as run_app
    from irscope.workspace import Workspace

    with Workspace(path) as workspace:
        return run_app(workspace, lesson=LessonPages(lesson, workspace))


def compile_lesson(lesson: Lesson, path: Path) -> None:
    """Compiles what the capture at `path` lacks of a lesson.

    Raises UserError where a variant fails that was not meant to.
    """
    with tempfile.TemporaryDirectory() as cache:
        # What the compiler prints is part of a lesson; a cache that has the kernel would keep it silent.
        os.environ["TRITON_CACHE_DIR"] = cache  # the workers inherit it
        for sweep in lesson.sweeps:
            progress = _compile(_request(sweep), path)
            if progress.failed and not sweep.fails:
                raise UserError(f"{sweep.kernel} did not compile; irscope list {path} says why")


def _request(sweep: LessonSweep) -> SweepRequest:
    from irscope.backends import parse_target
    from irscope.capturing.compile.request import SweepRequest

    return SweepRequest(
        file=sweep.file,
        kernel=sweep.kernel,
        signature=sweep.signature,
        constants=sweep.const or {},
        axes={name: tuple(values) for name, values in (sweep.config or {}).items()},
        targets=tuple(map(parse_target, sweep.targets)),
        passes=sweep.passes,
    )


def _compile(request: SweepRequest, path: Path) -> Progress:
    from irscope.capturing.compile.sweep import compile_plan, planned
    from irscope.cli.progress import progress_bar
    from irscope.store import CaptureWriter

    with planned(request, None) as (plan, workers):
        writer = CaptureWriter.resume(path) if path.exists() else CaptureWriter.create(path)
        with writer, progress_bar(plan) as report:
            return compile_plan(plan, workers, writer, "irscope learn", 300.0, report)


def _print(lesson: Lesson, path: Path) -> None:
    from irscope.learn.render import markdown
    from irscope.workspace import Workspace

    with Workspace(path) as workspace:
        print(markdown(lesson, workspace.variants, workspace.find_content), end="")


def _check(lesson: Lesson, path: Path) -> int:
    from irscope.learn.assertions import broken_claims
    from irscope.workspace import Workspace

    with Workspace(path) as workspace:
        broken = list(broken_claims(lesson, workspace.variants, workspace.find_content))
    claims = sum(len(step.claims) for step in lesson.steps)
    for line in broken:
        print(line)
    print(f"lesson {lesson.number}: {claims - len(broken)} of {claims} claims hold")
    return 1 if broken else 0


def _home() -> Path:
    """Where captures of lessons are kept, by version: a second visit compiles nothing."""
    from importlib.metadata import PackageNotFoundError, version

    import platformdirs

    triton = "none"
    with contextlib.suppress(PackageNotFoundError):
        triton = version("triton")
    base = os.environ.get("IRSCOPE_LESSONS") or platformdirs.user_cache_path("irscope") / "learn"
    return Path(base) / f"irscope-{__version__}-triton-{triton}"
