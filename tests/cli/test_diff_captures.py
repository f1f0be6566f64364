"""`irscope diff OLD NEW` as a user runs it."""

from __future__ import annotations

import json
import shutil

import pytest

from irscope.model import Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from tests.cli.conftest import TTGIR, VERSIONS, specialization


def write(path, name="add_kernel", blocks=(64, 128), shared=0, seconds=0.25):
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain(VERSIONS, "irscope compile add.py")
        source = SourceFunction(name, "add.py", 3, f"def {name}(x): pass\n")
        kernel = writer.add_kernel(source, (), ("x", "BLOCK"))
        for block in blocks:
            new = NewVariant(
                parse_target("cuda:90"),
                specialization(block),
                Config((("BLOCK", block), ("num_stages", 3))),
                metadata={"shared": shared, "num_warps": 4},
                seconds={"ttgir": seconds},
                artifacts={"ttgir": TTGIR.format(block=block, per=1).encode()},
            )
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    return path


@pytest.fixture
def old(tmp_path):
    return write(tmp_path / "old.irscope")


def test_a_capture_and_its_copy(irscope, old):
    copy = shutil.copy(old, old.with_name("new.irscope"))
    done = irscope("diff", old, copy)
    assert done.returncode == 0, done.stderr
    assert "Matched  2 variants, by kernel, specialization, config and target" in done.stdout
    assert "  0 worse\n" in done.stdout and "Worse\n" not in done.stdout


def test_better_and_worse_facts_are_listed(irscope, old, tmp_path):
    new = write(tmp_path / "new.irscope", shared=4096, seconds=2.0)
    done = irscope("diff", old, new)
    assert "2 worse: Shared 2\n" in done.stdout
    assert "add_kernel #1 BLOCK=64: Shared 0 -> 4,096 bytes\n" in done.stdout
    back = irscope("diff", new, old)
    assert "0 worse" in back.stdout and "2 only better" in back.stdout


def test_renamed_removed_and_added_variants(irscope, old, tmp_path):
    new = write(tmp_path / "new.irscope", name="add_rows", blocks=(64, 256))
    done = irscope("diff", old, new)
    assert "Renamed  add_kernel -> add_rows" in done.stdout
    text = "1 variant; #2 and its closest in"
    assert f"Only in OLD  add_kernel: {text} NEW, #1, differ in BLOCK: 128 / 64" in done.stdout
    assert f"Only in NEW  add_rows: {text} OLD, #1, differ in BLOCK: 256 / 64" in done.stdout


def test_as_json_and_markdown(irscope, old, tmp_path):
    new = write(tmp_path / "new.irscope", shared=4096)
    document = json.loads(irscope("diff", old, new, "--format", "json").stdout)
    assert document["schema"] == "irscope.diff-captures/1"
    assert [change["fact"] for change in document["pairs"][0]["worse"]] == ["shared"]
    assert "**Worse**" in irscope("diff", old, new, "--format", "markdown").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["#1"], "'#1' is not a capture; name two variants, or a second capture"),
        (["old.irscope", "--stage", "ttgir"], "two captures have no rows to show"),
        (["old.irscope", "--format", "unified"], "two captures have no rows to show"),
    ],
)
def test_wrong_use_is_one_line(irscope, old, words, message):
    done = irscope("diff", old, *words)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
