"""The pages of a lesson in the app: question, answer, question, answer, ..., with lines to look at."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irscope.learn.context import contexts_of
from irscope.learn.lesson import Lesson, LessonStep
from irscope.learn.render import answer, ending, exercises, question
from irscope.model import Variant
from irscope.workspace import PYTHON, Workspace


@dataclass(frozen=True, slots=True)
class LessonPage:
    """A page: Markdown, two variants, and the stage and line (from 0) to show, of B if `right`.

    `line` is None if the page is not about a line.
    """

    heading: str
    text: str
    a: Variant
    b: Variant
    stage: str
    line: int | None = None
    right: bool = False


class LessonPages:
    """The pages of a lesson; one is open."""

    def __init__(self, lesson: Lesson, workspace: Workspace) -> None:
        self._lesson = lesson
        self._workspace = workspace
        self._open = -1

    def turn(self, direction: int) -> LessonPage | None:
        """Opens the next (1) or previous (-1) page; None if there is none.

        Takes as long as measuring two variants. Raises UserError if the capture lacks a variant of the lesson
        or is damaged.
        """
        wanted = self._open + direction
        if not 0 <= wanted < 2 * len(self._lesson.steps):
            return None
        page = self._page(wanted)
        self._open = wanted
        return page

    def _page(self, number: int) -> LessonPage:
        index, answered = divmod(number, 2)
        step = self._lesson.steps[index]
        a, b = contexts_of(step, self._workspace)
        parts = [self._lesson.about] if number == 0 else []
        parts += [f"**{step.title}**", answer(step, a, b) if answered else question(step, a, b)]
        if answered and step is self._lesson.steps[-1]:
            parts += [ending(self._lesson, self._workspace), exercises(self._lesson)]
        line, right = self._place(step, a.variant, b.variant)
        return LessonPage(
            heading=f"Lesson {self._lesson.number}, {'answer' if answered else 'question'} {index + 1} "
            f"of {len(self._lesson.steps)}",
            text="\n\n".join(part.strip() for part in parts if part),
            a=a.variant,
            b=b.variant,
            stage=step.stage,
            line=line,
            right=right,
        )

    def _place(self, step: LessonStep, a: Variant, b: Variant) -> tuple[int | None, bool]:
        """The first line in A, or else in B, that matches the step's pattern; and whether it is B's."""
        if not step.find or step.stage == PYTHON:
            return None, False
        for variant, right in ((a, False), (b, True)):
            if self._workspace.key(variant, step.stage):
                for number, line in enumerate(self._workspace.text(variant, step.stage).split("\n")):
                    if re.search(step.find, line):
                        return number, right and a is not b
        return None, False
