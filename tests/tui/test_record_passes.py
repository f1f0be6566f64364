"""`p` without recorded passes: the question, the consent, the passes of a kernel compiled for real."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from irscope.compiling.toolchain.triton_layouts import installed_triton
from irscope.jobs.variant_compiler import WhatIfCompiler, own_capture
from irscope.tui.app import IrscopeApp
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import ConfirmScreen
from irscope.tui.screens.passes import PassesScreen
from irscope.workspace import Workspace
from tests.cli.test_live import KERNEL
from tests.conftest import Irscope
from tests.tui.compiling import until
from tests.tui.driving import settled
from tests.tui.picture import TextPicture, characters
from tests.tui.test_what_if import Compiler, labels, messages, press

SIZE = (80, 24)


@pytest.fixture
def kernel_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return path


@pytest.fixture
def capture(irscope: Irscope, kernel_file: Path, tmp_path: Path) -> Path:
    """Two variants without passes, which were compiled here."""
    path = tmp_path / "add.irscope"
    sweep = ("--signature", "*fp32:16, i32:16", "--config", "BLOCK=64", "--config", "num_warps=1,2")
    done = irscope("compile", str(kernel_file), *sweep, "-o", str(path))
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def compiler(capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WhatIfCompiler]:
    monkeypatch.setenv("IRSCOPE_CACHE", str(tmp_path / "irscope-cache"))
    made = WhatIfCompiler(own_capture(capture), 60.0)
    yield made
    made.stop()


@pytest.fixture
def app(capture: Path, compiler: WhatIfCompiler) -> IrscopeApp:
    return IrscopeApp(Workspace(capture), compiler=compiler)


async def ask(pilot: Pilot[None]) -> None:
    """Presses p on the pair that the app opens with."""
    await settled(pilot)
    await press(pilot, "p")
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))


@pytest.mark.slow
async def test_a_and_b_are_compiled_once_more_and_their_passes_open(app: IrscopeApp, capture: Path) -> None:
    before = capture.read_bytes()
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        assert "No passes of #1 and #2 were recorded. Compile once more, with passes?" in labels(app)
        assert "executed" not in labels(app), "the file has the kernel as it was captured"
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, PassesScreen))
        await settled(pilot)
        assert "A #1 num_warps=1  B #2 num_warps=2   diverge in pass" in characters(app)
        await press(pilot, "escape")
        assert isinstance(app.screen, CompareScreen)
        assert {variant.id for variant in app._workspace.variants} == {1, 2}
        await press(pilot, "p")
        await until(pilot, lambda: isinstance(app.screen, PassesScreen))
    assert capture.read_bytes() == before


@pytest.mark.slow
async def test_only_the_variant_without_passes_is_compiled(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        app.screen.stages.compare(app.screen.pair.a, app.screen.pair.a)
        await ask(pilot)
        assert "No passes of #1 were recorded" in labels(app)
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, PassesScreen))
        await press(pilot, "escape")
        app.screen.stages.compare(app.screen.pair.a, app._workspace.live.by_id(2))
        await ask(pilot)
        assert "No passes of #2 were recorded" in labels(app)
        await press(pilot, "escape")
        await until(pilot, lambda: isinstance(app.screen, PassesScreen))
        assert "A #1 num_warps=1" in characters(app), "those of A are there"


@pytest.mark.slow
async def test_a_file_that_differs_is_executed_only_with_consent(
    app: IrscopeApp, kernel_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRSCOPE_STATE", str(tmp_path / "of-another-user"))  # where it was not compiled
    kernel_file.write_text(KERNEL.replace("+ 1,", "+ 2,"))
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        assert "Compile once more, with passes?" in labels(app)
        assert "add in it differs from the captured one" in labels(app)
        await press(pilot, "enter", "escape")
        assert isinstance(app.screen, CompareScreen) and "Compiling" not in messages(app)
        await ask(pilot)
        await press(pilot, "y")
        await until(pilot, lambda: messages(app).count("has changed since") == 2)
        assert isinstance(app.screen, CompareScreen), "there is nothing to show"


@pytest.mark.slow
async def test_a_user_who_went_on_is_told(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        await press(pilot, "enter", "p")
        assert "#1 is being compiled" in messages(app)
        await press(pilot, "question_mark")
        await until(pilot, lambda: "The passes are recorded: p shows them" in messages(app))
        assert not isinstance(app.screen, PassesScreen)


@pytest.mark.slow
async def test_what_cannot_be_compiled_is_said_in_one_line(
    app: IrscopeApp,
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        first, second = app._workspace.variants
        older = replace(first.toolchain, versions={**first.toolchain.versions, "triton": "3.0.0"})
        app._workspace.live.put(replace(first, toolchain=older))
        bare = replace(second.kernel, source=replace(second.kernel.source, text=""))
        app._workspace.live.put(replace(second, kernel=bare))
        app.screen.stages.compare(*app._workspace.variants)
        await press(pilot, "p")
        await settled(pilot)
        assert messages(app).splitlines() == [
            "The passes of #1 are recorded by compiling again with Triton 3.0.0, which is not installed here",
            "The capture has no source of #2, so its passes cannot be recorded",
        ]
        assert isinstance(app.screen, CompareScreen)


@pytest.mark.skipif(installed_triton() != "3.9.0", reason="the capture was made with Triton 3.9.0")
async def test_the_question_matches_its_picture(
    matmul: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    compiler = Compiler(tmp_path / "own.irscope", trusted=tmp_path / "matmul.py")
    app = IrscopeApp(Workspace(matmul), compiler=compiler)
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        assert characters(app) == snapshot(extension_class=TextPicture)
