"""Copying, opening, saving, going to a line, and explaining terms."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from irscope.glossary.glossary import entries_in_line
from irscope.model import UserError
from irscope.tui.app import IrscopeApp
from irscope.tui.controllers import export
from irscope.tui.screens.dialogs import PromptScreen
from irscope.tui.screens.explain import ExplainScreen
from irscope.tui.widgets.findings_view import FindingsView
from irscope.workspace import Workspace
from tests.tui import captures
from tests.tui.compiling import until
from tests.tui.driving import drawn, press, settled, texts, typed

WIDE = (160, 50)
RIGHT = captures.stage("matmul_kernel", captures.LARGE, "ttgir").decode()
LEFT = captures.stage("matmul_kernel", captures.SMALL, "ttgir").decode()


async def answer(pilot: Pilot[None], text: str) -> None:
    """Replaces the default in the prompt."""
    await until(pilot, lambda: isinstance(pilot.app.screen, PromptScreen) and pilot.app.screen.query(Input))
    pilot.app.screen.query_one(Input).value = text
    await typed(pilot, "enter")
    await settled(pilot)


async def ask(pilot: Pilot[None], key: str, text: str) -> None:
    """Presses a key that opens a prompt, and answers."""
    await settled(pilot)
    await typed(pilot, key)
    await answer(pilot, text)


def messages(app: IrscopeApp) -> str:
    return "\n".join(note.message for note in app._notifications)


async def test_copy_an_operation_with_its_regions_as_a_diff(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "slash", *"scf.for", "enter", "c")
        copied = app.clipboard.split("\n")
        ours = [line[1:] for line in copied if line[0] == "-"]
        theirs = [line[1:] for line in copied if line[0] == "+"]
        assert len(ours) + len(theirs) == len(copied)
        for side, text in ((ours, LEFT), (theirs, RIGHT)):
            assert "scf.for" in side[0]
            assert side[-1].strip().startswith("}")
            assert "\n".join(side) in text


async def test_copy_an_identical_operation(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "slash", *"tt.get_program_id", "enter", "c")
        assert app.clipboard == texts(pilot).line_text(True)
        await press(pilot, "1", "G", "k", "k", "c")
        assert app.clipboard == texts(pilot).line_text(True)


async def test_save_never_overwrites(app: IrscopeApp, tmp_path: Path) -> None:
    path = tmp_path / "there.ttgir"
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3")
        await ask(pilot, "w", str(path))
        assert path.read_text() == RIGHT
        path.write_text("mine")
        await typed(pilot, "w")
        await until(pilot, lambda: field(app) == "matmul_kernel-2.ttgir")
        app.screen.query_one(Input).value = str(path)
        await typed(pilot, "enter")
        await until(pilot, lambda: field(app) == str(path) and "already exists" in messages(app))
        await typed(pilot, *"no/such", "enter")  # what is typed replaces the path
        await until(pilot, lambda: field(app) == "no/such" and "No such file" in messages(app))
        await typed(pilot, "home", *"X", "escape")
        await settled(pilot)
        assert field(app) == ""
        assert path.read_text() == "mine"
        assert len(list(tmp_path.rglob("*such*"))) == 0


async def test_the_name_of_a_saved_stage_is_free(
    app: IrscopeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    monkeypatch.chdir(folder)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3")
        for name in ("matmul_kernel-2.ttgir", "matmul_kernel-2.2.ttgir", "matmul_kernel-2.3.ttgir"):
            await typed(pilot, "w")
            await until(pilot, lambda name=name: field(app) == name)
            await typed(pilot, "enter")
            await until(pilot, lambda name=name: f"Saved {name}" in messages(app))
    assert len(list(folder.iterdir())) == 3
    assert {path.read_text() for path in folder.iterdir()} == {RIGHT}


def field(app: IrscopeApp) -> str:
    """Return the text in the prompt, "" if there is none."""
    return app.screen.query_one(Input).value if isinstance(app.screen, PromptScreen) else ""


async def test_save_the_stage_of_a(app: IrscopeApp, tmp_path: Path) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "x")
        await ask(pilot, "w", str(tmp_path / "a"))
        assert (tmp_path / "a").read_text() == LEFT


def test_text_that_is_not_utf8_is_saved_unchanged(tmp_path: Path) -> None:
    export.save_new(tmp_path / "x", "a\r\nb\udc80")
    assert (tmp_path / "x").read_bytes() == b"a\r\nb\x80"
    with pytest.raises(UserError):
        export.save_new(tmp_path / "x\x00", "")


async def test_another_program_opens_the_stage_at_the_line(
    app: IrscopeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "vi"
    seen = tmp_path / "seen"
    program.write_text(f'#!/bin/sh\nfor word; do echo "$word"; done > {seen}\ncat "$3" >> {seen}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PAGER", f"{program} -R")

    @contextlib.contextmanager
    def suspend(self: IrscopeApp) -> Iterator[None]:
        yield

    monkeypatch.setattr(IrscopeApp, "suspend", suspend)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "slash", *"tt.get_program_id", "enter", "o")
        option, line, path, text = seen.read_text().split("\n", 3)
        number = texts(pilot).line_of(True)
        assert number is not None
        assert (option, line) == ("-R", f"+{number + 1}")
        assert text == RIGHT
        assert path.endswith("matmul_kernel-2.ttgir")
        assert not Path(path).exists()


@pytest.mark.parametrize("command", ["/no/such/program", '"open quote', " "])
async def test_a_missing_program_is_reported(
    app: IrscopeApp, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PAGER", command)
    monkeypatch.setattr(IrscopeApp, "suspend", contextlib.nullcontext)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "o")
        assert "$PAGER" in messages(app)


async def test_a_terminal_that_cannot_be_suspended(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "o")
        assert "needs a terminal" in messages(app)


async def test_going_to_a_line(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3")
        await ask(pilot, "colon", "40")
        assert texts(pilot).line_of(True) == 39
        await ask(pilot, "colon", "a 12")
        assert texts(pilot).line_of(False) == 11
        before = texts(pilot).row
        for wrong in ("0", "99999", "x", "-1", "b"):
            await ask(pilot, "colon", wrong)
            assert texts(pilot).row == before
            assert f"No line {wrong}" in messages(app)


async def test_going_to_a_python_line_uses_the_numbers_of_the_file(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1")
        await ask(pilot, "colon", "26")
        assert "tl.program_id(0)" in (texts(pilot).line_text(True) or "")


async def test_explain_the_line(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "slash", *"sizePerThread", "enter", "e")
        assert isinstance(app.screen, ExplainScreen)
        shown = drawn(app.screen.query_one("ExplainView"))
        assert "#blocked   (blocked)" in shown
        assert "A layout for" in shown
        await press(pilot, "j", "e")
        assert not isinstance(app.screen, ExplainScreen)


async def test_the_definitions_of_the_layouts_on_a_line_are_one_key_away(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "3", "slash", *"warp_group_dot", "enter")
        line = texts(pilot).line_text(True) or ""
        assert "#mma" in line and "nvidia_mma" not in line
        await press(pilot, "e")
        shown = " ".join(drawn(app.screen.query_one("ExplainView")).split())
        defined = [f"A: {definition('#mma', LEFT)}", f"B: {definition('#mma', RIGHT)}"]
        defined += [f"A, B: {definition(name, RIGHT)}" for name in ("#shared", "#shared1", "#smem")]
        for text in defined:
            assert text in shown


def definition(name: str, stage: str) -> str:
    return next(line for line in stage.split("\n") if line.startswith(f"{name} = "))


async def test_explain_a_column(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "l", "l", "e")
        assert isinstance(app.screen, ExplainScreen)
        assert "num_warps" in drawn(app.screen.query_one("ExplainView"))


async def test_explain_a_finding(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "i", "e")
        assert isinstance(app.screen, ExplainScreen)
        shown = drawn(app.screen.query_one("ExplainView"))
        assert any(entry.word in shown for _, entry in entries_in_line(finding(app), of_view=True))


def finding(app: IrscopeApp) -> str:
    return app.screen_stack[-2].query_one(FindingsView).explained_text


async def test_a_line_without_terms_has_no_explanation(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1", "g", "e")
        assert "glossary" in messages(app)


def test_terms_of_a_line() -> None:
    assert entries_in_line("  %1 = tt.load %p : tensor<4x!tt.ptr<f16>, #blocked>")[0][0] == "tt.load"
    assert entries_in_line('#loc4 = loc("/shared/registers.py":51:19)') == []
    assert entries_in_line('  "tt.reduce"(%x)')[0][1].word == "tt.reduce"
    assert entries_in_line("ld.global.v4.b32 {%r1, %r2}, [%rd1];")[0][0] == "ld.global.v4.b32"
    assert entries_in_line("\x1b]0;%$!@#" * 2000) == []
    assert len(entries_in_line(" ".join(f"tt.load{i} ttg.x{i}" for i in range(9999)))) <= 12


async def test_hostile_text_breaks_nothing(tmp_path: Path) -> None:
    app = IrscopeApp(Workspace(captures.hostile(tmp_path / "hostile.irscope")))
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "2", "y", "c", "e", "S")
        assert app.is_running
