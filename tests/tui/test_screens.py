"""What the screens look like, and that no size of terminal breaks them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from irscope.store import Capture
from irscope.tui.app import IrscopeApp
from tests.tui.driving import press, settled

SIZES = [(80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
def test_compare(app: IrscopeApp, snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    async def ready(pilot: Pilot[None]) -> None:
        pilot.app.theme = theme
        await press(pilot, "3")

    assert snap_compare(app, terminal_size=size, run_before=ready)


@pytest.mark.parametrize(
    "keys",
    [
        ("1",),
        ("4",),
        ("shift+tab", "G", "b"),
        ("slash", *"arith", "enter"),
        ("f", "u", "G"),
        ("question_mark",),
    ],
    ids=["python", "ptx", "failed", "search", "unfolded-other-way", "help"],
)
def test_states(app: IrscopeApp, snap_compare: Any, keys: tuple[str, ...]) -> None:
    async def ready(pilot: Pilot[None]) -> None:
        await press(pilot, *keys)

    assert snap_compare(app, terminal_size=(80, 24), run_before=ready)


def test_no_colour(matmul: Path, snap_compare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def ready(pilot: Pilot[None]) -> None:
        await press(pilot, "3")

    assert snap_compare(IrscopeApp(Capture(matmul)), terminal_size=(120, 40), run_before=ready)


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
