"""What the lessons say is so on the Triton that is installed; CI runs this on the oldest and the newest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irscope.learn.assertions import broken_claims
from irscope.learn.context import pair_of
from irscope.learn.lesson import Claim, Lesson, find_lesson, lessons
from irscope.learn.pages import LessonPages
from irscope.learn.render import markdown
from irscope.model import UserError
from irscope.store import CaptureReader
from irscope.workspace import Workspace

LESSONS = lessons()


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_claim_holds(irscope, tmp_path: Path, lesson: Lesson):
    path = tmp_path / "lesson.irscope"
    done = irscope("learn", str(lesson.number), "--check", "-o", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    claims = sum(len(step.claims) for step in lesson.steps)
    assert f"{claims} of {claims} claims hold" in done.stdout
    with CaptureReader(path) as capture:
        variants = capture.variants()
        told = markdown(lesson, variants, capture.read)
        _a_false_claim_is_told(lesson, capture)
        _what_is_quoted_and_counted_is_there(lesson, capture)
        pages = LessonPages(lesson, Workspace(path))
        for _ in range(2 * len(lesson.steps)):
            page = pages.turn(1)
            assert page is not None
            assert page.text.rpartition("\n\n")[2] in told, "the app says the same"
    assert "{{" not in told, "a value was not filled in"
    assert not re.search(r"```\w*\n\s*\n```", told), "an excerpt found nothing"
    assert str(tmp_path) not in told


def _what_is_quoted_and_counted_is_there(lesson: Lesson, capture: CaptureReader) -> None:
    for step in lesson.steps:
        sides = dict(zip("ab", pair_of(step, capture.variants(), capture.read), strict=True))
        wanted = [(one.of, one.stage, one.find) for one in (*step.shown, *step.excerpts)]
        wanted += re.findall(r"\{\{([ab])\.(\w+):(.+?)\}\}", step.question + step.answer)
        for side, stage, pattern in wanted:
            assert sides[side].count(stage, pattern), f"{step.title}: no line of {stage} has {pattern!r}"
        if step.find:
            assert any(seen.count(step.stage, step.find) for seen in sides.values()), step.title


def _a_false_claim_is_told(lesson: Lesson, capture: CaptureReader) -> None:
    """Each line count turned by one must be noticed: a check that cannot fail is none."""
    for step in lesson.steps:
        for claim in step.claims:
            if isinstance(claim.a, int):
                false = _with(lesson, step, Claim(**_fields(claim) | {"a": claim.a + 1}))
                versions = claim.since or claim.before
                assert versions or len(list(broken_claims(false, capture.variants(), capture.read))) == 1


def _fields(claim: Claim) -> dict[str, object]:
    return {name: getattr(claim, name) for name in Claim.__dataclass_fields__}


def _with(lesson: Lesson, step, claim: Claim) -> Lesson:
    from dataclasses import replace

    return replace(lesson, steps=(replace(step, claims=(claim,)),))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_step_asks_answers_and_claims(lesson: Lesson):
    assert lesson.steps
    for step in lesson.steps:
        assert step.question.strip()
        assert step.answer.strip()
        assert step.claims, f"{step.title}: nothing of the answer is checked"
        assert all(excerpt.of in "ab" for excerpt in step.excerpts)


def test_lessons_are_found_by_number_and_by_name():
    assert [lesson.number for lesson in LESSONS] == list(range(1, 14))
    assert find_lesson("2") == find_lesson("02") == find_lesson("layouts")
    with pytest.raises(UserError, match="no lesson 'x'; there are: 1 stages, 2 layouts"):
        find_lesson("x")


def test_the_list(irscope):
    done = irscope("learn")
    assert done.returncode == 0
    assert all(lesson.title in done.stdout for lesson in LESSONS)
    assert irscope("learn", "99").returncode == 2
