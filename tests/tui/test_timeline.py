"""The screen of timelines: where the cursor goes, zooming by mouse, jumps to the code and back."""

from __future__ import annotations

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from irscope.tui.app import IrscopeApp
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.timeline import TimelineScreen, TimelineView
from tests.timelines import pipelined, specialized
from tests.tui.driving import drawn, press, tab, texts

SIZE = (120, 40)


class ViewApp(App[None]):
    """The panel alone, with timelines made by hand."""

    CSS = "TimelineView { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield TimelineView()

    def on_mount(self) -> None:
        self.query_one(TimelineView).show([pipelined(2), specialized()], ["A #1", "B #2"])


def view(pilot: Pilot[None]) -> TimelineView:
    return pilot.app.screen.query_one(TimelineView)


def described(pilot: Pilot[None]) -> str:
    return drawn(pilot.app.screen.query_one("#timeline-span"))


async def test_enter_goes_to_the_line_of_the_span_and_back_returns_to_it(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "P")
        assert isinstance(app.screen, TimelineScreen)
        await press(pilot, "j", "l", "l", "+")
        place, text = view(pilot).place, described(pilot)
        assert " product of iteration" in text
        await press(pilot, "enter")
        assert isinstance(app.screen, CompareScreen)
        assert tab(pilot) == "ttgir"
        line, _ = texts(pilot).place
        assert "warp_group_dot" in (texts(pilot).line_text(False) or ""), line
        await press(pilot, "backspace")
        assert isinstance(app.screen, TimelineScreen)
        assert view(pilot).place == place
        assert described(pilot) == text


async def test_below_the_last_row_are_the_sentences(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "P", *["j"] * 30)
        assert "B compared with A" in drawn(view(pilot))
        await press(pilot, *["k"] * 30)
        assert drawn(view(pilot)).splitlines()[0].startswith("A #1")


@pytest.mark.parametrize(
    ("down", "up"), [("G", "g"), ("pagedown", "pageup"), ("ctrl+f", "ctrl+b"), ("ctrl+d", "ctrl+u")]
)
async def test_pages_lead_to_the_sentences_and_back(app: IrscopeApp, down: str, up: str) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "P", *[down] * 4)
        assert "B compared with A" in drawn(view(pilot))
        await press(pilot, *[up] * 4)
        assert drawn(view(pilot)).splitlines()[0].startswith("A #1")


async def test_a_variant_that_failed_says_why_it_has_no_timeline(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "shift+tab", "G", "b", "P")
        assert isinstance(app.screen, TimelineScreen)
        assert "no timeline: " in drawn(view(pilot))
        assert any(line.startswith("tensor cores") for line in drawn(view(pilot)).splitlines())


async def test_up_and_down_keep_the_time_and_left_and_right_stay_in_the_row() -> None:
    async with ViewApp().run_test(size=SIZE) as pilot:
        panel = view(pilot)
        for _ in range(99):
            panel.move(1)
        side, last = panel.current or (0, 0)
        assert pipelined(2).spans[last].kind == "store"
        panel.move_lane(1)
        side, index = panel.current or (0, 0)
        assert (side, pipelined(2).spans[index].kind, pipelined(2).spans[index].iteration) == (
            0,
            "product",
            3,
        )
        for _ in range(99):
            panel.move_lane(1)
        side, index = panel.current or (0, 0)
        assert (side, specialized().spans[index].buffers) == (1, ("out",))


async def test_a_wait_leads_to_what_ends_it_and_back() -> None:
    async with ViewApp().run_test(size=SIZE) as pilot:
        panel = view(pilot)
        assert panel.current == (0, next(n for n, s in enumerate(pipelined(2).spans) if s.kind == "wait"))
        wait = panel.current
        assert panel.follow_wait()
        assert pipelined(2).spans[(panel.current or (0, 0))[1]].kind == "copy"
        assert panel.follow_wait()
        assert panel.current == wait


@pytest.mark.parametrize("x", [30, 70, 110])
async def test_the_wheel_keeps_the_cycle_under_the_pointer(x: int) -> None:
    async with ViewApp().run_test(size=SIZE) as pilot:
        panel = view(pilot)
        before = panel._cycle(x)
        for _ in range(4):
            panel.post_message(wheel(events.MouseScrollUp, panel, x))
            await pilot.pause()
        assert panel.place[3] > 4
        assert panel._cycle(x) == pytest.approx(before, abs=20)
        for _ in range(9):
            panel.post_message(wheel(events.MouseScrollDown, panel, x))
            await pilot.pause()
        assert panel.place[2:] == (0.0, 1.0)


def wheel(kind: type[events.MouseEvent], panel: TimelineView, x: int) -> events.MouseEvent:
    return kind(panel, x, 4, 0, 0, 0, False, False, False)


async def test_a_click_moves_the_cursor_to_the_span() -> None:
    async with ViewApp().run_test(size=SIZE) as pilot:
        lines = drawn(view(pilot)).splitlines()
        y = next(number for number, line in enumerate(lines) if line.startswith("tensor cores"))
        await pilot.click(TimelineView, offset=(lines[y].index("2"), y))
        side, index = view(pilot).current or (0, 0)
        assert (side, pipelined(2).spans[index].kind, pipelined(2).spans[index].iteration) == (
            0,
            "product",
            2,
        )
