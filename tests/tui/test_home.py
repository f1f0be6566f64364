"""The home screen: what it lists, what opens from it, and the way back."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot

from irscope.store import CaptureWriter
from irscope.tui.app import IrscopeApp
from irscope.tui.home_entries import Section, age, folder_entries, recent_entries, writing_entries
from irscope.tui.home_visits import Start
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import OVERLAYS_CSS
from irscope.tui.screens.help import HelpView
from irscope.tui.screens.home import HomeScreen, HomeView
from irscope.tui.settings import CaptureState, StateFolder, now
from irscope.workspace import Workspace
from tests.tui import captures
from tests.tui.driving import drawn, press, settled


def home(tmp_path: Path, section: Section = Section.RECENT) -> IrscopeApp:
    return IrscopeApp(None, start=Start(StateFolder(tmp_path / "state"), section=section))


def view(pilot: Pilot[None]) -> HomeView:
    return pilot.app.screen.query_one(HomeView)


async def test_a_capture_opens_and_q_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    captures.matmul(tmp_path / "matmul.irscope")
    monkeypatch.chdir(tmp_path)
    app = home(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "Captures in this folder (1)" in drawn(view(pilot))
        assert "matmul_kernel" in drawn(view(pilot))
        styles = app.stylesheet.source[str(OVERLAYS_CSS), ""]
        await press(pilot, "enter")
        assert isinstance(app.screen, CompareScreen)
        assert app.stylesheet.source[str(OVERLAYS_CSS), ""] is styles, "not read again"
        await press(pilot, "q")
        assert isinstance(app.screen, HomeScreen)
        assert "Recent captures (1)" in drawn(view(pilot))
        await pilot.press("q")
        await pilot.pause()
    assert not app.is_running


async def test_lessons_and_samples_are_left_to_the_caller(tmp_path: Path) -> None:
    app = home(tmp_path, Section.LESSONS)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "j", "enter")
    assert app.choice is not None
    assert app.choice.lesson == 2


async def test_without_captures_the_heading_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = home(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        heading = drawn(view(pilot)).splitlines()[0]
        assert "irscope KERNEL.py, or irscope run PROGRAM.py" in heading
        captures.matmul(tmp_path / "matmul.irscope")
        await press(pilot, "r")
        assert "kernel" in drawn(view(pilot)).splitlines()[0]
        assert "KERNEL.py" not in drawn(view(pilot))


async def test_help_lists_each_useful_key_once(tmp_path: Path) -> None:
    app = home(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "question_mark")
        page = drawn(app.screen.query_one(HelpView)).partition("In the home screen")[0]
        assert page.count("^p") == page.count("Most useful here") == 1


async def test_the_filter_searches_every_section(tmp_path: Path) -> None:
    app = home(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "slash", *"softmax", "enter")
        assert "fused_softmax.py" in drawn(view(pilot))
        assert "layer_norm.py" not in drawn(view(pilot))
        await press(pilot, "q")
        assert "Lessons (24)" in drawn(view(pilot))
        assert isinstance(app.screen, HomeScreen)


async def test_a_missing_capture_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone.irscope"
    StateFolder(tmp_path / "state").save(CaptureState(str(gone), now(), ("k",), ("cuda:90",), 3))
    app = home(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "enter")
        assert isinstance(app.screen, HomeScreen)
        assert "does not exist any more" in next(note.message for note in app._notifications)


async def test_from_the_main_screen_and_back(matmul: Path, tmp_path: Path) -> None:
    app = IrscopeApp(Workspace(matmul), start=Start(StateFolder(tmp_path / "state")))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "H")
        assert isinstance(app.screen, HomeScreen)
        await press(pilot, "q")
        assert isinstance(app.screen, CompareScreen)


async def test_a_long_comparison_does_not_hold_up_the_lists(matmul: Path, tmp_path: Path) -> None:
    app = IrscopeApp(Workspace(matmul), start=Start(StateFolder(tmp_path / "state")))
    compared = threading.Event()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app._background.later(compared.wait)
        try:
            await pilot.press("H")
            async with asyncio.timeout(20):
                while not app.screen.query(HomeView) or not view(pilot).entries(Section.SAMPLES):
                    await asyncio.sleep(0.01)
            assert "Lessons (24)" in drawn(view(pilot))
        finally:
            compared.set()


def test_a_capture_that_is_being_written_names_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "sweep.irscope"
    captures.matmul(path)
    child = os.fork()
    if child == 0:
        CaptureWriter.resume(path)
        os.write(1, b"")
        import time

        time.sleep(30)
        os._exit(0)
    try:
        import time

        end = time.monotonic() + 20
        found = list(writing_entries([path, path], tmp_path))
        # Until the writer has locked the capture, and said who it is.
        while not any(str(child) in entry.detail for entry in found):
            found = list(writing_entries([path, path], tmp_path))
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert [entry.name for entry in found] == ["sweep"]
    assert not list(writing_entries([path], tmp_path))


def test_captures_of_a_folder_and_its_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.irscope", "deep/b.irscope", "c.txt"):
        (tmp_path / name).write_text("")
    assert {entry.name for entry in folder_entries(tmp_path)} == {"a", "deep/b"}


def test_missing_captures_and_ages(tmp_path: Path) -> None:
    (entry,) = recent_entries([CaptureState(str(tmp_path / "x.irscope"), 0.0)], tmp_path)
    assert entry.missing
    assert [age(now() - seconds) for seconds in (5, 65, 7300)] == ["just now", "1 minute ago", "2 hours ago"]
