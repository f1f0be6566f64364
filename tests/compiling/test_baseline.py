"""irscope compile --baseline and --budget: what is copied, compiled and left."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from irscope.compiling.messages import SweepRequest
from irscope.compiling.sweep import Progress, compile_plan, planned_each
from irscope.model import Failure, Launch, Target, Variant
from irscope.model.errors import UserError
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from tests.conftest import Irscope

KERNELS = """
import triton
import triton.language as tl

FACTOR = tl.constexpr(2)

@triton.jit
def helper(x):
    return x * FACTOR

@triton.jit
def first(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, helper(tl.load(x_ptr + offsets, mask=offsets < n)), mask=offsets < n)

@triton.jit
def second(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) + 1, mask=offsets < n)
"""
WORDS = ("compile", "k.py", "--guess", "--config", "BLOCK=64,128", "-j", "1")


@pytest.fixture
def old(irscope: Irscope, tmp_path: Path) -> Path:
    """A capture of both kernels, with a launch of one variant."""
    (tmp_path / "k.py").write_text(KERNELS)
    assert irscope(*WORDS, "-o", "old.irscope", "--passes").returncode == 0
    with CaptureWriter.resume(tmp_path / "old.irscope") as writer:
        writer.set_measured(1, (Launch((4, 1, 1), ()),), ())
        writer.add_layouts(2, {"#blocked": [[1], [2]]})
    return tmp_path / "old.irscope"


def _variants(path: Path) -> dict[tuple[str, object], Variant]:
    with CaptureReader(path) as capture:
        return {(v.kernel.name, v.config.get("BLOCK")): v for v in capture.variants()}


def test_what_did_not_change_is_copied_exactly(irscope: Irscope, old: Path) -> None:
    """All stages, attachments, passes, layouts, times and facts, but not the launches."""
    folder = old.parent
    (folder / "k.py").write_text(KERNELS.replace(") + 1, mask", ") + 3, mask"))
    result = irscope(*WORDS, "-o", "new.irscope", "--baseline", "old.irscope")
    assert result.returncode == 0, result.stderr
    assert "2 compiled, 2 from old.irscope, 0 failed" in result.stdout
    before, after = _variants(old), _variants(folder / "new.irscope")
    assert after.keys() == before.keys()
    for name, variant in after.items():
        origin = before[name]
        if name[0] == "second":
            assert variant.artifacts["ptx"] != origin.artifacts["ptx"]
            continue
        assert variant.artifacts == origin.artifacts
        for each in ("metadata", "seconds", "cache_key", "cached", "log", "output", "reasons"):
            assert getattr(variant, each) == getattr(origin, each)
        assert variant.toolchain.command == origin.toolchain.command
        assert variant.launches == ()
    with CaptureReader(old) as ours, CaptureReader(folder / "new.irscope") as theirs:
        name = ("first", 128)
        assert before[name].id == 2
        for read in ("passes", "attached", "layouts", "facts_of"):
            found = getattr(theirs, read)(after[name])
            assert found and found == getattr(ours, read)(before[name])
        for artifact in (*after[name].artifacts.values(), *theirs.attached(after[name]).values()):
            assert theirs.content(artifact) == ours.content(artifact)
        assert theirs.facts_of(after["first", 64]) is not None  # measured again, without the launch


def test_what_is_damaged_is_compiled_again(irscope: Irscope, old: Path) -> None:
    """A stage that does not match its hash, or columns that are not JSON, leave out only their variants."""
    before = _variants(old)
    with closing(sqlite3.connect(old)) as db, db:
        digest = before["first", 64].artifacts["ptx"].digest
        ((frame,),) = db.execute(
            "SELECT data FROM blob WHERE digest = ?", (before["second", 64].artifacts["ptx"].digest,)
        )
        size = before["second", 64].artifacts["ptx"].size
        db.execute("UPDATE blob SET data = ?, size = ? WHERE digest = ?", (frame, size, digest))
        db.execute("UPDATE variant SET metadata = '[' WHERE id = ?", (before["first", 128].id,))
        db.execute("UPDATE variant SET output = CAST(x'ff' AS TEXT) WHERE id = ?", (before["second", 64].id,))
    result = irscope(*WORDS, "-o", "new.irscope", "--baseline", "old.irscope")
    assert "3 compiled, 1 from old.irscope, 0 failed" in result.stdout, result.stderr
    after = _variants(old.parent / "new.irscope")
    assert after["second", 128].artifacts == before["second", 128].artifacts
    with CaptureReader(old.parent / "new.irscope") as capture:
        for variant in after.values():
            assert all(map(capture.content, variant.artifacts.values()))


def test_resume_knows_what_was_copied(irscope: Irscope, old: Path) -> None:
    """A copied variant is the one that a compilation would have added, also in place of a failed one."""
    with CaptureReader(old) as capture, CaptureWriter.create(old.parent / "new.irscope") as writer:
        variant = next(each for each in capture.variants() if each.id == 3)
        kernel = writer.add_kernel(variant.kernel.source, variant.kernel.helpers, variant.kernel.parameters)
        failed = NewVariant(
            variant.target,
            variant.specialization,
            variant.config,
            Failure("lost", "", ""),
            cache_key=variant.cache_key,
        )
        versions = variant.toolchain.versions
        writer.add_variant(kernel, writer.add_toolchain(versions, ""), versions["triton"], failed, 7)
    words = (*WORDS, "-o", "new.irscope", "--resume")
    assert "0 compiled, 4 from" in irscope(*words, "--baseline", "old.irscope").stdout
    assert _variants(old.parent / "new.irscope")["second", 64].id == 7
    assert "0 compiled, 4 already there" in irscope(*words).stdout


@pytest.mark.slow
def test_a_change_of_what_a_kernel_uses_compiles_it_again(irscope: Irscope, old: Path) -> None:
    """A helper's constant, an option of the environment, and lines above the kernel are in the key."""
    folder = old.parent
    (folder / "k.py").write_text(KERNELS.replace("constexpr(2)", "constexpr(12)"))
    result = irscope(*WORDS, "-o", "new.irscope", "--baseline", "old.irscope")
    assert "2 compiled, 2 from old.irscope" in result.stdout
    (folder / "k.py").write_text(KERNELS)
    again = (*WORDS, "-o", "again.irscope", "--baseline", "old.irscope")
    assert "4 compiled, 0 from" in irscope(*again, DISABLE_LLVM_OPT="1").stdout
    assert "0 compiled, 4 from" in irscope(*again, "--force").stdout
    assert "4 compiled, 0 from" in irscope(*again, "--force", "--reasons").stdout


def test_a_baseline_that_is_written_to_is_refused(irscope: Irscope, old: Path) -> None:
    result = irscope(*WORDS, "-o", "old.irscope", "--force", "--baseline", "old.irscope")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "--resume keeps what it has" in result.stderr


@pytest.mark.slow
def test_a_budget_stops_and_resume_goes_on(irscope: Irscope, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNELS)
    stopped = irscope(*WORDS, "-o", "b.irscope", "--budget", "0.1s")
    assert stopped.returncode == 0
    # A variant that a worker had begun is kept, so that the first ones may be done.
    used_up = re.search(r"--budget is used up: (\d) variants? left of 4; --resume compiles", stopped.stderr)
    assert used_up, stopped.stderr
    rest = irscope(*WORDS, "-o", "b.irscope", "--resume", "--budget", "10m")
    assert f"{used_up[1]} compiled, " in rest.stdout
    assert "0 failed" in rest.stdout
    assert "budget" not in rest.stderr
    assert "must be a time" in irscope(*WORDS, "--budget", "soon").stderr


@pytest.mark.slow
def test_what_runs_at_the_end_of_a_budget_is_not_written_to_the_next_kernel(tmp_path: Path) -> None:
    """Its outcome would arrive while the next kernel of the file is compiled."""
    file, path = tmp_path / "k.py", tmp_path / "b.irscope"
    file.write_text(KERNELS)
    request = SweepRequest(file, None, "*fp32, i32", {}, {"BLOCK": (64, 128)}, (Target("cuda", "90", 32),))
    done: list[Progress] = []
    with planned_each(request, 1) as (found, executor), CaptureWriter.create(path) as writer:
        plans = [plan for plan in found if not isinstance(plan, UserError)]
        for plan, until in zip(plans, (time.monotonic(), None), strict=True):
            done.append(compile_plan(plan, executor, writer, "test", 300, lambda *_: None, until=until))
    assert [each.done + each.left for each in done] == [2, 2]
    assert done[1].left == 0 and not any(each.running or each.failed for each in done)
    assert {name for name in _variants(path) if name[0] == "second"} == {("second", 64), ("second", 128)}
