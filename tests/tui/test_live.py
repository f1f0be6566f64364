"""Variants that are compiled while the app runs: rows, stages and messages."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from irscope.model import Failure
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.tui.app import IrscopeApp
from irscope.tui.controllers import live_updates
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.opening import OpeningScreen, OptionsArea
from irscope.tui.widgets.bars import StageTabs, StatusLine, TitleBar
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from irscope.workspace.live import Ended, Planned, Refused, StageMade, Started, Unchanged, apply_events
from tests.tui import captures
from tests.tui.compiling import TEXT, Script, until
from tests.tui.driving import drawn, press, settled, tab, texts, typed

WIDE = (160, 50)
SMALL = {kind: captures.stage("matmul_kernel", captures.SMALL, kind) for kind in ("ttir", "ttgir", "ptx")}
LARGE = {kind: captures.stage("matmul_kernel", captures.LARGE, kind) for kind in ("ttir", "ttgir")}
WRONG = Failure("CompilationError", "arange's range must be a power of 2", "at 13:39:\nthe whole message")


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path / "matmul.irscope")


@pytest.fixture
def app(script: Script) -> IrscopeApp:
    return IrscopeApp(Workspace(script.path), producer=script)


def table(app: IrscopeApp) -> VariantTable:
    return app.screen.query_one(VariantTable)


def rows(app: IrscopeApp) -> list[str]:
    return [line for line in drawn(table(app)).splitlines()[1:] if line.strip()]


def messages(app: IrscopeApp) -> str:
    return "\n".join(note.message for note in app._notifications)


async def planned(pilot, script: Script, *blocks: int) -> tuple:
    """The app with a plan of these block sizes; the variants."""
    await until(pilot, lambda: script.asked == 1)
    kernel = script.kernel()
    variants = script.variants(kernel, *blocks)
    script.publish(Planned(kernel, variants))
    await until(pilot, lambda: isinstance(pilot.app.screen, CompareScreen))
    await until(pilot, lambda: table(pilot.app).line_count() == len(blocks))
    return variants


async def test_opens_before_there_is_a_plan(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: script.asked == 1)
        assert isinstance(app.screen, OpeningScreen)
        assert "matmul.py::matmul_kernel" in app.export_screenshot()
        await typed(pilot, "r")
        assert script.asked == 1  # it is not answered yet
        await typed(pilot, "q")
        await pilot.pause()
        assert not app.is_running


async def test_a_refused_request_can_be_fixed(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: script.asked == 1)
        script.publish(Refused("matmul.py: SyntaxError: [b]invalid[/b] syntax\x1b[2J"))
        await until(pilot, lambda: "[b]invalid[/b]" in app.export_screenshot().replace("&#160;", " "))
        await typed(pilot, "r")
        assert script.asked == 2
        kernel = script.kernel()
        script.publish(Planned(kernel, script.variants(kernel, 64), ("every config is compiled",)))
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        assert "every config is compiled" in messages(app)


async def test_rows_show_the_progress_of_each_variant(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        first, second, third = await planned(pilot, script, 64, 128, 96)
        assert all(row.split()[-1] == "waiting" for row in rows(app))
        script.publish(Started(1))
        await until(pilot, lambda: "compiling" in rows(app)[0])
        script.publish(StageMade(1, "ttir", SMALL["ttir"]))
        await until(pilot, lambda: "compiling ttgir" in rows(app)[0])
        assert "1 compiling, 2 waiting" in drawn(app.screen.query_one(TitleBar))
        script.compile(first, SMALL)
        script.compile(third, {}, WRONG)
        await until(pilot, lambda: "failed: " in rows(app)[2])
        assert "compiling" not in rows(app)[0]
        assert "waiting" in rows(app)[1]
        script.compile(second, LARGE)
        script.publish(Ended())
        await until(pilot, lambda: "compiles it again" in messages(app))
        await settled(pilot)
        assert [row[3] for row in rows(app)] == [" ", " ", "!"]
        assert "compiling" not in drawn(app.screen.query_one(TitleBar))
        await press(pilot, "shift+tab", "G")
        assert "arange's range" in drawn(app.screen.query_one(StatusLine))
        await press(pilot, "b")
        assert "the whole message" in drawn(texts(pilot))


async def test_early_stages_are_shown_while_others_compile(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        first, second = await planned(pilot, script, 64, 128)
        assert tab(pilot) == "python"
        names = app.screen.query_one(StageTabs).stages
        script.publish(Started(1), StageMade(1, "ttir", SMALL["ttir"]))
        await until(pilot, lambda: tab(pilot) == "ttir")
        assert "tt.func public @matmul_kernel" in drawn(texts(pilot))
        script.publish(Started(2), StageMade(2, "ttir", LARGE["ttir"]))
        await until(pilot, lambda: texts(pilot).page.compared)
        script.publish(StageMade(1, "ttgir", SMALL["ttgir"]), StageMade(2, "ttgir", LARGE["ttgir"]))
        findings = app.screen.query_one(FindingsView)
        await until(
            pilot, lambda: "so far" in drawn(findings).splitlines()[0] and "ttgir:" in drawn(findings)
        )
        assert "ptx …" in drawn(app.screen.query_one(StageTabs))
        assert app.screen.query_one(StageTabs).stages == names  # the number keys stay where they are
        assert "compiling llir" in drawn(texts(pilot)).splitlines()[0]
        script.finish(first, SMALL)
        script.finish(second, LARGE)
        script.publish(Ended())
        await settled(pilot)
        assert "so far" not in drawn(findings)
        assert "ptx A only" in drawn(app.screen.query_one(StageTabs))
        assert texts(pilot).page.compared


async def test_the_choices_of_the_user_stay(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        variants = await planned(pilot, script, 64, 128, 96, 32)
        await typed(pilot, "shift+tab", "j", "j", "a", "G", "b", "l", "s", "F", *"block_m>40", "enter")
        await until(pilot, lambda: len(table(app).order) == 3)
        await typed(pilot, "tab", "tab", "1", "shift+tab", "shift+tab")  # past the filter
        view = table(app)
        assert [variant.id for variant in view.order] == [1, 3, 2]
        cursor = view.current
        assert cursor is not None
        for variant in (variants[3], variants[1], variants[0], variants[2]):
            script.compile(variant, LARGE)
        script.publish(Ended())
        await settled(pilot)
        assert [variant.id for variant in view.order] == [1, 3, 2]
        assert view.current is not None
        assert view.current.id == cursor.id
        assert app.focused is view
        assert tab(pilot) == "python"
        heading = drawn(texts(pilot)).splitlines()[0]
        assert "A #3" in heading
        assert "B #4" in heading


async def test_the_text_being_read_stays(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        first, second = await planned(pilot, script, 64, 128)
        script.publish(Started(1), StageMade(1, "ttir", SMALL["ttir"]))
        await until(pilot, lambda: tab(pilot) == "ttir")
        await typed(pilot, "j", "j", "j")
        place = texts(pilot).place
        script.compile(first, SMALL)
        script.compile(second, LARGE)
        script.publish(Ended())
        await settled(pilot)
        assert tab(pilot) == "ttir"
        assert texts(pilot).place == place


async def test_after_an_edit_the_old_and_new_variants_are_compared(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        for variant in await planned(pilot, script, 64, 128):
            script.compile(variant, SMALL if variant.id == 1 else LARGE)
        script.publish(Ended())
        await press(pilot, "1")
        await typed(pilot, "r")
        assert script.asked == 2
        edited = script.kernel(TEXT.replace("pid)", "pid + 1)"))
        _, new = variants = script.variants(edited, 64, 128, first=3)
        script.publish(Planned(edited, variants))
        await until(pilot, lambda: len(rows(app)) == 4)
        heading = drawn(texts(pilot)).splitlines()[0]
        assert "A #2 before BLOCK_M=128" in heading
        assert "B #4 now BLOCK_M=128" in heading
        assert [row[4:].split()[1] for row in rows(app)] == ["before", "before", "now", "now"]
        page = texts(pilot).page
        changed = [row for row in page.rows if row.change]
        assert [page.text(changed[0], right) for right in (False, True)] == [
            "    tl.store(a_ptr, pid)", "    tl.store(a_ptr, pid + 1)",
        ]  # fmt: skip
        script.compile(new, LARGE)
        script.publish(Ended())
        await settled(pilot)
        assert "ttgir =" in drawn(app.screen.query_one(StageTabs))


async def test_after_a_failed_edit_the_last_compiled_variant_is_a(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        (first,) = await planned(pilot, script, 64)
        script.compile(first, SMALL)
        script.publish(Ended())
        await settled(pilot)
        for id_, text in ((2, "wrong"), (3, "right")):
            await typed(pilot, "r")
            kernel = script.kernel(text)
            (variant,) = script.variants(kernel, 64, first=id_)
            script.publish(Planned(kernel, (variant,)))
            script.compile(variant, {} if id_ == 2 else SMALL, WRONG if id_ == 2 else None)
            script.publish(Ended())
            await settled(pilot)
        heading = drawn(texts(pilot)).splitlines()[0]
        assert "A #1 2 before" in heading
        assert "B #3 now" in heading


async def test_a_new_plan_drops_unfinished_variants(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        first, *_ = await planned(pilot, script, 64, 128, 96)
        script.compile(first, SMALL)
        script.publish(Started(2))
        await until(pilot, lambda: "compiling" in rows(app)[1])
        await typed(pilot, "r")
        edited = script.kernel("edited")
        script.publish(Planned(edited, script.variants(edited, 64, first=2)))
        await until(pilot, lambda: len(rows(app)) == 2)
        heading = drawn(texts(pilot)).splitlines()[0]
        assert "A #1" in heading
        assert "B #2 now" not in heading or "waiting" in heading
        script.publish(Ended())
        await until(pilot, lambda: len(rows(app)) == 1)


async def test_missing_options_are_asked_for_with_guesses(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: script.asked == 1)
        script.publish(Refused("k needs a type for each of x", '--signature "*fp16:16" --config BLOCK=1024'))
        line = app.screen.query_one(OptionsArea)
        await until(pilot, lambda: line.has_focus)
        assert line.value == '--signature "*fp16:16" --config BLOCK=1024'
        assert line.size.height == 1
        script.rejected = "unrecognized arguments: q"
        await typed(pilot, "q", "enter")  # a letter, not the key that quits
        assert "unrecognized" in app.export_screenshot()
        script.rejected = ""
        await typed(pilot, "backspace", "8", "enter")
        await until(pilot, lambda: script.asked == 2)
        assert script.options == ['--signature "*fp16:16" --config BLOCK=10248']
        assert not line.display


async def test_long_guesses_are_wrapped(app: IrscopeApp, script: Script) -> None:
    signature = ", ".join(f"argument_{number}=*fp16:16" for number in range(12))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: script.asked == 1)
        script.publish(Refused("k needs types", f'--signature "{signature}"'))
        area = app.screen.query_one(OptionsArea)
        await until(pilot, lambda: area.has_focus)
        await pilot.pause()
        shown = app.export_screenshot()
        assert all(f"argument_{number}=" in shown for number in range(12))


async def test_escape_leaves_the_line_of_options(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: script.asked == 1)
        script.publish(Refused("k needs a type for each of x", "--signature i32"))
        await until(pilot, lambda: app.screen.query_one(OptionsArea).has_focus)
        await typed(pilot, "escape", "q")
        await pilot.pause()
        assert not app.is_running


@pytest.mark.parametrize("answer", [Unchanged("matmul_kernel is as it was"), Refused("SyntaxError: line 3")])
async def test_nothing_changes_if_there_is_nothing_to_compile(
    app: IrscopeApp, script: Script, answer: Unchanged | Refused
) -> None:
    async with app.run_test(size=WIDE) as pilot:
        for variant in await planned(pilot, script, 64, 128):
            script.compile(variant, SMALL)
        script.publish(Ended())
        await settled(pilot)
        before = drawn(table(app)), drawn(texts(pilot))
        await typed(pilot, "r")
        script.publish(answer)
        message = answer.message if isinstance(answer, Unchanged) else answer.problem
        await until(pilot, lambda: message in messages(app))
        assert (drawn(table(app)), drawn(texts(pilot))) == before
        await typed(pilot, "r")
        assert script.asked == 3


async def test_new_variants_of_a_growing_capture_are_loaded(
    matmul: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_updates, "_INTERVAL", 1000.0)  # only the key loads them
    app = IrscopeApp(Workspace(matmul))
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "r")
        assert "Nothing new in matmul.irscope" in messages(app)
        with CaptureReader(matmul) as capture:
            kernel = capture.variants()[0].kernel
        with CaptureWriter.resume(matmul) as writer:
            toolchain = writer.add_toolchain({"triton": "3.9.0"}, "")
            (new,) = Script.variants(None, kernel, 32)  # type: ignore[arg-type]
            writer.add_variant(
                kernel.id, toolchain, "3.9.0", NewVariant(new.target, (), new.config, artifacts=SMALL)
            )
            await press(pilot, "r")
        assert len(rows(app)) == 5
        assert "1 new variant in matmul.irscope" in messages(app)
        assert "A #1" in drawn(texts(pilot)).splitlines()[0]


async def test_a_thousand_variants_do_not_delay_keys(app: IrscopeApp, script: Script) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: script.asked == 1)
        kernel = script.kernel()
        variants = script.variants(kernel, *range(1, 1001))
        script.publish(Planned(kernel, variants))
        await until(pilot, lambda: isinstance(pilot.app.screen, CompareScreen))
        main = app.screen
        assert isinstance(main, CompareScreen)
        begun = time.process_time()
        events = [StageMade(variant.id, "ttir", b"module {}") for variant in variants[2:102]]
        main.live.update(apply_events(main.workspace, events))
        assert time.process_time() - begun < 0.1  # seconds; 0.004 on the machine it was written on
        script.publish(Ended())
        await until(pilot, lambda: not rows(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_compiling_matches_its_picture(
    app: IrscopeApp, script: Script, snap_compare: Any, size: tuple[int, int]
) -> None:
    async def ready(pilot: Pilot[None]) -> None:
        first, _, third, *_ = await planned(pilot, script, 64, 128, 96, 256, 512)
        script.compile(first, SMALL)
        script.compile(third, {}, WRONG)
        script.publish(Started(2), StageMade(2, "ttir", LARGE["ttir"]), StageMade(2, "ttgir", LARGE["ttgir"]))
        await until(pilot, lambda: {1, 3} <= table(app).facts.known.keys() and texts(pilot).page.compared)
        await until(pilot, lambda: all(w.is_finished for w in app.workers if w.group != "live"))
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=ready)


def test_a_refusal_matches_its_picture(app: IrscopeApp, script: Script, snap_compare: Any) -> None:
    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: script.asked == 1)
        script.publish(Refused("matmul.py: SyntaxError: invalid syntax (matmul.py, line 26)"))
        await until(pilot, lambda: "Fix" in app.export_screenshot())

    assert snap_compare(app, terminal_size=(80, 24), run_before=ready)
