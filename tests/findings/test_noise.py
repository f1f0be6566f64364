"""What did not change is no finding: moved statements, extracted helpers, equal warnings, equal numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.compiling.messages import SweepRequest
from irscope.compiling.pool import Stop
from irscope.facts.loops.kernel_loops import Loop
from irscope.facts.source.alignment import line_map
from irscope.findings.finding import Finding, PairContext, ValueChange, ranked
from irscope.findings.loops import _length
from irscope.findings.registry import findings
from irscope.mcp.warm_compiler import Compiler, Limits
from irscope.model import Kernel, SourceFunction, Target
from irscope.workspace import Comparison, Workspace
from tests.findings.builders import variant

HEAD = """import triton
import triton.language as tl


"""
KERNEL = """@triton.jit
def kernel(x, y, o, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    m = offs < n
    a = tl.load(x + offs, mask=m)
    b = tl.load(y + offs, mask=m)
    tl.store(o + offs, a - b, mask=m)
"""
LOAD_A, LOAD_B = KERNEL.split("\n")[4:6]
REORDERED = KERNEL.replace(f"{LOAD_A}\n{LOAD_B}", f"{LOAD_B}\n{LOAD_A}")
HELPER = """@triton.jit
def fetch(pointer, n, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    return tl.load(pointer + offsets, mask=offsets < n)


"""
EXTRACTED = HELPER + KERNEL.replace("tl.load(x + offs, mask=m)", "fetch(x, n, B)")
ADDING = KERNEL.replace("a - b", "a + b")
TARGETS = ("cuda:90", "hip:gfx942")


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[Callable]:
    """Compiles KERNEL and another version of it and compares them."""
    compiler, opened = Compiler(Limits()), []

    def compared(text: str, target: str) -> Comparison:
        folder = tmp_path_factory.mktemp("versions")
        vendor, _, arch = target.partition(":")
        for name, version in (("1", KERNEL), ("2", text)):
            file = folder / name / "kernel.py"
            file.parent.mkdir()
            file.write_text(HEAD + version)
            signature, axes = "*fp32:16, *fp32:16, *fp32:16, i32", {"B": (1024,)}
            made = (Target(vendor, arch, 32 if vendor == "cuda" else 64),)
            request = SweepRequest(file, "kernel", signature, {}, axes, made)
            compiler.compile(request, folder / "both.irscope", Stop())
        opened.append(Workspace(folder / "both.irscope"))
        return opened[-1].compare(*opened[-1].variants)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        yield compared
    compiler.close()
    for workspace in opened:
        workspace.close()


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_reordered_loads_are_moved_and_nothing_else(compare: Callable, target: str):
    comparison = compare(REORDERED, target)
    assert not [one.text for one in comparison.findings if "none" in one.text or "of A" in one.text]
    narrow = [one.text for one in comparison.main_findings if "stay 4-byte" in one.text]
    assert len(narrow) == 1 and narrow[0].endswith("; 2 other accesses too")
    assert any(one.text.endswith("moved from line 10") for one in comparison.main_findings)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_an_extracted_helper_loads_what_the_kernel_loaded(compare: Callable, target: str):
    comparison = compare(EXTRACTED, target)
    texts = [one.text for one in comparison.findings]
    assert not [text for text in texts if "none" in text], texts
    if comparison.duplicate:
        assert [one.kind for one in comparison.main_findings] == ["identical"]


def versions(a: str, b: str) -> tuple[Kernel, Kernel]:
    one, other = (SourceFunction("kernel", "k.py", 1, text) for text in (a, b))
    return variant(source=one).kernel, variant(source=other).kernel


def test_a_moved_line_is_in_the_map_and_its_inverse():
    lines = line_map(*versions(KERNEL, REORDERED))
    matches = [(line, lines.match(("k.py", line))) for line in (5, 6)]
    assert [(line, match.line) for line, match in matches if match] == [(5, 6), (6, 5)]
    inverse = lines.inverse
    assert [match.line for line in (5, 6) if (match := inverse.match(("k.py", line)))] == [6, 5]
    backwards = line_map(*versions(REORDERED, KERNEL))
    assert [match.line for line in (5, 6) if (match := backwards.match(("k.py", line)))] == [6, 5]


def test_one_of_two_equal_statements_did_not_move():
    twice = KERNEL.replace(LOAD_B, f"{LOAD_B}\n    m = m & (n > 3)\n{LOAD_B}")
    assert not line_map(*versions(KERNEL, twice)).moved


def test_a_sentence_whose_sides_are_equal_is_no_finding():
    equal, other = ValueChange("115", "115", unit="per iteration"), ValueChange("16", "32", unit="iterations")
    loop = Finding("The loop of line 3", 4.0, "loop", changes=(equal,))
    longer, pipelined = replace(loop, changes=(equal, other)), replace(loop, changes=("no longer pipelined",))
    identical = Finding(
        "A and B have identical machine code; benchmarking both is redundant", 4.0, "identical"
    )
    assert ranked([loop, replace(loop, changes=("unrolled x2", equal))]) == []
    assert ranked([longer, pipelined, identical]) == [identical, longer, pipelined]


def test_the_length_of_a_loop_that_did_not_change_is_not_mentioned():
    def loop(instructions: int, unrolled: int) -> Loop:
        fields = dict.fromkeys(Loop.__dataclass_fields__)
        return Loop(**{**fields, "instructions": instructions, "unrolled": unrolled})

    assert _length(loop(115, 2), loop(115, 2)) == []
    assert _length(loop(115, 2), loop(230, 2)) == [
        ValueChange("115", "230", unit="instructions per 2 iterations")
    ]
    assert _length(loop(115, 2), loop(230, 4)) == [
        ValueChange("instructions 115 per 2 iterations", "230 per 4 iterations")
    ]


def test_a_warning_about_another_line_or_function_is_the_same_warning():
    def log(name: str, *lines: int) -> str:
        return "".join(
            "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized "
            "due to insufficient register resources for the wgmma pipeline "
            f"in the function '{name}' in line {line}\n"
            for line in lines
        )

    def warned(a: str, b: str) -> list[str]:
        pair = PairContext(variant(log=a), variant(id_=2, log=b), {}, {})
        return [one.text for one in findings(pair) if one.kind == "ptxas"]

    assert warned(log("old", 979), log("new", 1012)) == []
    assert len(warned("", log("new", 979, 1012))) == 1
    (text,) = warned("", log("new", 979, 1012))
    assert text.endswith("in line 979")
