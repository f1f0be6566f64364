"""Every screen matches its picture, and works at any terminal size.

The pictures are text (tests/tui/picture.py). `--snapshot-update` regenerates them; review the changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from irscope.tui.app import IrscopeApp
from irscope.workspace import Workspace
from tests import recorded_passes
from tests.tui import captures
from tests.tui.driving import press, settled
from tests.tui.picture import TextPicture, characters, styles

# The light theme changes colors only, so one size shows it.
THEMES = {
    (80, 24): ["textual-dark"],
    (120, 40): ["textual-dark", "textual-light"],
    (200, 50): ["textual-dark"],
}


@dataclass(frozen=True)
class Shown:
    """A screen: the keys that lead there, in the app on a capture."""

    keys: tuple[str, ...]
    make: Callable[[Path], Path] = captures.matmul


SCREENS = {
    "compare": Shown(("3",)),
    "raw": Shown(("3", "t", "L")),
    "unfolded-other-way": Shown(("3", "f", "u", "G")),
    "python": Shown(("1",)),
    "single-variant": Shown(("4",)),
    "failed": Shown(("shift+tab", "G", "b")),
    "search": Shown(("3", "slash", *"arith", "enter")),
    "table": Shown(("shift+tab", "l", "s", "F", *"warps<8", "enter")),
    "source": Shown(("3", "slash", *"group_dot %", "enter", "S"), captures.traced),
    "explain": Shown(("3", "e"), captures.traced),
    "chart": Shown(("C", "l")),
    "why": Shown(("W", "j", "j"), captures.traced),
    "bits": Shown(("I",), captures.softmax),
    "layout": Shown(("3", "slash", *"local_load", "enter", "T", "l")),
    "timeline": Shown(("3", "P", "j", "l", "l"), captures.traced),
    "passes": Shown(("p",), recorded_passes.write),
    "help": Shown(("question_mark",)),
    "hostile": Shown(("2",), captures.hostile),
}


def named(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


@pytest.mark.parametrize("size", THEMES, ids=named)
@pytest.mark.parametrize("name", SCREENS)
async def test_screens_match_their_pictures(
    tmp_path: Path, snapshot: SnapshotAssertion, name: str, size: tuple[int, int]
) -> None:
    shown = SCREENS[name]
    app = IrscopeApp(Workspace(shown.make(tmp_path / "x.irscope")))
    pictures = []
    async with app.run_test(size=size) as pilot:
        await press(pilot, *shown.keys)
        pictures.append(characters(app))
        for theme in THEMES[size]:
            app.theme = theme
            await settled(pilot)
            assert characters(app) == pictures[0]  # a theme moves nothing
            pictures.append(f"{theme}\n{styles(app)}")
    assert "\n".join(pictures) == snapshot(extension_class=TextPicture)


async def test_without_color(
    matmul: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = IrscopeApp(Workspace(matmul))
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "3")
        assert characters(app) + styles(app) == snapshot(extension_class=TextPicture)


@pytest.mark.parametrize("size", [(1, 1), (400, 100)], ids=named)
@pytest.mark.parametrize("name", SCREENS)
async def test_it_opens_in_tiny_and_huge_terminals(tmp_path: Path, name: str, size: tuple[int, int]) -> None:
    shown = SCREENS[name]
    app = IrscopeApp(Workspace(shown.make(tmp_path / "x.irscope")))
    async with app.run_test(size=size) as pilot:
        await press(pilot, *shown.keys, "j", "k")
        assert len(characters(app).splitlines()) == size[1]


@pytest.mark.parametrize("name", SCREENS)
async def test_it_survives_resizing(tmp_path: Path, name: str) -> None:
    shown = SCREENS[name]
    app = IrscopeApp(Workspace(shown.make(tmp_path / "x.irscope")))
    async with app.run_test(size=(40, 12)) as pilot:
        await press(pilot, *shown.keys)
        for size in ((1, 1), (400, 100), (40, 12)):
            await pilot.resize_terminal(*size)
            await press(pilot, "j", "k")
            assert len(characters(app).splitlines()) == size[1]


async def test_every_size_and_resizing_work(app: IrscopeApp) -> None:
    async with app.run_test(size=(40, 12)) as pilot:
        await settled(pilot)
        for size in [
            (40, 12),
            (1, 1),
            (10, 3),
            (300, 90),
            (80, 24),
            (99, 30),
            (100, 15),
            (120, 40),
            (20, 60),
        ]:
            await pilot.resize_terminal(*size)
            await press(pilot, "right_square_bracket", "u", "f", "pagedown", "tab", "j", "l")
        assert app.is_running
