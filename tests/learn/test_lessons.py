"""The assertions of every lesson hold on the installed Triton; CI runs this on the oldest and the newest."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.learn.context import contexts_of
from irscope.learn.exercises import failed_assertions
from irscope.learn.lesson import Lesson, find_lesson, lessons
from irscope.learn.render import LessonPages, markdown
from irscope.model import UserError
from irscope.workspace import Workspace

LESSONS = lessons()


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_assertion_holds(irscope, tmp_path: Path, lesson: Lesson):
    if any(not sweep.kernel for sweep in lesson.sweeps):
        pytest.importorskip("torch")  # the lesson runs a program
    path = tmp_path / "lesson.irscope"
    done = irscope("learn", str(lesson.number), "--check", "-o", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    claims = sum(len(step.assertions) for step in lesson.steps)
    assert f"{claims} of {claims} claims hold" in done.stdout
    with Workspace(path) as capture:
        text = markdown(lesson, capture)
        _check_that_false_assertions_fail(lesson, capture)
        _check_quotations_and_counts(lesson, capture)
        pages = LessonPages(lesson, capture)
        for _ in range(2 * len(lesson.steps)):
            page = pages.turn(1)
            assert page is not None
            assert page.text.rpartition("\n\n")[2] in text, "the app shows the same text"
    assert "{{" not in text, "a placeholder was not filled in"
    assert not re.search(r"```\w*\n\s*\n```", text), "an excerpt found nothing"
    assert str(tmp_path) not in text


def _check_quotations_and_counts(lesson: Lesson, capture: Workspace) -> None:
    for step in lesson.steps:
        sides = dict(zip("ab", contexts_of(step, capture), strict=True))
        patterns = [(one.of, one.stage, one.find) for one in (*step.shown, *step.excerpts)]
        patterns += re.findall(r"\{\{([ab])\.(\w+):(.+?)\}\}", step.question + step.answer)
        for side, stage, pattern in patterns:
            assert sides[side].count(stage, pattern), f"{step.title}: no line of {stage} has {pattern!r}"
        if step.find:
            assert any(context.count(step.stage, step.find) for context in sides.values()), step.title


def _check_that_false_assertions_fail(lesson: Lesson, capture: Workspace) -> None:
    """Each assertion about a number of lines fails if the number is off by one."""
    for step in lesson.steps:
        for assertion in step.assertions:
            if isinstance(assertion.a, int):
                false = replace(assertion, a=assertion.a + 1)
                changed = replace(lesson, steps=(replace(step, assertions=(false,)),))
                versions = assertion.since or assertion.before
                assert versions or len(list(failed_assertions(changed, capture))) == 1


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_step_has_a_question_an_answer_and_assertions(lesson: Lesson):
    assert lesson.steps
    for step in lesson.steps:
        assert step.question.strip()
        assert step.answer.strip()
        assert step.assertions, f"{step.title}: no assertion checks the answer"
        assert all(excerpt.of in "ab" for excerpt in step.excerpts)


def test_lessons_are_found_by_number_and_by_name():
    assert [lesson.number for lesson in LESSONS] == list(range(1, 25))
    assert find_lesson("2") == find_lesson("02") == find_lesson("layouts")
    with pytest.raises(UserError, match="no lesson 'x'; the lessons are: 1 stages, 2 layouts"):
        find_lesson("x")


def test_the_pages_quote_every_excerpt():
    pages = sorted((Path(__file__).parents[2] / "docs" / "learn").glob("[0-9]*.md"))
    assert len(pages) == len(LESSONS)
    for page in pages:
        assert not re.search(r"```\w+\n\s*```", page.read_text()), f"{page.name}: an excerpt is empty"


def test_the_list(irscope):
    done = irscope("learn")
    assert done.returncode == 0
    assert all(lesson.title in done.stdout for lesson in LESSONS)
    assert irscope("learn", "99").returncode == 2
