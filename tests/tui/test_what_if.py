"""`+`: the prompt, the consent to execute a file, and the pair that is compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from irscope.model import Failure, Variant
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.tui.app import IrscopeApp
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import ConfirmScreen, PromptScreen
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from irscope.workspace.live import Added, NotAdded, Publish, StageMade, Started, VariantFinished
from irscope.workspace.variant_texts import ERROR
from irscope.workspace.what_if import WhatIf
from tests.tui import captures
from tests.tui.compiling import TARGET, until
from tests.tui.driving import drawn, settled, tab

SIZE = (120, 40)
TTIR = captures.stage("matmul_kernel", captures.SMALL, "ttir")


class Compiler:
    """Plays the compiler of what-ifs; finished variants are in a capture of their own."""

    def __init__(self, path: Path, trusted: Path | None = None) -> None:
        self.path, self.trusted = path, trusted
        self.prepared = 0
        self.asked: list[WhatIf] = []
        self._publish: Publish | None = None

    def prepare(self) -> None:
        self.prepared += 1

    def begin(self, what_if: WhatIf, publish: Publish) -> None:
        self.asked.append(what_if)
        self._publish = publish

    def publish(self, *events) -> None:
        assert self._publish is not None
        for event in events:
            self._publish(event)

    def planned(self) -> Variant:
        what_if = self.asked[-1]
        values = {name: choices[0] for name, choices in what_if.values.items()}
        old = what_if.variant
        config = type(old.config)(tuple({**dict(old.config.values), **values}.items()))
        return Variant(what_if.first_id, old.kernel, TARGET, (), config, old.toolchain)

    def finish(self, variant: Variant, stages: dict[str, bytes], failure: Failure | None = None) -> Variant:
        writer = CaptureWriter.resume(self.path) if self.path.exists() else CaptureWriter.create(self.path)
        with writer:
            toolchain = writer.add_toolchain({"triton": "3.9.0"}, "irscope")
            kernel = writer.add_kernel(variant.kernel.source, variant.kernel.helpers, ())
            new = NewVariant(TARGET, (), variant.config, failure, {"num_warps": 4}, artifacts=stages)
            writer.add_variant(kernel, toolchain, "3.9.0", new, variant.id)
        with CaptureReader(self.path) as capture:
            return next(v for v in capture.variants() if v.id == variant.id)


@pytest.fixture
def compiler(tmp_path: Path) -> Compiler:
    return Compiler(tmp_path / "own.irscope")


@pytest.fixture
def app(matmul: Path, compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IrscopeApp:
    """The capture names matmul.py, which is in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("matmul.py").write_text(captures.KERNEL.text)
    return IrscopeApp(Workspace(matmul), compiler=compiler)


def labels(app: IrscopeApp) -> str:
    return "\n".join(str(label.render()) for label in app.screen.query("Label"))


def messages(app: IrscopeApp) -> str:
    return "\n".join(note.message for note in app._notifications)


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Presses keys; the worker that asks is still running, so the app is never settled."""
    for key in keys:
        before = pilot.app.screen
        await pilot.press(key)
        await pilot.pause(0.05)
        if key in ("plus", "enter", "y", "o", "escape") and pilot.app.screen is before:
            await pilot.pause(0.2)


async def type_values(pilot: Pilot[None], text: str) -> None:
    """Opens the prompt on B and answers it."""
    await press(pilot, "plus")
    await until(pilot, lambda: isinstance(pilot.app.screen, PromptScreen) and pilot.app.screen.query("Input"))
    pilot.app.screen.query_one("Input").value = text
    await press(pilot, "enter")


async def test_nothing_is_executed_without_consent(
    app: IrscopeApp, compiler: Compiler, tmp_path: Path
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await type_values(pilot, "num_stages=4")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert str(tmp_path / "matmul.py") in labels(app) and "is as captured" in labels(app)
        await press(pilot, "enter", "space", "enter")
        assert isinstance(app.screen, ConfirmScreen) and not compiler.asked
        await press(pilot, "escape")
        assert isinstance(app.screen, CompareScreen) and not compiler.asked
        await type_values(pilot, "num_stages=4")
        await press(pilot, "y")
        (asked,) = compiler.asked
        assert asked.file == tmp_path / "matmul.py"
        assert asked.values == {"num_stages": (4,)}
        assert asked.first_id == 5


async def test_another_file_may_be_named(app: IrscopeApp, compiler: Compiler, tmp_path: Path) -> None:
    Path("matmul.py").unlink()
    Path("moved.py").write_text("import os\n\ndef matmul_kernel(): pass\n")
    async with app.run_test(size=SIZE) as pilot:
        await type_values(pilot, "num_stages=4")
        await until(pilot, lambda: "there is no such file" in labels(app))
        assert "y execute it" not in labels(app)
        await press(pilot, "y")
        assert isinstance(app.screen, ConfirmScreen) and not compiler.asked
        await press(pilot, "o")
        await until(pilot, lambda: app.screen.query_one("Input"))
        app.screen.query_one("Input").value = "moved.py"
        await press(pilot, "enter")
        await until(pilot, lambda: "matmul_kernel in it differs from the captured one" in labels(app))
        await press(pilot, "y")
        assert compiler.asked[0].file == tmp_path / "moved.py"


async def test_what_is_typed_after_an_error_replaces_the_text(app: IrscopeApp, compiler: Compiler) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await type_values(pilot, "num_stage=4")
        await until(pilot, lambda: "did you mean num_stages?" in messages(app))
        assert isinstance(app.screen, PromptScreen)
        assert app.screen.query_one("Input").value == "num_stage=4"
        await press(pilot, *"num_stages=5", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await press(pilot, "y")
        assert [asked.values for asked in compiler.asked] == [{"num_stages": (5,)}]


async def test_the_text_after_an_error_can_be_corrected(app: IrscopeApp, compiler: Compiler) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await type_values(pilot, "num_stag=4")
        await until(pilot, lambda: "did you mean num_stages?" in messages(app))
        await press(pilot, "left", *["right"] * len("num_stag"), *"es")
        assert app.screen.query_one("Input").value == "num_stages=4"
        await press(pilot, "escape")
        assert compiler.prepared == 1 and not compiler.asked


async def test_the_column_under_the_cursor_is_the_prompt(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        app.screen.query_one("#variants", VariantTable).focus()
        await press(pilot, "j", "l", "plus")
        assert app.screen.query_one("Input").value == "BLOCK_M=128"
        assert "Compile #2 also with" in labels(app)


async def test_a_what_if_is_compared_while_it_compiles(
    matmul: Path, compiler: Compiler, tmp_path: Path
) -> None:
    before = matmul.read_bytes()
    compiler.trusted = tmp_path / "matmul.py"
    app = IrscopeApp(Workspace(matmul), compiler=compiler)
    async with app.run_test(size=SIZE) as pilot:
        await type_values(pilot, "num_warps=2")
        pair = app.screen.pair
        planned = compiler.planned()
        compiler.publish(Added((planned,), pair.b.id, planned.id), Started(planned.id))
        await until(pilot, lambda: app.screen.pair.b.id == planned.id)
        assert app.screen.pair.a.id == compiler.asked[0].variant.id == 2
        compiler.publish(StageMade(planned.id, "ttir", TTIR))
        await until(pilot, lambda: app.screen.pair.notes.get("ttir") not in (None, "…"))
        compiler.publish(VariantFinished(compiler.finish(planned, {"ttir": TTIR}), compiler.path))
        await until(pilot, lambda: not app._workspace.in_progress)
        assert app._workspace.content(app._workspace.live.by_id(5), "ttir") == TTIR
        table = app.screen.query_one("#variants", VariantTable)
        assert table.current is not None and table.current.id == 5
        await settled(pilot)
    assert matmul.read_bytes() == before


async def test_a_what_if_that_fails_shows_its_error(app: IrscopeApp, compiler: Compiler) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await type_values(pilot, "BLOCK_M=96")
        await press(pilot, "y")
        planned = compiler.planned()
        compiler.publish(Added((planned,), 2, planned.id), Started(planned.id))
        await until(pilot, lambda: app.screen.pair.b.id == planned.id)
        compiler.publish(VariantFinished(compiler.finish(planned, {}, captures.FAILURE), compiler.path))
        await until(pilot, lambda: tab(pilot) == ERROR)
        assert "failed: CompilationError" in drawn(app.screen.query_one("#variants", VariantTable))


async def test_a_refusal_is_shown_and_lost_rows_go(app: IrscopeApp, compiler: Compiler) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await type_values(pilot, "BLOCK_M=96")
        await press(pilot, "y")
        planned = compiler.planned()
        compiler.publish(Added((planned,), 2, planned.id), NotAdded("the disk is full", (planned.id,)))
        await until(pilot, lambda: "the disk is full" in messages(app))
        assert planned.id not in {variant.id for variant in app._workspace.variants}
        assert planned.id not in (app.screen.pair.a.id, app.screen.pair.b.id)


async def test_without_a_compiler_says_so(matmul: Path) -> None:
    app = IrscopeApp(Workspace(matmul))
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "plus")
        assert "Nothing can be compiled here" in messages(app)
