"""Keys that come faster than the app handles them: they go to the prompt that opens, and nothing ends it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.app import ScreenStackError
from textual.events import Key, MouseDown, MouseUp

from irscope.tui.app import IrscopeApp
from irscope.tui.input_queue import InputQueue, hold_input
from irscope.tui.screens.choose_kernel import ChooseKernelScreen
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import ConfirmScreen, PromptScreen
from irscope.workspace import Workspace
from tests.tui.compiling import until
from tests.tui.conftest import disassemble
from tests.tui.driving import idle, press, settled, tab, texts
from tests.tui.test_what_if import Compiler

SIZE = (120, 40)


def send(app: IrscopeApp, *keys: str) -> None:
    """Sends keys without waiting for any."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))


async def test_a_line_number_goes_to_the_prompt_and_a_second_enter_to_the_texts(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        stage = tab(pilot)
        send(app, "colon", "1", "5", "enter", "enter")
        await settled(pilot)
        assert isinstance(app.screen, CompareScreen)
        assert tab(pilot) == stage
        await press(pilot, "escape")  # the second Enter went on to what the finding is about
        assert texts(pilot).place[0] == 14


@pytest.mark.parametrize("last", ["escape", "enter", "q"])
async def test_a_path_goes_to_the_prompt_and_what_follows_to_the_texts(
    app: IrscopeApp, tmp_path: Path, last: str
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        send(app, "w", *str(tmp_path / "saved"), "enter", last)
        await idle(pilot)
        assert (tmp_path / "saved").exists()
        assert isinstance(app.screen, ConfirmScreen if last == "q" else CompareScreen)
        assert app.is_running


async def test_typing_replaces_the_suggested_path(app: IrscopeApp, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        send(app, "w", *"x.txt", "enter")
        await settled(pilot)
        assert (tmp_path / "x.txt").exists()


async def test_a_dialog_that_is_prepared_gets_the_processor(app: IrscopeApp, monkeypatch) -> None:
    """While keys wait for a dialog, the app does not look at its panels all the time: the dialog needs it."""
    rounds = []
    is_busy = InputQueue._is_busy

    def counted(queue: InputQueue) -> bool:
        rounds.append(queue)
        return is_busy(queue)

    monkeypatch.setattr(InputQueue, "_is_busy", counted)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        with hold_input(app):
            send(app, "x", "y")
            await asyncio.sleep(0.5)
            assert len(rounds) <= 10
            assert not app.input.is_idle
        await until(pilot, lambda: app.input.is_idle)
        assert len(rounds) >= 2


async def test_values_and_consent_go_to_their_dialogs(matmul: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("matmul.py").write_text("def matmul_kernel(): pass\n")
    compiler = Compiler(tmp_path / "own.irscope")
    app = IrscopeApp(Workspace(matmul, disassemble), compiler=compiler)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        send(app, "plus", *"num_warps=8", "enter", "y", "1")
        await until(pilot, lambda: bool(compiler.asked) and app.input.is_idle)
        assert compiler.asked[0].values == {"num_warps": (8,)}
        assert isinstance(app.screen, CompareScreen)
        assert tab(pilot) == "python"


async def test_a_double_click_chooses_a_kernel_once(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        send(app, "at")
        await settled(pilot)
        assert isinstance(app.screen, ChooseKernelScreen)
        region = app.screen.query("ScopeView").first().region
        x, y = region.x + 3, region.y + 1
        for kind in (MouseDown, MouseUp, MouseDown, MouseUp):
            app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))
        await settled(pilot)
        assert isinstance(app.screen, CompareScreen)


async def test_a_second_answer_is_ignored(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        answers: list[str | None] = []
        prompt = PromptScreen("A question:")
        app.push_screen(prompt, answers.append)
        await pilot.pause()
        prompt.dismiss("first")
        prompt.dismiss("second")
        await settled(pilot)
        assert answers == ["first"]
        assert isinstance(app.screen, CompareScreen)


async def test_the_palette_runs_what_was_typed_ahead(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        for keys in (("x", "escape"), ("escape", "x"), ("ctrl+p", "escape", "escape")):
            send(app, "ctrl+p", *keys)
            await settled(pilot)
            assert isinstance(app.screen, CompareScreen)
        before = app.screen.query_one("#variants").display
        send(app, "ctrl+p", *"show or hide the table of", "enter", "enter")
        await settled(pilot)
        assert isinstance(app.screen, CompareScreen)
        assert app.screen.query_one("#variants").display is not before


async def test_a_key_that_comes_while_the_app_ends_is_no_error(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        app.exit()
    with pytest.raises(ScreenStackError) as raised:  # the screens are closed
        app.on_key(Key("f24", None))
    app._handle_exception(raised.value)
    assert app._exception is None
