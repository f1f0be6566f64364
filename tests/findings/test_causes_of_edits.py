"""The causes that findings state for edits of what a kernel computes, on kernels that are compiled here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from irscope.compiling.messages import SweepRequest
from irscope.compiling.pool import Stop
from irscope.document.comparison_content import diff_content
from irscope.document.report_content import pair_report
from irscope.document.terminal.document_text import text_lines
from irscope.findings.finding import Finding
from irscope.mcp.warm_compiler import Compiler, Limits
from irscope.model import Target, Value
from irscope.workspace import Comparison, Workspace
from irscope.workspace.capture_comparison import capture_edits

pytestmark = pytest.mark.slow

KERNELS = """\
import triton
import triton.language as tl

SCALE = tl.constexpr(2.0)
LENGTH = tl.constexpr(64)


@triton.jit
def fast_exp(x):
    text: tl.constexpr = "ex2.approx.ftz.f32 $0, $1;"
    return tl.inline_asm_elementwise(text, "=r,r", [x * 1.44], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def exponential(x, FAST: tl.constexpr):
    if FAST:
        return fast_exp(x)
    return tl.exp(x)


@triton.jit
def powers(x_ptr, y_ptr, B: tl.constexpr, FAST: tl.constexpr, CLAMP: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(x_ptr + o)
    if CLAMP:
        x = tl.minimum(tl.maximum(x, -10.0), 10.0)
    tl.store(y_ptr + o, exponential(x, FAST))


@triton.jit
def largest(x_ptr, y_ptr, B: tl.constexpr, TOP: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(x_ptr + o)
    if TOP:
        tl.store(y_ptr + tl.arange(0, 8), tl.topk(x, 8))
    else:
        tl.store(y_ptr + o, tl.sort(x, descending=True), mask=o < 8)


@triton.jit
def rows(x_ptr, y_ptr, sm, sn, M: tl.constexpr, B: tl.constexpr):
    o = tl.arange(0, B)
    r = tl.arange(0, M)
    x = tl.load(x_ptr + r[:, None] * sm + o[None, :] * sn)
    tl.store(y_ptr + r[:, None] * B + o[None, :], x * 2)


@triton.jit
def scaled(x):
    return x * SCALE


@triton.jit
def scale(x_ptr, y_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, scaled(tl.load(x_ptr + o)))


@triton.jit
def copy(x_ptr, y_ptr, FAST: tl.constexpr):
    o = tl.arange(0, LENGTH)
    x = tl.load(x_ptr + o)
    tl.store(y_ptr + o, tl.sqrt_rn(x) if FAST else tl.sqrt(x))
"""
TWO = "*fp32:16, *fp32:16"
FLOATS = {"B": 1024, "FAST": False, "CLAMP": True}
# The variants by name: kernel, signature, config, and the value of the global SCALE.
VARIANTS: Mapping[str, tuple[str, str, Mapping[str, Value], str]] = {
    "plain": ("powers", TWO, FLOATS, "2.0"),
    "fast": ("powers", TWO, {**FLOATS, "FAST": True}, "2.0"),
    "unclamped": ("powers", TWO, {**FLOATS, "CLAMP": False}, "2.0"),
    "unfused": ("powers", TWO, {**FLOATS, "num_warps": 8}, "2.0"),
    "sort": ("largest", TWO, {"B": 64, "TOP": False}, "2.0"),
    "topk": ("largest", TWO, {"B": 64, "TOP": True}, "2.0"),
    "contiguous": ("rows", f"{TWO}, i32:16, 1", {"M": 32, "B": 64}, "2.0"),
    "strided": ("rows", f"{TWO}, i32:16, i32", {"M": 32, "B": 64}, "2.0"),
    "twice": ("scale", TWO, {"B": 128}, "2.0"),
    "thrice": ("scale", TWO, {"B": 128}, "3.0"),
    "rounded": ("copy", TWO, {"FAST": True}, "2.0"),
    "root": ("copy", TWO, {"FAST": False}, "2.0"),
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("causes")
    path = folder / "all.irscope"
    compiler = Compiler(Limits())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        for kernel, signature, config, value in VARIANTS.values():
            file = folder / f"kernels{value[0]}.py"
            file.write_text(KERNELS.replace("constexpr(2.0)", f"constexpr({value})"))
            axes = {name: (value,) for name, value in config.items()}
            compiler.compile(
                SweepRequest(file, kernel, signature, {}, axes, (Target("cuda", "90", 32),)), path, Stop()
            )
    compiler.close()
    with Workspace(path) as opened:
        yield opened


def pair(workspace: Workspace, a: str, b: str) -> Comparison:
    numbers = [list(VARIANTS).index(name) + 1 for name in (a, b)]
    return workspace.compare(*map(workspace.live.by_id, numbers))


def of_kind(found: Comparison, *kinds: str) -> list[str]:
    return [finding.text for finding in found.findings if finding.kind in kinds and not finding.covered]


def evidence(finding: Finding, found: Comparison, side: str) -> str:
    """The lines that prove a finding on a side."""
    variant = found.a if side == "A" else found.b
    lines = finding.evidence_a if side == "A" else finding.evidence_b
    text = found.workspace.document(variant, lines[0].stage).lines if lines else []
    return "\n".join(text[one.line] for one in lines)


def test_a_condition_of_constants_names_what_each_side_compiles(workspace: Workspace) -> None:
    for a, b, ours, theirs in (("sort", "topk", "A", "B"), ("topk", "sort", "B", "A")):
        (text,) = of_kind(pair(workspace, a, b), "branch")
        assert text.startswith("`if TOP` of line 34: only A compiles line ")
        assert f"only {theirs} compiles line 35 (tl.store(y_ptr + tl.arange(0, 8), tl.topk(x, 8)))" in text
        assert f"only {ours} compiles line 37 (tl.store(y_ptr + o, tl.sort(x, descending=True)" in text


def test_a_removed_clamp_is_named(workspace: Workspace) -> None:
    found = pair(workspace, "plain", "unclamped")
    clamp = "line 26 (x = tl.minimum(tl.maximum(x, -10.0), 10.0))"
    assert of_kind(found, "branch") == [f"`if CLAMP` of line 25: only A compiles {clamp}"]
    assert "arith.max" in evidence(found.findings[0], found, "A")
    assert not found.findings[0].evidence_b
    assert of_kind(found, "computation", "math") == []


def test_a_branch_that_returns_has_the_rest_as_its_other_branch(workspace: Workspace) -> None:
    found = pair(workspace, "plain", "fast")
    (text,) = of_kind(found, "branch")
    assert text.startswith("`if FAST` of line 16: only A compiles line 18 (return tl.exp(x)), only B")
    assert of_kind(found, "math") == [
        "Math instructions: 8 x ex2.approx.f32 -> 8 x ex2.approx.ftz.f32; B flushes subnormal numbers to zero"
    ]
    math = next(finding for finding in found.findings if finding.kind == "math")
    assert evidence(math, found, "B").count("ex2.approx.ftz.f32") == 8


def test_a_choice_within_a_line_names_the_operations(workspace: Workspace) -> None:
    found = pair(workspace, "root", "rounded")
    line = "Line 63 (tl.store(y_ptr + o, tl.sqrt_rn(x) if FAST else tl.sqrt(x)))"
    assert of_kind(found, "computation") == [
        f"{line}: only A computes math.sqrt, only B computes tt.precise_sqrt"
    ]
    (text,) = of_kind(found, "math")
    assert text.startswith("Math instructions: 1 x sqrt.approx")
    assert "-> 1 x sqrt.rn" in text
    assert text.endswith("A approximates")


def test_a_config_that_computes_the_same_has_no_such_cause(workspace: Workspace) -> None:
    found = pair(workspace, "plain", "unfused")
    assert of_kind(found, "branch", "computation", "math", "global") == []


def test_a_stride_that_is_not_known_to_be_1_is_named(workspace: Workspace) -> None:
    for a, b, side in (("contiguous", "strided", "B"), ("strided", "contiguous", "A")):
        found = pair(workspace, a, b)
        (text,) = of_kind(found, "global load")
        assert text.endswith(f"; {side} is narrow because sn is not known to be 1")
        assert "argument sn: " in head(found)


def head(found: Comparison) -> str:
    report = pair_report(found, "none")
    return list(text_lines(diff_content(report)))[2]


@pytest.mark.skipif(
    version("triton").startswith("3.6."), reason="the key of Triton 3.6 lacks the globals of helpers"
)
def test_a_changed_global_is_the_cause(workspace: Workspace) -> None:
    found = pair(workspace, "twice", "thrice")
    (text,) = of_kind(found, "global")
    assert text == (
        "global SCALE: 2.0 -> 3.0, read by line 50 (return x * SCALE); the results change with the constant"
    )
    assert "arith.mulf" in evidence(found.findings[0], found, "B")
    assert "identical configs; global SCALE: 2.0 -> 3.0" in head(found)
    first = next(finding.text for finding in found.findings if finding.kind == "stages")
    assert first.endswith("; constants differ from ttir on")
    # In a comparison of captures, where nobody changed the text of the kernel.
    from irscope.workspace.capture_comparison import compare_pair

    matched = compare_pair(found.a, found.b, *found.facts)
    assert list(capture_edits([matched], workspace, workspace)) == [("scale", text)]
