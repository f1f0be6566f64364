"""Lessons as slides."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.learn.lesson import find_lesson
from irscope.learn.slides import _markdown, lesson_slides_html
from irscope.workspace import Workspace
from tests.conftest import Irscope
from tests.document.reports import Outline


def test_quoted_lines_stay_text() -> None:
    shown = _markdown("`<img src=x>` <script>x</script>\n\n```ttir\n<b>\u202e\n```\n\n[a](javascript:x)")
    assert "<img" not in shown and "<script" not in shown and "<b>" not in shown
    assert "\u202e" not in shown and "<a" not in shown


@pytest.mark.slow
def test_a_lesson_is_a_talk_with_covered_answers(irscope: Irscope, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    done = irscope("learn", "2", "--slides", "two.html", "-o", "two.irscope")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "two.html").read_text(encoding="utf-8")
    outline = Outline(text)
    assert not outline.open
    titles = [step.title for step in find_lesson("2").steps]
    assert [text.index(title) for title in titles] == sorted(text.index(title) for title in titles)
    assert 'class="fragment answer"' in text
    assert "{{" not in text and "exercise_02a.py" in text
    again = irscope("learn", "2", "--slides", "two.html", "-o", "two.irscope")
    assert again.returncode == 2 and "two.html exists" in again.stderr
    with Workspace(tmp_path / "two.irscope") as workspace:
        assert lesson_slides_html(find_lesson("2"), workspace) == text


def test_slides_need_a_lesson(irscope: Irscope) -> None:
    done = irscope("learn", "--slides", "x.html")
    assert done.returncode == 2 and "needs a lesson" in done.stderr
