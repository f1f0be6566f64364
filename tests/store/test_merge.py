"""Merging keeps everything once; a damaged input leaves no output."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.model import Benchmark, Failure, Launch, SourceFunction, UserError, Variant
from irscope.store import CaptureReader, CaptureWriter, NewPass
from irscope.store.merge_captures import MergedCapture
from tests.store.stored_facts import by_variant
from tests.store.test_capture import SOURCE, new, write

FAILED = Failure("timeout", "t", "t")
LAUNCH = Launch((8, 1, 1), (("x_ptr", "float32[64]"),))


def content(path: Path) -> list[tuple[object, ...]]:
    """Everything a capture says, but for numbers."""
    with CaptureReader(path) as capture:
        facts = by_variant(capture.fact_blocks())
        return sorted(
            (_said(capture, variant, facts.get(variant.id)) for variant in capture.variants()), key=repr
        )


def _said(capture: CaptureReader, variant: Variant, facts: object) -> tuple[object, ...]:
    stages = {name: capture.read(variant, name) for name in variant.artifacts}
    return (
        variant.kernel.source, variant.config, variant.specialization, variant.target, variant.failure,
        dict(variant.metadata), variant.log, variant.launches, variant.benchmarks,
        dict(variant.toolchain.versions), variant.toolchain.command, stages, facts,
    )  # fmt: skip


def test_merging_one_capture_copies_it(tmp_path: Path):
    path = tmp_path / "a.irscope"
    write(path, new(64, metadata={"shared": 1}, artifacts={"ttir": b"x" * 9000}), new(128, failure=FAILED))
    with CaptureWriter.resume(path) as writer:
        writer.add_facts(1, 7, {"registers": 32})
    merged = MergedCapture.write([path], tmp_path / "b.irscope")
    assert (merged.variants, merged.kernels, merged.read) == (2, 1, 2)
    assert content(tmp_path / "b.irscope") == content(path)


def test_equal_variants_are_merged_with_all_measurements(tmp_path: Path):
    a, b, out = (tmp_path / f"{name}.irscope" for name in "abo")
    write(a, new(64, artifacts={"ttir": b"one"}), new(128, failure=FAILED), new(256))
    write(
        b,
        new(64, artifacts={"ttir": b"one", "sass": b"derived"}, launches=(LAUNCH,)),
        new(128, artifacts={"ttir": b"two"}),
        new(512),
    )
    with CaptureWriter.resume(a) as writer:
        writer.set_measured(1, (), (Benchmark("M=1", 0.5, 0.4, 0.6),))
        writer.add_facts(1, 7, {"ms": 0.5})
        writer.add_facts(3, 7, {"ms": None})
    merged = MergedCapture.write([a, b], out)
    assert (merged.variants, merged.kernels, merged.read) == (4, 1, 6)
    with CaptureReader(out) as capture:
        variants = capture.variants()
        assert [variant.id for variant in variants] == [1, 2, 3, 4]
        assert [variant.config.get("BLOCK") for variant in variants] == [64, 128, 256, 512]
        assert variants[0].launches == (LAUNCH,)
        assert variants[0].benchmarks == (Benchmark("M=1", 0.5, 0.4, 0.6),)
        assert set(variants[0].artifacts) == {"ttir", "sass"}
        assert variants[1].failure is None, "one that compiled goes before one that failed"
        assert capture.read(variants[1], "ttir") == b"two"
        # Facts include measurements, so the merged variant's facts are recomputed.
        assert by_variant(capture.fact_blocks()) == {3: (7, {"ms": None})}


def test_passes_and_layouts_are_merged(tmp_path: Path):
    a, b, out = (tmp_path / f"{name}.irscope" for name in "abo")
    ran = (NewPass("ttir", "cse", 0.25, b"module {}"), NewPass("ttgir", "canonicalize", 0.5, None))
    write(a, new(64), new(128))
    write(b, new(64, passes=ran, artifacts={"ttir": b"module {}"}))
    with CaptureWriter.resume(b) as writer:
        writer.add_layouts(1, {"#blocked": {"lane": [[1]]}})
    MergedCapture.write([a, b], out)
    with CaptureReader(out) as capture:
        joined, single = capture.variants()
        first, second = capture.passes(joined)
        assert (first.stage, first.name, first.seconds) == ("ttir", "cse", 0.25)
        assert first.artifact and capture.content(first.artifact) == b"module {}"
        assert (second.stage, second.name, second.artifact) == ("ttgir", "canonicalize", None)
        assert capture.layouts(joined) == {"#blocked": {"lane": [[1]]}}
        assert (capture.passes(single), capture.layouts(single)) == ((), None)


def test_stages_are_not_compressed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.irscope"
    write(path, new(64, artifacts={"ttir": b"x" * 9000}))

    def never(*_: object) -> bytes:
        raise AssertionError("compressed again")

    monkeypatch.setattr("irscope.store.encoding.compress", never)
    MergedCapture.write([path], tmp_path / "b.irscope")
    assert content(tmp_path / "b.irscope") == content(path)


def _not_what_its_name_says(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE blob SET data = (SELECT data FROM blob ORDER BY digest LIMIT 1)")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize("damage", [_cut, _not_what_its_name_says, Path.unlink])
@pytest.mark.parametrize("there", [False, True])
def test_a_damaged_input_leaves_no_partial_output(tmp_path: Path, damage, there: bool):
    good, bad, out = (tmp_path / f"{name}.irscope" for name in ("good", "bad", "out"))
    write(good, new(64))
    write(bad, new(64, artifacts={"ttir": b"a" * 50, "ptx": b"b" * 50}), new(128))
    damage(bad)
    if there:
        out.write_text("precious")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UserError) as raised:
        MergedCapture.write([good, bad], out, force=there)
    assert "\n" not in str(raised.value)
    assert str(bad) in str(raised.value)
    assert sorted(tmp_path.iterdir()) == before
    assert not there or out.read_text() == "precious"


def test_an_output_that_cannot_be_written_is_named(tmp_path: Path):
    write(tmp_path / "a.irscope", new(64))
    output = tmp_path / "nowhere" / "out.irscope"
    with pytest.raises(UserError, match=f"^{re.escape(str(output))}: cannot be written"):
        MergedCapture.write([tmp_path / "a.irscope"], output)


# Stops in the middle of the merge, with a variant written and another to come.
STOPS = """
import sys, time
from pathlib import Path
from irscope.store.merge_captures import MergedCapture
from irscope.store.writer import CaptureWriter

add_variant = CaptureWriter.add_variant
def stop(self, *given, **_):
    add_variant(self, *given)
    print("begun", flush=True)
    time.sleep(600)
CaptureWriter.add_variant = stop
MergedCapture.write([Path("a.irscope")], Path("out.irscope"))
"""


def test_leftovers_of_a_killed_merge_are_removed_by_the_next(tmp_path: Path):
    a, out = tmp_path / "a.irscope", tmp_path / "out.irscope"
    write(a, new(64), new(128))
    merges = [
        subprocess.Popen([sys.executable, "-c", STOPS], cwd=tmp_path, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for merge in merges:
        assert merge.stdout is not None
        assert merge.stdout.readline() == b"begun\n"
    killed, running = merges
    try:
        killed.kill()
        killed.wait()
        foreign = tmp_path / "out.irscope.mine.part"
        foreign.write_text("another's")
        assert not out.exists()
        MergedCapture.write([a], out)
        left = {path.name for path in tmp_path.iterdir()}
        assert not [name for name in left if f".{killed.pid}." in name]
        assert {f"out.irscope.{running.pid}.part", foreign.name} <= left, "those are not abandoned"
    finally:
        running.kill()
        running.wait()
    assert content(out) == content(a)


def test_the_command(irscope, tmp_path: Path):
    write(tmp_path / "a.irscope", new(64))
    with CaptureWriter.create(tmp_path / "b.irscope") as writer:
        kernel = writer.add_kernel(SOURCE, (), ("another", "signature"))
        writer.add_variant(kernel, writer.add_toolchain({"triton": "3.6.0"}, ""), "3.6.0", new(64))
    done = irscope("merge", "a.irscope", "b.irscope", "-o", "c.irscope")
    assert done.returncode == 0, done.stderr
    assert "2 variants of 2 kernels from 2 captures, 0 in more than one" in done.stdout
    assert irscope("merge", "a.irscope", "-o", "c.irscope").returncode == 2
    assert irscope("merge", "c.irscope", "a.irscope", "-o", "c.irscope", "--force").returncode == 0
    assert irscope("list", "c.irscope").stdout.count("ok") == 2
    single = irscope("merge", "a.irscope", "-o", "d.irscope")
    assert "1 variant of 1 kernel from 1 capture, 0 in more than one" in single.stdout


def test_lone_surrogates_are_merged(tmp_path: Path):
    a, b, out = tmp_path / "a.irscope", tmp_path / "b.irscope", tmp_path / "out.irscope"
    hostile = SourceFunction("k\ud800", "k\udce9.py", 3, "def k(): '\ud800'\n")
    with CaptureWriter.create(a) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "irscope compile k\udce9.py")
        kernel = writer.add_kernel(hostile, (), ("\ud800",))
        writer.add_variant(kernel, toolchain, "3.9.0", new(64, output="\ud800", cache_key={"x": "\udfff"}))
    write(b, new(128))
    assert MergedCapture.write([a, b], out).variants == 2
    with CaptureReader(out) as capture:
        assert capture.variants()[0].kernel.source == hostile
