"""Learn why autotune recompiles, in lessons with IR that this machine compiles.

A lesson compiles its own capture, asks a question, shows the IR and then
the answer: in the app, where . goes forward and , back; with --text, or without a terminal, as Markdown.
Without LESSON the app opens with the list of lessons; without a terminal, the list is printed.
Compiling executes the lesson's Python file, which is part of irscope. With --exercise, the lesson's exercises
are files of your own: edit them, and the same command says what is still missing. --slides writes a lesson
as slides, whose answers are uncovered by a key press.

example: irscope learn 2
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from irscope import __version__
from irscope.cli import options
from irscope.model import Expression, UserError, Value, parse_argument
from irscope.model.errors import print_note
from irscope.model.process import importing

if TYPE_CHECKING:
    from irscope.compiling.messages import SweepRequest
    from irscope.compiling.sweep import Progress
    from irscope.learn.exercises import Task
    from irscope.learn.lesson import Lesson, LessonSweep
    from irscope.tui.home_visits import AppExit

NAME = "learn"
GROUP = "learn and set up"
SUMMARY = "learn why autotune recompiles, in lessons with IR compiled here"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare LESSON and how to show it."""
    parser.add_argument("lesson", metavar="LESSON", nargs="?", help="its number or name; omit it to list all")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--text", action="store_true", help="print questions and answers as Markdown")
    how.add_argument(
        "--check", action="store_true", help="check the lesson's claims against what was compiled here"
    )
    how.add_argument(
        "--exercise",
        action="store_true",
        help="write the lesson's exercises into this folder; with edited ones, say what is still missing",
    )
    how.add_argument(
        "--slides", metavar="FILE", type=Path, help="write the lesson as slides for a class, one HTML file"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="the lesson's capture")


def run(args: argparse.Namespace) -> int:
    """List the lessons or show one; returns 1 if a claim is wrong or an exercise is not done."""
    from irscope.learn.lesson import find_lesson, lessons

    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if args.exercise or args.slides is not None:
        return _exercises(args) if args.exercise else _slides(args)
    if args.lesson is None and terminal and not (args.text or args.check):
        from irscope.cli import tui
        from irscope.tui.home_entries import Section

        return tui.visit(Section.LESSONS)
    if args.lesson is None:
        for lesson in lessons():
            print(f"{lesson.number:3}  {lesson.name:20} {lesson.title}")
        print("\nirscope learn NUMBER, or its name, opens one")
        return 0
    if terminal and not (args.text or args.check):
        from irscope.cli import tui

        ended = show_lesson(args.lesson, args.output)
        return tui.visit(ended=ended) if ended.choice else ended.code
    lesson = find_lesson(args.lesson)
    path = _compiled(lesson, args.output)
    if args.check:
        return _check(lesson, path)
    _print(lesson, path)
    return 0


def show_lesson(name: str, output: Path | None = None, from_home: bool = False) -> AppExit:
    """Compiles a lesson, if needed, and shows it in the app. Raises UserError if there is no such lesson."""
    from irscope.learn.lesson import find_lesson
    from irscope.learn.render import LessonPages

    with importing():
        from irscope.tui.app import run as run_app
    from irscope.tui.home_visits import Start
    from irscope.tui.settings import StateFolder
    from irscope.workspace import Workspace

    lesson = find_lesson(name)
    with Workspace(_compiled(lesson, output), writable=True) as workspace:
        start = Start(StateFolder(), from_home=from_home)
        return run_app(workspace, lesson=LessonPages(lesson, workspace), start=start)


def _exercises(args: argparse.Namespace) -> int:
    """Write the exercises that this folder lacks, and judges the others; returns 1 if one is not done."""
    from irscope.learn.exercises import tasks
    from irscope.learn.lesson import find_lesson

    if args.lesson is None or args.output is not None:
        raise UserError("--exercise needs a lesson and takes no -o: irscope learn 3 --exercise")
    code = 0
    for task in tasks(find_lesson(args.lesson)):
        path = Path(task.file)
        if path.exists():
            problems = _problems(task, path)
            print(f"{task.file}: {'not done yet' if problems else 'done'}: {task.title}")
            for problem in problems:
                print(f"  {problem}")
            if problems and path.read_text(encoding="utf-8") != task.content:
                print(f"  hint: {' '.join(task.exercise.hint.split())}")
            code = 1 if problems else code
        else:
            path.write_text(task.content, encoding="utf-8")
            print(f"{task.file}: written: {task.title}")
    print(f"edit a file, then check it: irscope learn {args.lesson} --exercise")
    return code


def _slides(args: argparse.Namespace) -> int:
    """Write a lesson as slides. Raises UserError if the file exists."""
    from irscope.learn.lesson import find_lesson
    from irscope.learn.slides import lesson_slides_html
    from irscope.model.files import write_output
    from irscope.model.text import encoded
    from irscope.workspace import Workspace

    if args.lesson is None:
        raise UserError("--slides needs a lesson: irscope learn 2 --slides lesson2.html")
    if args.slides.exists():
        raise UserError(f"{args.slides} exists; choose another name")
    lesson = find_lesson(args.lesson)
    with Workspace(_compiled(lesson, args.output), writable=True) as workspace:
        text = lesson_slides_html(lesson, workspace)
    write_output(args.slides, encoded(text), False)
    print(f"{args.slides}: {args.slides.stat().st_size:,} bytes", file=sys.stderr)
    return 0


def _problems(task: Task, path: Path) -> list[str]:
    """Return the unmet goals of an edited exercise. Compiling it executes it."""
    from irscope.learn.exercises import missing
    from irscope.workspace import Workspace

    parser = argparse.ArgumentParser()
    options.add_compilation(parser)
    arguments = parser.parse_args([], argparse.Namespace(output=None))
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "exercise.irscope")
        try:
            request = options.sweep_request(arguments, str(path), quiet=True)
            _compile(request, capture)
        except UserError as error:
            return [str(error)]
        with Workspace(capture, writable=True) as workspace:
            return missing(task.exercise, workspace)


def _compiled(lesson: Lesson, output: Path | None) -> Path:
    """Return the capture of a lesson, with everything that it needs."""
    path = output or lesson_capture(lesson)
    path.parent.mkdir(parents=True, exist_ok=True)
    compile_lesson(lesson, path)
    return path


def compile_lesson(lesson: Lesson, path: Path) -> None:
    """Compiles the variants of a lesson that the capture at `path` lacks.

    Raises UserError if a variant or a program fails unexpectedly.
    """
    from irscope.workspace.launch_expression import add_launches

    with tempfile.TemporaryDirectory() as cache:
        # The compiler's output is part of a lesson; if the cache has the kernel, it prints nothing.
        os.environ["TRITON_CACHE_DIR"] = cache  # the workers inherit it
        for sweep in lesson.sweeps:
            if not sweep.kernel:
                _run_program(sweep, path)
                continue
            progress = _compile(_request(sweep), path)
            if progress.failed and not sweep.fails:
                raise UserError(f"{sweep.kernel} did not compile; irscope list {path} shows why")
            if sweep.launch:
                add_launches(path, sweep.launch)


def _run_program(sweep: LessonSweep, path: Path) -> None:
    """Capture what a lesson's program launches, unless the capture has it. Executes the program.

    Raises UserError if it fails, for example because torch is not installed.
    """
    if path.exists() and _has_kernels_of(sweep.file, path):
        return
    from irscope.compiling.processes.run_tool import run_irscope

    if importlib.util.find_spec("torch") is None:
        raise UserError("this lesson runs a program that needs torch: pip install 'irscope[run]'")
    if sys.stderr.isatty():
        print_note(f"running {sweep.file.name} without a GPU")
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        captured = Path(folder, path.name)
        if path.exists():
            shutil.copy(path, captured)
        words = ["run", "--target", *sweep.targets, "--resume", "-o", str(captured), str(sweep.file)]
        done = run_irscope(*words)
        if done.returncode:
            program_errors = [line for line in done.stderr.splitlines() if not line.startswith("irscope:")]
            raise UserError(f"{sweep.file.name} failed: {(program_errors or ['it says nothing'])[-1]}")
        captured.replace(path)


def _has_kernels_of(file: Path, path: Path) -> bool:
    from irscope.workspace import Workspace

    with Workspace(path) as workspace:
        return any(variant.kernel.source.file == str(file) for variant in workspace.variants)


def _request(sweep: LessonSweep) -> SweepRequest:
    from irscope.compiling.compile_targets import requested_target
    from irscope.compiling.messages import SweepRequest

    return SweepRequest(
        file=sweep.file,
        kernel=sweep.kernel,
        signature=sweep.signature,
        constants={name: _value(value) for name, value in (sweep.const or {}).items()},
        axes={name: tuple(map(_value, values)) for name, values in (sweep.config or {}).items()},
        targets=tuple(map(requested_target, sweep.targets)),
        passes=sweep.passes,
    )


def _value(value: Value) -> Value | Expression:
    """Return a value in a lesson's file; text is what one would write after `--config NAME=`."""
    return parse_argument(value) if isinstance(value, str) else value


def _compile(request: SweepRequest, path: Path) -> Progress:
    from irscope.cli.progress import compilation_bar
    from irscope.compiling.sweep import compile_plan, planned
    from irscope.workspace import CaptureWriter

    with planned(request, None) as (plan, workers):
        writer = CaptureWriter.resume(path) if path.exists() else CaptureWriter.create(path)
        with writer, compilation_bar(plan) as report:
            return compile_plan(plan, workers, writer, "irscope learn", 300.0, report)


def _print(lesson: Lesson, path: Path) -> None:
    from irscope.learn.render import markdown
    from irscope.workspace import Workspace

    with Workspace(path, writable=True) as workspace:
        print(markdown(lesson, workspace), end="")


def _check(lesson: Lesson, path: Path) -> int:
    from irscope.learn.exercises import failed_assertions
    from irscope.workspace import Workspace

    with Workspace(path, writable=True) as workspace:
        broken = list(failed_assertions(lesson, workspace))
    claims = sum(len(step.assertions) for step in lesson.steps)
    for line in broken:
        print(line)
    print(f"lesson {lesson.number}: {claims - len(broken)} of {claims} claims hold")
    return 1 if broken else 0


def lesson_capture(lesson: Lesson) -> Path:
    """Return the path of a lesson's capture, so that a lesson is compiled only once.

    Its folder is per version, and per what the lesson compiles: two installations of one version have
    different files, and in one capture their variants would have the same names.
    """
    from hashlib import sha256
    from importlib.metadata import PackageNotFoundError, version

    import platformdirs

    triton = "none"
    with contextlib.suppress(PackageNotFoundError):
        triton = version("triton")
    digest = sha256(repr(lesson.sweeps).encode())
    for sweep in lesson.sweeps:
        digest.update(sweep.file.read_bytes())
    base = os.environ.get("IRSCOPE_LESSONS") or platformdirs.user_cache_path("irscope") / "learn"
    folder = Path(base) / f"irscope-{__version__}-triton-{triton}" / digest.hexdigest()[:12]
    return folder / f"{lesson.number:02}_{lesson.name}.irscope"
