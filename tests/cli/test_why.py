"""`irscope why` as a user runs it."""

from __future__ import annotations

import json
import re

import pytest

from irscope.model import Argument, Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from tests.cli.conftest import KERNEL, TTGIR, VERSIONS

KEY = {
    "triton": "f" * 64, "source": "5" * 64, "backend": "ptxas: release 13.0, V13.0.1\n-90",
    "type x": "*fp32", "type BLOCK": "constexpr", "option num_warps": "4", "environment \x1b[31mX": "1",
}  # fmt: skip
SCALE = """import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
"""


@pytest.fixture
def keyed(tmp_path):
    """Three variants with whole keys: #2 has another block, #3 an `x` that is not divisible by 16."""
    path = tmp_path / "keyed.irscope"
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain(VERSIONS, "irscope compile add.py")
        kernel = writer.add_kernel(KERNEL, (), ("x", "BLOCK"))
        for block, divisible in ((64, True), (128, True), (64, False)):
            attributes = "{(0,): [['tt.divisibility', 16]]}" if divisible else "{(0,): []}"
            new = NewVariant(
                parse_target("cuda:90"),
                (Argument("x", "*fp32", "D" if divisible else ""),),
                Config((("BLOCK", block), ("num_warps", 4))),
                metadata={"shared": 0, "num_warps": 4},
                seconds={"ttgir": 0.5},
                cache_key=KEY | {"attributes": attributes, "constant BLOCK": str(block)},
                artifacts={"ttgir": TTGIR.format(block=block, per=block // 64).encode()},
            )
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    return path


def test_two_variants(irscope, keyed):
    done = irscope("why", keyed, "#1", "#2")
    assert done.returncode == 0, done.stderr
    assert (
        "1 of the 9 components of Triton's cache key differs:\n    constexpr BLOCK: 64 -> 128\n"
        in done.stdout
    )
    assert "First real difference: ttgir (" in done.stdout
    assert "Unknown: the capture does not have the machine code of both" in done.stdout


def test_an_argument_and_its_specialization(irscope, keyed):
    done = irscope("why", keyed, "#1", "#3")
    assert "    argument x: *fp32 divisible by 16 -> *fp32\n" in done.stdout
    assert "All compared stages are equal: ttgir" in done.stdout


def test_as_json_and_markdown(irscope, keyed):
    document = json.loads(irscope("why", keyed, "#1", "#3", "--format", "json").stdout)
    assert document["schema"] == "irscope.why/1" and document["whole_key"] is True
    (reason,) = document["reasons"]
    assert (reason["kind"], reason["name"], reason["components"]) == ("argument", "x", ["attributes"])
    assert document["same_machine_code"] is False
    assert "**Was it worth it**" in irscope("why", keyed, "#1", "#3", "--format", "markdown").stdout


def test_a_whole_capture(irscope, keyed):
    done = irscope("why", keyed)
    assert done.stdout.splitlines() == [
        "add_kernel in this capture: compiled 3 times, 1.5 s",
        "  because of these inputs:",
        "    argument x: *fp32 divisible by 16 x2, *fp32 x1",
        "    constexpr BLOCK: 64 x2, 128 x1",
        "  none is known to duplicate the machine code of another",
        "  a warm-up must cover 2 sets of arguments:",
        "    x *fp32 divisible by 16: 2 compilations, 1.0 s",
        "    x *fp32: 1 compilation, 500 ms",
    ]
    document = json.loads(irscope("why", keyed, "--format", "json").stdout)
    (kernel,) = document["kernels"]
    assert (kernel["compiled"], kernel["seconds"], kernel["repeated"]) == (3, 1.5, [])
    assert irscope("why", keyed, "--format", "markdown").stdout.startswith("**add\\_kernel")


def test_without_a_cache_key_unknown_inputs_are_listed(irscope, capture):
    done = irscope("why", capture, "#1", "#2")
    assert "the capture does not have Triton's cache key" in done.stdout
    assert "constexpr BLOCK: 64 -> 128" in done.stdout
    assert "Unknown: options that no config sets" in done.stdout


def test_inputs_are_counted_if_their_number_is_not_that_of_the_components(irscope, tmp_path):
    pytest.importorskip("triton")
    file, capture = tmp_path / "scale.py", tmp_path / "scale.irscope"
    file.write_text(SCALE)
    for signature in ("*fp32:16, *fp32:16, i32:16", "*fp32, *fp32, i32", "*fp32, *fp32, 1"):
        words = ["compile", file, "-o", capture, "--resume", "--config", "BLOCK=64", "--signature", signature]
        done = irscope(*words)
        assert done.returncode == 0, done.stderr
    # The attributes of all arguments are one component; an argument that equals 1 changes type and constant.
    attributes, constant = (irscope("why", capture, *pair).stdout for pair in (("#1", "#2"), ("#2", "#3")))
    assert re.search(r"  3 inputs differ, in 1 of the \d+ components of Triton's cache key:\n", attributes)
    assert attributes.count("    argument ") == 3
    assert re.search(r"  1 input differs, in 2 of the \d+ components of Triton's cache key:\n", constant)


def test_a_failure_leaves_the_question_open(irscope, capture):
    assert "Unknown: one of the two failed" in irscope("why", capture, "#1", "#4").stdout


def test_a_single_variant_is_an_error(irscope, capture):
    done = irscope("why", capture, "#1")
    assert (done.returncode, done.stderr) == (
        2,
        "irscope: name two variants, or none for the whole capture\n",
    )


def test_names_with_control_characters_are_printable(irscope, tmp_path):
    path = tmp_path / "hostile.irscope"
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain(VERSIONS, "")
        source = SourceFunction("\x1b[31mk", "k.py", 1, "")
        kernel = writer.add_kernel(source, (), ("\x1b]x",))
        for value in ("\x1b[2J", "\u202e"):
            new = NewVariant(parse_target("cuda:90"), (), Config((("\x1b[8m", value),)))
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    for words in ([], ["#1", "#2"]):
        for kind in ("text", "markdown", "json"):
            done = irscope("why", path, *words, "--format", kind)
            assert done.returncode == 0, done.stderr
            assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
