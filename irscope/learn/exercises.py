"""The exercises of a lesson: files that the learner edits, and what is still missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irscope.learn.assertions import failure
from irscope.learn.context import LessonContext
from irscope.learn.lesson import Exercise, Lesson
from irscope.learn.sample_commands import COMMAND, docstring
from irscope.model import UserError
from irscope.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Task:
    """An exercise as the learner sees it: the name of the file, a title, and the task as Markdown."""

    exercise: Exercise
    file: str
    title: str
    text: str

    @property
    def content(self) -> str:
        """The file to begin with."""
        text = self.exercise.file.read_text(encoding="utf-8")
        return text.replace("irscope compile exercise.py", f"irscope compile {self.file}")


def tasks(lesson: Lesson) -> Iterator[Task]:
    """The tasks of a lesson, named exercise_03a.py, exercise_03b.py, ..."""
    for letter, exercise in zip("abcdefgh", lesson.exercises, strict=False):
        title, _, text = docstring(exercise.file).partition("\n")
        text = text.partition(COMMAND)[0].strip()
        yield Task(exercise, f"exercise_{lesson.number:02}{letter}.py", title.rstrip("."), text)


def missing(exercise: Exercise, capture: Workspace) -> list[str]:
    """A line per goal that the learner's compiled file does not reach."""
    try:
        a, b = (LessonContext(capture, capture.variant(name)) for name in (exercise.a, exercise.b))
    except UserError as error:
        return [f"a variant is missing: {error}"]
    if not any(goal.error for goal in exercise.goals):
        for one in (a, b):
            if (failed := one.variant.failure) is not None:
                return [f"{one.name} does not compile: {failed.kind}: {failed.summary}"]
    return [reason for goal in exercise.goals if (reason := failure(goal, a, b))]
