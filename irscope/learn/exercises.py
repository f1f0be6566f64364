"""The exercises of a lesson: files that the learner edits, and what is still missing.

Checks the assertions of a lesson against a capture of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.learn.context import LessonContext, contexts_of
from irscope.learn.lesson import Assertion, Exercise, Lesson
from irscope.learn.sample_commands import COMMAND
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.workspace import Workspace
from irscope.workspace.conditions import parse_expectation, unmet


def failed_assertions(lesson: Lesson, capture: Workspace) -> Iterator[str]:
    """Yield a line per assertion of the lesson that fails.

    Raises UserError if the capture lacks a variant.
    """
    for step in lesson.steps:
        a, b = contexts_of(step, capture)
        for assertion in step.assertions:
            if reason := failure(assertion, a, b):
                yield f"{step.title}: {reason}"


def failure(assertion: Assertion, a: LessonContext, b: LessonContext) -> str | None:
    """Return why an assertion fails, or None if it holds or does not apply to this version of Triton."""
    if not _applies_to(assertion, a.variant.toolchain.versions.get("triton", "")):
        return None
    if assertion.error:
        return _check_error(assertion, a)
    if assertion.has:
        return _check_lines(assertion, a, b)
    if assertion.diff:
        return _check_diff(assertion, a, b)
    if assertion.more or assertion.less or assertion.same:
        return _check_order(assertion, a, b)
    return _check_facts(assertion, a, b)


def _applies_to(assertion: Assertion, version: str) -> bool:
    number = _version(version)
    too_old = bool(assertion.since) and number < _version(assertion.since)
    too_new = bool(assertion.before) and number >= _version(assertion.before)
    return not (too_old or too_new)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _check_error(assertion: Assertion, a: LessonContext) -> str | None:
    error = a.variant.failure
    if error is None:
        return "it compiled"
    if assertion.error in f"{error.kind}: {error.summary}\n{error.message}":
        return None
    return f"the error is {error.kind}: {error.summary}"


def _check_lines(assertion: Assertion, a: LessonContext, b: LessonContext) -> str | None:
    for name, context, expected in (("A", a, assertion.a), ("B", b, assertion.b)):
        if expected is None:
            continue
        count = context.count(assertion.stage, assertion.has)
        if count != expected and not (expected == "some" and count):
            requirement = "at least one" if expected == "some" else expected
            lines = f"{count or 'no'} lines match {assertion.has}"
            return f"{name}'s {assertion.stage}: {lines}, expected {requirement}"
    return None


def _check_diff(assertion: Assertion, a: LessonContext, b: LessonContext) -> str | None:
    stage = assertion.stage
    summary = a.capture.diff(a.variant, b.variant, stage).summary
    return None if assertion.diff in summary else f"the diff of {stage} is: {summary}"


def _check_order(assertion: Assertion, a: LessonContext, b: LessonContext) -> str | None:
    name = assertion.more or assertion.less or assertion.same
    in_a, in_b = a.facts[name].value, b.facts[name].value
    if isinstance(in_a, int | float) and isinstance(in_b, int | float):
        holds = in_b > in_a if assertion.more else in_b < in_a if assertion.less else in_a == in_b
    else:
        holds = bool(assertion.same) and in_a == in_b and in_a is not None
    return None if holds else f"{name} is {in_a} in A and {in_b} in B"


def _check_facts(assertion: Assertion, a: LessonContext, b: LessonContext) -> str | None:
    for name, context, expected in (("A", a, assertion.a), ("B", b, assertion.b)):
        if expected is None:
            continue
        for missed in unmet(parse_expectation(str(expected)), context.facts):
            return f"{name}: {missed.comparison.text}: {missed.reason} ({missed.value})"
    return None


@frozen
class Task:
    """An exercise as the learner sees it: the name of the file, a title, and the task as Markdown."""

    exercise: Exercise
    file: str
    title: str
    text: str

    @property
    def content(self) -> str:
        """Return the file to begin with."""
        text = f'r"""{self.exercise.task}"""\n\n{self.exercise.file.read_text(encoding="utf-8")}'
        return text.replace("irscope compile exercise.py", f"irscope compile {self.file}")


def tasks(lesson: Lesson) -> Iterator[Task]:
    """Yield the tasks of a lesson, named exercise_03a.py, exercise_03b.py, ..."""
    for letter, exercise in zip("abcdefgh", lesson.exercises, strict=False):
        title, _, text = exercise.task.partition("\n")
        text = text.partition(COMMAND)[0].strip()
        yield Task(exercise, f"exercise_{lesson.number:02}{letter}.py", title.rstrip("."), text)


def missing(exercise: Exercise, capture: Workspace) -> list[str]:
    """Return a line per goal that the learner's compiled file does not reach."""
    try:
        a, b = (LessonContext(capture, capture.variant(name)) for name in (exercise.a, exercise.b))
    except UserError as error:
        return [f"a variant is missing: {error}"]
    if not any(goal.error for goal in exercise.goals):
        for context in (a, b):
            if (failed := context.variant.failure) is not None:
                return [f"{context.name} does not compile: {failed.kind}: {failed.summary}"]
    return [reason for goal in exercise.goals if (reason := failure(goal, a, b))]
