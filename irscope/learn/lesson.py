"""What a lesson is, and the ones there are: a TOML file each in lessons/, about a sample or a file beside."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irscope.model import UserError, Value

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FOLDER = Path(__file__).parent / "lessons"
# In an installed irscope the samples are beside this file, in a checkout at its root.
_SAMPLES = (Path(__file__).parent / "samples", Path(__file__).parents[2] / "samples")


@dataclass(frozen=True, slots=True)
class LessonSweep:
    """A kernel and what it is compiled for, as `irscope compile` takes it.

    `file` has it: a sample, or a file beside the lesson. `fails` says that its variants are meant to
    fail: the message is the lesson.
    """

    file: Path
    kernel: str
    signature: str | None = None
    config: Mapping[str, list[Value]] | None = None
    const: Mapping[str, Value] | None = None
    targets: tuple[str, ...] = ("cuda:90",)
    passes: bool = False
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines to quote: from the first of a stage of A or B (`of`) that matches the pattern `find`.

    `stage` may also be one of the things beside the stages that Seen.text has, such as `python` or `lint`.
    """

    of: str
    stage: str
    find: str
    lines: int = 1


@dataclass(frozen=True, slots=True)
class Claim:
    """What an answer says, so that it can be checked; of each kind the fields that it needs.

    - `a`, `b` alone: an expectation of that variant's facts, as `irscope check` takes it;
    - `stage` and `has`: so many lines of the stage match the pattern, in `a` and `b` ("some": at least one);
    - `stage` and `diff`: the summary of the stage's diff contains this; "equal": there is none;
    - `more`, `less`: B has more, or less, of a fact than A; `same`: as much;
    - `error`: A's compilation failed, and the compiler's message contains this.

    `since` and `before` are the Triton versions that it holds for ("3.8"); all where neither is given.
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


@dataclass(frozen=True, slots=True)
class LessonStep:
    """One question and its answer, both Markdown, about two variants (the same one twice: about one).

    `a` and `b` name them as the other commands do. The learner is put before `stage`, at the first line
    that matches the pattern `find`. The question quotes what is `shown`, the answer its `excerpts`. Text
    may hold {{a.FACT}}, {{b.FACT}}, and {{a.STAGE:PATTERN}}: how many lines of the stage match.
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
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson; `about` goes before the steps, `more` after them."""

    number: int
    name: str
    title: str
    about: str
    sweeps: tuple[LessonSweep, ...]
    steps: tuple[LessonStep, ...]
    more: str = ""


def lessons() -> list[Lesson]:
    """All lessons, in order."""
    return [_load(path) for path in sorted(_FOLDER.glob("*.toml"))]


def find_lesson(text: str) -> Lesson:
    """The lesson that `text` names by its number or name. Raises UserError where none is called so."""
    all_ = lessons()
    for lesson in all_:
        if text in (str(lesson.number), f"{lesson.number:02}", lesson.name):
            return lesson
    names = ", ".join(f"{lesson.number} {lesson.name}" for lesson in all_)
    raise UserError(f"no lesson '{text}'; there are: {names}")


def _load(path: Path) -> Lesson:
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    number, _, name = path.stem.partition("_")
    beside = path.with_suffix(".py")
    sample = table.pop("sample", "")
    sweeps = tuple(_sweep({"sample": sample} | sweep, beside) for sweep in table.pop("sweep"))
    steps = tuple(_step(step) for step in table.pop("step"))
    return Lesson(int(number), name, sweeps=sweeps, steps=steps, **table)


def _sweep(table: dict[str, Any], beside: Path) -> LessonSweep:
    sample = table.pop("sample")
    file = next(filter(Path.is_dir, _SAMPLES)) / sample if sample else beside
    targets = {"targets": tuple(table["targets"])} if "targets" in table else {}
    return LessonSweep(file, **table | targets)


def _step(table: dict[str, Any]) -> LessonStep:
    shown, excerpts = (
        tuple(Excerpt(**excerpt) for excerpt in table.pop(key, ())) for key in ("shown", "excerpts")
    )
    claims = tuple(Claim(**claim) for claim in table.pop("claims", ()))
    return LessonStep(**{"b": table["a"]} | table, shown=shown, excerpts=excerpts, claims=claims)
