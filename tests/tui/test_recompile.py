"""Compiling again when the kernel's file is saved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irscope.tui.app import IrscopeApp
from irscope.tui.background import SourceWatch
from irscope.tui.controllers import live_updates
from irscope.tui.screens import opening
from irscope.tui.screens.compare import CompareScreen
from irscope.workspace import Workspace
from irscope.workspace.live import Ended, Planned, Refused
from tests.tui.compiling import Script, until


def test_a_save_counts_once_and_when_it_is_complete(tmp_path: Path) -> None:
    file, helper = tmp_path / "k.py", tmp_path / "h.py"
    file.write_text("one")
    watch = SourceWatch()
    watch.follow([file, helper, file])
    assert not watch.saved()
    file.write_text("two!")
    assert not watch.saved(), "it may still be written"
    assert watch.saved()
    assert not watch.saved()
    other = tmp_path / "new"
    other.write_text("two!")
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.replace(file)  # as editors save
    assert [watch.saved() for _ in range(3)] == [False, True, False]
    helper.write_text("it exists now")
    assert [watch.saved() for _ in range(3)] == [False, True, False]
    file.unlink()
    file.write_text("three")
    watch.follow([file])
    assert [watch.saved() for _ in range(3)] == [False, True, False], (
        "what is followed already keeps its state"
    )


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    for module in (live_updates, opening):
        monkeypatch.setattr(module, "INTERVAL", 0.02)
    made = Script(tmp_path / "matmul.irscope")
    made.files = (tmp_path / "matmul.py",)
    made.files[0].write_text("first")
    return made


async def test_a_save_compiles_again(script: Script) -> None:
    app = IrscopeApp(Workspace(script.path), producer=script)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: script.asked == 1)
        script.publish(Refused("SyntaxError"))
        await pilot.pause(0.2)
        script.files[0].write_text("second")
        await until(pilot, lambda: script.asked == 2)
        kernel = script.kernel()
        script.publish(Planned(kernel, script.variants(kernel, 64, 128)))
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        script.publish(Ended())
        await until(pilot, lambda: not app._workspace.in_progress)
        await pilot.pause(0.2)
        script.files[0].write_text("third!")
        await until(pilot, lambda: script.asked == 3)
        script.publish(Refused("SyntaxError"))
        await pilot.pause(0.3)
        script.files[0].write_text("fourth...")
        await until(pilot, lambda: script.asked == 4)
