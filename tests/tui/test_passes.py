"""The passes: the list, the diff of the selected one, and the pass in which A and B diverge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from irscope.tui.app import IrscopeApp
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.passes import PassBar, PassesScreen, PassView
from irscope.workspace import Workspace
from irscope.workspace.pass_comparison import PassComparison
from tests import recorded_passes
from tests.tui.driving import drawn, press, texts

WIDE = (160, 50)


@pytest.fixture
def scale(tmp_path: Path) -> IrscopeApp:
    return IrscopeApp(Workspace(recorded_passes.write(tmp_path / "scale.irscope")))


def passes(pilot: Pilot[None]) -> PassView:
    return pilot.app.screen.query_one(PassView)


def listed(pilot: Pilot[None]) -> list[str]:
    """The names of the passes that the list shows."""
    view = passes(pilot)
    return [line.split()[3 if "◆" in line else 2] for line in drawn(view).splitlines()[1:] if line.strip()]


async def test_the_first_diverging_pass_is_marked_and_shown(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "p")
        shown = drawn(passes(pilot))
        assert "diverge in pass tritongpu-pipeline (ttgir); 10 passes, 8 changed the module" in shown
        marked = [line for line in shown.splitlines() if "◆" in line]
        assert [line.split()[3] for line in marked] == ["tritongpu-assign-latencies", "tritongpu-pipeline"]
        assert "attributes diverge here: 1 attribute" in marked[0]
        assert "operations diverge here: A +2 ttg.async_copy_global_to_local   B +4" in marked[1]
        assert passes(pilot).current is not None
        assert passes(pilot).current.step.name == "tritongpu-pipeline"  # type: ignore[union-attr]
        bar = drawn(pilot.app.screen.query_one(PassBar))
        assert "tritongpu-pipeline A num-stages=2  B num-stages=4" in bar
        assert "Rewrites scheduled loops" in bar
        assert "A after tritongpu-pipeline" in drawn(texts(pilot))
        # Three in each column, and the one under the cursor in full.
        assert drawn(texts(pilot)).count("async_copy_global_to_local") == 7


async def test_a_description_that_does_not_fit_ends_in_an_ellipsis(scale: IrscopeApp) -> None:
    async with scale.run_test(size=(80, 24)) as pilot:
        await press(pilot, "p")
        bar = drawn(pilot.app.screen.query_one(PassBar))
        assert bar.endswith("It does …")


async def test_a_pass_is_compared_once(scale: IrscopeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    change_of = PassComparison.change

    def counting(*arguments: Any) -> Any:
        compared.append(arguments)
        return change_of(*arguments)

    monkeypatch.setattr(PassComparison, "change", counting)
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "p")
        compared.clear()
        await press(pilot, "j")
        assert len(compared) == 1, "showing the diff must not ask for it again"


async def test_the_list_is_filtered_by_change_and_by_name(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "p")
        assert "canonicalize" not in listed(pilot)
        await press(pilot, "c")
        assert listed(pilot).count("canonicalize") == 2
        await press(pilot, "slash", *"coal", "enter")
        assert listed(pilot) == ["tritongpu-coalesce"]
        await press(pilot, "slash", *["backspace"] * 4, *"*llvm", "enter")
        assert listed(pilot) == ["convert-triton-gpu-to-llvm"]
        await press(pilot, "slash", *["backspace"] * 5, *"canon", "enter", "g", "n")
        view = pilot.app.screen.query_one(PassView)
        assert listed(pilot) == ["canonicalize"] * 2 and view.cursor == 1
        await press(pilot, "N")
        assert view.cursor == 0
        await press(pilot, "escape")
        assert len(listed(pilot)) == 10
        await press(pilot, "slash", "escape")
        assert len(listed(pilot)) == 10


async def test_a_pass_filter_without_matches_is_not_an_error(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "p", "slash", *"zzz", "enter", "j", "f", "d")
        assert listed(pilot) == []
        assert "no pass matches" in drawn(pilot.app.screen.query_one(PassBar))


async def test_the_bar_says_that_no_later_pass_changed_the_module(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "p", "G", "}")
        bar = pilot.app.screen.query_one(PassBar)
        assert drawn(bar).lstrip().startswith("No later pass changed the module.")
        assert not pilot.app._notifications
        await press(pilot, "{")
        assert "No later pass" not in drawn(bar)


async def test_the_diff_shows_both_or_a_or_b(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "p")
        counts = []
        for heading in ("A after", "A before", "B before", "A after"):
            assert heading in drawn(texts(pilot))
            counts.append(drawn(texts(pilot)).count("async_copy_global_to_local"))
            await press(pilot, "d")
        assert counts == [7, 3, 5, 7]


async def test_enter_enlarges_the_diff_and_escape_returns(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "p", "enter")
        assert not passes(pilot).display
        assert scale.focused is texts(pilot)
        await press(pilot, "escape")
        assert passes(pilot).display
        assert isinstance(scale.screen, PassesScreen)
        await press(pilot, "escape")
        assert isinstance(scale.screen, CompareScreen)


async def test_a_pass_without_a_diff_shows_a_message_or_its_result(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "p", "c", "d", "g", "j")
        assert "canonicalize: changed nothing" in drawn(texts(pilot))
        await press(pilot, "G", "k")
        assert "define void @scale" in drawn(texts(pilot))


async def test_a_single_variant_has_its_passes(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "g", "a", "b", "p")
        assert "diverge" not in drawn(passes(pilot)).splitlines()[0]
        assert len(listed(pilot)) == 8


async def test_the_pass_that_failed_is_listed(scale: IrscopeApp) -> None:
    async with scale.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "g", "j", "j", "j", "a", "b", "p", "G")
        assert listed(pilot)[-1] == "tritongpu-pipeline"
        assert "failed" in drawn(passes(pilot))


async def test_without_passes_a_message_names_the_option(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "p")
        assert isinstance(app.screen, CompareScreen)
        assert any("--passes" in note.message for note in app._notifications)


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_it_fits_a_small_terminal(scale: IrscopeApp, size: tuple[int, int]) -> None:
    async with scale.run_test(size=size) as pilot:
        await press(pilot, "p", "j", "k", "c", "enter", "escape")
        assert "tritongpu-pipeline" in drawn(passes(pilot))
