"""What-ifs compiled for real: the variants, the capture that has them, and the files that never change."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.cli.written_options import with_options
from irscope.compiling.messages import SweepRequest
from irscope.jobs.live_sweep import LiveSweep
from irscope.jobs.variant_compiler import LiveCapture, WhatIfCompiler, own_capture
from irscope.model import Config, Kernel, SourceFunction, Toolchain, UserError, Variant
from irscope.store import CaptureWriter
from irscope.targets import parse_target
from irscope.workspace import Workspace
from irscope.workspace.live import (
    Added,
    Ended,
    NotAdded,
    PassesRecorded,
    PassesRefused,
    Planned,
    VariantFinished,
    apply_events,
)
from irscope.workspace.what_if import PassRequest, WhatIf, free_id, parse_values, suggested_values
from tests.cli.test_live import KERNEL, Received
from tests.conftest import Irscope

SIGNATURE = "*fp32:16, i32:16"


@pytest.fixture
def kernel_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return path


@pytest.fixture
def capture(irscope: Irscope, kernel_file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "add.irscope"
    done = irscope(
        "compile", str(kernel_file), "--signature", SIGNATURE, "--config", "BLOCK=64", "-o", str(path)
    )
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def own(capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LiveCapture:
    monkeypatch.setenv("IRSCOPE_CACHE", str(tmp_path / "irscope-cache"))
    return own_capture(capture)


@pytest.fixture
def compiler(own: LiveCapture) -> Iterator[WhatIfCompiler]:
    made = WhatIfCompiler(own, 60.0)
    yield made
    made.stop()


def _ask(compiler: WhatIfCompiler, workspace: Workspace, file: Path, text: str) -> Received:
    variants = workspace.variants
    received = Received()
    values = parse_values(text, variants[0]) if text else {}
    compiler.prepare()
    compiler.begin(WhatIf(variants[0], file, values, variants, free_id(variants, False)), received.queue.put)
    return received


@pytest.mark.slow
def test_a_capture_that_was_opened_is_not_changed(
    capture: Path,
    own: LiveCapture,
    compiler: WhatIfCompiler,
    kernel_file: Path,
) -> None:
    before = capture.read_bytes()
    with Workspace(capture) as workspace:
        received = _ask(compiler, workspace, kernel_file, "BLOCK=128,96 num_warps=2")
        (added,) = received.until(Added, NotAdded)
        assert isinstance(added, Added)
        assert [(v.id, str(v.config)) for v in added.variants] == [
            (2, "BLOCK=128,num_warps=2"), (3, "BLOCK=96,num_warps=2"),
        ]  # fmt: skip
        assert (added.a, added.b) == (1, 2)
        finished = [received.until(VariantFinished)[-1] for _ in range(2)]
        failures = [event.variant.failure for event in finished if isinstance(event, VariantFinished)]
        assert failures[0] is None
        assert failures[1] is not None and "power of 2" in failures[1].message
    compiler.stop()
    own.finish()
    assert own.added == 2
    assert capture.read_bytes() == before
    assert sorted(path.suffix for path in own.path.parent.iterdir()) == [".irscope"], "one file, no log"
    with Workspace(own.path) as kept:
        assert [variant.id for variant in kept.variants] == [2, 3]
        assert kept.stages(kept.live.by_id(2))[:3] == ["source", "ttir", "ttgir"]


@pytest.mark.slow
def test_the_variant_itself_is_compiled_if_its_source_changed(
    capture: Path,
    compiler: WhatIfCompiler,
    kernel_file: Path,
) -> None:
    kernel_file.write_text(KERNEL.replace("+ 1,", "+ 2,"))
    with Workspace(capture) as workspace:
        received = _ask(compiler, workspace, kernel_file, "num_warps=8")
        (added,) = received.until(Added, NotAdded)
        assert isinstance(added, Added)
        assert (added.a, added.b) == (2, 3)
        assert [str(v.config) for v in added.variants] == ["BLOCK=64", "BLOCK=64,num_warps=8"]
        assert "+ 2" in added.variants[0].kernel.source.text


@pytest.mark.slow
def test_what_exists_is_not_compiled_again_and_what_is_wrong_is_refused(
    capture: Path,
    compiler: WhatIfCompiler,
    kernel_file: Path,
    tmp_path: Path,
) -> None:
    with Workspace(capture) as workspace:
        (added,) = _ask(compiler, workspace, kernel_file, "BLOCK=64").until(Added, NotAdded)
        assert added == Added((), 1, 1)
        variant = workspace.variants[0]
        received = Received()
        wrong = WhatIf(variant, kernel_file, {"num_warp": (4,)}, workspace.variants, 2)
        compiler.begin(wrong, received.queue.put)
        (refused,) = received.until(Added, NotAdded)
        assert isinstance(refused, NotAdded) and "did you mean num_warps?" in refused.problem
        compiler.begin(replace(wrong, file=tmp_path / "gone.py"), received.queue.put)
        (refused,) = received.until(Added, NotAdded)
        assert isinstance(refused, NotAdded) and "no such Python file" in refused.problem


@pytest.mark.slow
def test_a_sweep_that_runs_stores_the_what_if_too(kernel_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "k.irscope"
    CaptureWriter.create(path).close()
    axes = {"BLOCK": (64, 128, 256, 512)}
    request = SweepRequest(kernel_file, "add", SIGNATURE, {}, axes, (parse_target("cuda:90"),))
    sweep = LiveSweep(request, path, 1, 60.0, with_options)
    compiler, received, extra = WhatIfCompiler(sweep.capture, 60.0, kernel_file), Received(), Received()
    sweep.begin(received.queue.put)
    planned = received.until(Planned)[-1]
    assert isinstance(planned, Planned)
    what_if = WhatIf(planned.variants[0], kernel_file, {"num_warps": (2,)}, planned.variants, 5)
    compiler.begin(what_if, extra.queue.put)
    finished = extra.until(VariantFinished, NotAdded)[-1]
    assert isinstance(finished, VariantFinished)
    assert (finished.variant.id, finished.path) == (5, None)
    received.until(Ended)
    compiler.stop()
    sweep.stop()
    with Workspace(path) as workspace:
        assert [variant.id for variant in workspace.variants] == [1, 2, 3, 4, 5]
        assert str(workspace.live.by_id(5).config) == "BLOCK=64,num_warps=2"


@pytest.mark.slow
def test_values_of_heuristics_follow_the_config(
    irscope: Irscope, tmp_path: Path, own: LiveCapture, compiler: WhatIfCompiler
) -> None:
    file = tmp_path / "heuristics.py"
    shutil.copy(Path(__file__).parents[2] / "samples" / "heuristics.py", file)
    path = tmp_path / "h.irscope"
    signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, fp32"
    chosen = ("--const", "HAS_WEIGHT=True", "--config", "BLOCK_SIZE=1024", "--config", "EVEN=False")
    done = irscope("compile", str(file), "--signature", signature, *chosen, "-o", str(path))
    assert done.returncode == 0, done.stderr
    with Workspace(path) as workspace:
        received = _ask(compiler, workspace, file, "BLOCK_SIZE=4096")
        (added,) = received.until(Added, NotAdded)
        assert isinstance(added, Added), added
        (variant,) = added.variants
        assert dict(variant.config.values) == {"BLOCK_SIZE": 4096, "EVEN": False, "num_warps": 8}


def _record(compiler: WhatIfCompiler, variant: Variant, file: Path) -> PassesRecorded | PassesRefused:
    received = Received()
    compiler.record_passes(PassRequest(variant, file), received.queue.put)
    (answer,) = received.until(PassesRecorded, PassesRefused)
    assert isinstance(answer, PassesRecorded | PassesRefused)
    return answer


@pytest.mark.slow
def test_passes_are_recorded_later_and_merged(
    irscope: Irscope, capture: Path, own: LiveCapture, compiler: WhatIfCompiler, kernel_file: Path
) -> None:
    before = capture.read_bytes()
    kernel_file.write_text("\n\n" + KERNEL)  # the kernel has moved, which makes no other kernel of it
    with Workspace(capture) as workspace:
        variant = workspace.variants[0]
        assert not workspace.passes(variant)
        answer = _record(compiler, variant, kernel_file)
        updates = apply_events(workspace, [answer])
        assert (updates.changed, updates.passes, updates.problems) == ({1}, {1}, [])
        assert [each.id for each in workspace.variants] == [1], "no second row"
        steps = workspace.passes(variant)
        assert "tritongpu-coalesce" in [step.name for step in steps]
        ttgir = [step.after for step in steps if step.stage == "ttgir" and step.after is not None][-1]
        assert ttgir.artifact.digest
        assert workspace.module(ttgir, variant).operations
    compiler.stop()
    assert capture.read_bytes() == before
    own.finish()
    assert own.added == 1
    merged = irscope("merge", str(capture), str(own.path), "-o", "merged.irscope")
    assert merged.returncode == 0, merged.stderr
    listed = irscope("passes", "merged.irscope", "1")
    assert "tritongpu-coalesce" in listed.stdout, listed.stderr


@pytest.mark.slow
def test_the_variant_of_a_what_if_gets_its_passes_in_the_same_capture(
    capture: Path, own: LiveCapture, compiler: WhatIfCompiler, kernel_file: Path
) -> None:
    with Workspace(capture) as workspace:
        received = _ask(compiler, workspace, kernel_file, "num_warps=2")
        apply_events(workspace, received.until(VariantFinished))
        variant = workspace.live.by_id(2)
        assert not workspace.passes(variant)
        answer = _record(compiler, variant, kernel_file)
        assert answer == PassesRecorded(2, own.path, 2)
        apply_events(workspace, [answer])
        assert workspace.passes(variant)
        assert workspace.content(variant, "ttgir"), "the stages stay"


@pytest.mark.slow
def test_passes_of_another_kernel_are_not_recorded(
    capture: Path, own: LiveCapture, compiler: WhatIfCompiler, kernel_file: Path
) -> None:
    kernel_file.write_text(KERNEL.replace("+ 1,", "+ 2,"))
    with Workspace(capture) as workspace:
        answer = _record(compiler, workspace.variants[0], kernel_file)
    assert answer == PassesRefused(1, f"add in {kernel_file} has changed since #1 was compiled")
    assert not own.path.exists()


@pytest.mark.slow
def test_passes_of_a_sweep_are_stored_in_its_capture(kernel_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "k.irscope"
    CaptureWriter.create(path).close()
    axes = {"BLOCK": (64, 96)}  # the second one fails
    request = SweepRequest(kernel_file, "add", SIGNATURE, {}, axes, (parse_target("cuda:90"),))
    sweep = LiveSweep(request, path, 1, 60.0, with_options)
    compiler, received = WhatIfCompiler(sweep.capture, 60.0, kernel_file), Received()
    sweep.begin(received.queue.put)
    received.until(Ended)
    with Workspace(path) as workspace:
        compiled, failed = workspace.variants
        assert _record(compiler, compiled, kernel_file) == PassesRecorded(1, None, 1)
        assert workspace.passes(compiled)
        answer = _record(compiler, failed, kernel_file)
        assert isinstance(answer, PassesRefused) and "power of 2" in answer.problem
        assert [variant.id for variant in workspace.variants] == [1, 2]
    assert sweep.capture.added == 0, "a variant that got its passes is no other one"
    compiler.stop()
    sweep.stop()


def test_values_that_a_user_types() -> None:
    kernel = Kernel(1, "add", SourceFunction("add", "k.py", 1, ""), (), ("x_ptr", "n", "BLOCK"))
    config = Config((("BLOCK", 64), ("num_warps", 4)))
    variant = Variant(1, kernel, parse_target("cuda:90"), (), config, Toolchain(1, {}, ""))
    assert parse_values("num_stages=2,3 BLOCK=64", variant) == {"num_stages": (2, 3), "BLOCK": (64,)}
    assert set(parse_values("BLOCK=2*SIZE num_stages=0", variant)) == {"BLOCK", "num_stages"}
    assert suggested_values(variant, "BLOCK") == "BLOCK=64"
    assert suggested_values(variant, "registers") == "num_warps=4"
    for text, problem in (
        ("", "is not NAME=VALUE"),
        ("BLOCK", "is not NAME=VALUE"),
        ("BLOCK=", "is not NAME=VALUE"),
        ("BLOK=3", "did you mean BLOCK"),
        ("n=3", "run-time argument"),
        ("num_warps=3", "power of two"),
        ("num_stages=four", "whole number"),
        ("BLOCK=64,abc", "not a number; BLOCK is 64 now"),
        ("BLOCK=" + ",".join(map(str, range(33))), "irscope compile --config does sweeps"),
    ):
        with pytest.raises(UserError, match=problem):
            parse_values(text, variant)
