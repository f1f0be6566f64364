"""A lesson in the app: turning pages, and the lines that they show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.widgets import Markdown

from irscope.learn.lesson import Excerpt, Lesson, LessonStep
from irscope.learn.render import LessonPages
from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.lesson_view import LessonView
from irscope.workspace import Workspace
from tests.tui import captures
from tests.tui.driving import press, settled, tab, texts

LAYOUTS = LessonStep(
    title="Layouts",
    question="Where is `#mma`? A has {{a.threads}} threads.",
    answer="Here, on {{b.ttgir:^#mma}} line.",
    a="#1",
    b="#2",
    stage="ttgir",
    find="^#mma",
    excerpts=(Excerpt("b", "ttgir", "^#mma"),),
)
STAGES = LessonStep(
    title="Down", question="And in PTX?", answer="It is gone.", a="#1", b="#1", stage="ptx", find="ret;"
)
LESSON = Lesson(1, "test", "A test", "What this is about.", (), (LAYOUTS, STAGES), "The end.")


def _text(pilot) -> str:
    return pilot.app.screen.query_one(Markdown).source


def _heading(pilot) -> str:
    return str(pilot.app.screen.query_one(LessonView).border_title)


async def test_pages_turn_and_the_texts_follow(tmp_path: Path):
    with Workspace(captures.matmul(tmp_path / "a.irscope")) as capture:
        app = IrscopeApp(capture, lesson=LessonPages(LESSON, capture))
        async with app.run_test(size=(160, 48)) as pilot:
            await settled(pilot)
            assert _heading(pilot) == "Lesson 1, question 1 of 2"
            assert "What this is about." in _text(pilot)
            assert "128 threads" in _text(pilot)
            assert tab(pilot) == "ttgir"
            assert (texts(pilot).line_text(False) or "").startswith("#mma")
            await press(pilot, ".")
            assert _heading(pilot) == "Lesson 1, answer 1 of 2"
            assert "on 1 line" in _text(pilot)
            assert "#mma = #ttg.nvidia_mma" in _text(pilot), "quoted from the capture"
            await press(pilot, ".")
            assert tab(pilot) == "ptx"
            assert "ret;" in (texts(pilot).line_text(False) or "")
            await press(pilot, ".", ".")
            assert "The end." in _text(pilot), "after the last page there is none"
            await press(pilot, "comma")
            assert _heading(pilot) == "Lesson 1, question 2 of 2"


async def test_it_fits_a_small_terminal(tmp_path: Path):
    with Workspace(captures.matmul(tmp_path / "a.irscope")) as capture:
        async with IrscopeApp(capture, lesson=LessonPages(LESSON, capture)).run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            view = pilot.app.screen.query_one(LessonView)
            assert view.size.height >= 8
            assert texts(pilot).size.height >= 8


async def test_without_a_lesson_its_keys_do_nothing(tmp_path: Path):
    with Workspace(captures.matmul(tmp_path / "a.irscope")) as capture:
        async with IrscopeApp(capture).run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            before = texts(pilot).row
            await press(pilot, ".", "comma")
            assert texts(pilot).row == before
            assert not pilot.app.screen.query("#lesson")


async def test_a_lesson_page_scrolls_to_its_end_before_the_next(tmp_path: Path):
    long = replace(LAYOUTS, question="\n\n".join(f"Line {number}." for number in range(12)))
    with Workspace(captures.matmul(tmp_path / "a.irscope")) as capture:
        app = IrscopeApp(capture, lesson=LessonPages(replace(LESSON, steps=(long, STAGES)), capture))
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            view = pilot.app.screen.query_one(LessonView)
            assert view.max_scroll_y > view.size.height, "two pages at least are below"
            await press(pilot, ".")
            assert 0 < view.scroll_offset.y < view.max_scroll_y
            assert _heading(pilot) == "Lesson 1, question 1 of 2"
            while view.scroll_offset.y < view.max_scroll_y:
                await press(pilot, ".")
            assert _heading(pilot) == "Lesson 1, question 1 of 2"
            await press(pilot, ".")
            assert _heading(pilot) == "Lesson 1, answer 1 of 2"
            assert view.scroll_offset.y == 0
