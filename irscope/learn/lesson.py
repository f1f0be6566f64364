"""Lessons, and how they are loaded: one TOML file each in lessons/, about a sample or a file next to it.

The kernels of their exercises are in exercise_files/.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irscope.learn.sample_commands import samples_folder
from irscope.model import UserError, Value
from irscope.model.records import frozen

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FOLDER = Path(__file__).parent / "lessons"


@frozen
class LessonSweep:
    """A kernel and what to compile it for, as for `irscope compile`; or a program to run, as `irscope run`.

    `file` is a sample or the file next to the lesson. Without `kernel`, it is run on a simulated GPU. `fails`
    is true if compilation is meant to fail. `launch` is how the kernel would be launched, as for
    `irscope pick --launch`; "" if the lesson says nothing about time.
    """

    file: Path
    kernel: str = ""
    signature: str | None = None
    config: Mapping[str, list[Value]] | None = None
    const: Mapping[str, Value] | None = None
    targets: tuple[str, ...] = ("cuda:90",)
    passes: bool = False
    fails: bool = False
    launch: str = ""

    @property
    def name(self) -> str:
        """Return the kernel, or the program."""
        return self.kernel or self.file.name


@frozen
class Excerpt:
    """Lines to quote from a stage of A or B (`of`), starting at the first that matches the pattern `find`.

    `stage` may also be one of learn.context.EXTRAS, such as `python` or `lint`.
    """

    of: str
    stage: str
    find: str
    lines: int = 1


@frozen
class Assertion:
    """A statement of an answer that is checked. The fields that are set determine its kind:

    - only `a` or `b`: an expectation about that variant's facts, as for `irscope check`;
    - `stage` and `has`: how many lines of the stage in `a` and `b` match the pattern ("some": at least one);
    - `stage` and `diff`: text that the summary of the stage's diff contains ("equal": no difference);
    - `more`, `less`, `same`: a fact that is greater, smaller or equal in B, compared with A;
    - `error`: text of the error that A's compilation failed with.

    `since` and `before` limit it to these Triton versions ("3.8").
    """

    a: int | str | None = None
    b: int | str | None = None
    stage: str = ""
    has: str = ""
    diff: str = ""
    more: str = ""
    less: str = ""
    same: str = ""
    error: str = ""
    since: str = ""
    before: str = ""


@frozen
class Measurement:
    """Markdown with figures that were measured with a version of Triton ("3.6") on a device ("H200")."""

    triton: str
    device: str
    text: str


@frozen
class LessonStep:
    """A question and its answer, both Markdown, about variants `a` and `b` (which may be the same).

    The app opens `stage` at the first line that matches the pattern `find`. The question quotes `shown`,
    the answer what was `measured` and `excerpts`. In the text, {{a.FACT}} is a fact, and {{a.STAGE:PATTERN}}
    the number of lines of the stage that match.
    """

    title: str
    question: str
    answer: str
    a: str
    b: str
    stage: str
    find: str = ""
    shown: tuple[Excerpt, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    measured: tuple[Measurement, ...] = ()
    assertions: tuple[Assertion, ...] = ()


@frozen
class Exercise:
    """A file for the learner to edit: a kernel of exercise_files/ after its task.

    `task` becomes the docstring of the file and has the command that compiles it. The `goals` hold
    when the exercise is done, for variants `a` and `b`, which may be the same; `hint` is Markdown.
    """

    file: Path
    task: str
    goals: tuple[Assertion, ...]
    hint: str
    a: str = "#1"
    b: str = "#1"


@frozen
class Lesson:
    """A lesson. `about` precedes the steps; `more`, what was `measured` and the exercises follow them."""

    number: int
    name: str
    title: str
    about: str
    sweeps: tuple[LessonSweep, ...]
    steps: tuple[LessonStep, ...]
    more: str = ""
    measured: tuple[Measurement, ...] = ()
    exercises: tuple[Exercise, ...] = ()


def lessons() -> list[Lesson]:
    """Return all lessons, in order."""
    return [_load(path) for path in sorted(_FOLDER.glob("*.toml"))]


def find_lesson(text: str) -> Lesson:
    """Return the lesson with this number or name ("-" is as good as "_").

    Raises UserError if there is none.
    """
    all_lessons = lessons()
    for lesson in all_lessons:
        if text.replace("-", "_") in (str(lesson.number), f"{lesson.number:02}", lesson.name):
            return lesson
    names = ", ".join(f"{lesson.number} {lesson.name}" for lesson in all_lessons)
    raise UserError(f"no lesson '{text}'; the lessons are: {names}")


def _load(path: Path) -> Lesson:
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    number, _, name = path.stem.partition("_")
    lesson_file = path.with_suffix(".py")
    sample = table.pop("sample", "")
    sweeps = tuple(_sweep({"sample": sample} | sweep, lesson_file) for sweep in table.pop("sweep"))
    steps = tuple(_step(step) for step in table.pop("step"))
    exercises = tuple(map(_exercise, table.pop("exercise", ())))
    measured = _measurements(table)
    return Lesson(
        int(number), name, sweeps=sweeps, steps=steps, measured=measured, exercises=exercises, **table
    )


def _sweep(table: dict[str, Any], lesson_file: Path) -> LessonSweep:
    sample = table.pop("sample")
    file = samples_folder() / sample if sample else lesson_file
    targets = {"targets": tuple(table["targets"])} if "targets" in table else {}
    return LessonSweep(file, **table | targets)


def _exercise(table: dict[str, Any]) -> Exercise:
    goals = tuple(Assertion(**goal) for goal in table.pop("goals"))
    file = _FOLDER.with_name("exercise_files") / table.pop("file")
    return Exercise(file, goals=goals, **table)


def _measurements(table: dict[str, Any]) -> tuple[Measurement, ...]:
    return tuple(Measurement(**measured) for measured in table.pop("measured", ()))


def _step(table: dict[str, Any]) -> LessonStep:
    question_excerpts, excerpts = (
        tuple(Excerpt(**excerpt) for excerpt in table.pop(key, ())) for key in ("shown", "excerpts")
    )
    assertions = tuple(Assertion(**assertion) for assertion in table.pop("assertions", ()))
    measured = _measurements(table)
    return LessonStep(
        **{"b": table["a"]} | table,
        shown=question_excerpts,
        excerpts=excerpts,
        measured=measured,
        assertions=assertions,
    )
