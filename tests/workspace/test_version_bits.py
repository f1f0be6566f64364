"""Which kernels change bits with another Triton, or without fused products."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.document.json.capture import versions_document
from irscope.document.terminal.document_text import text_lines
from irscope.document.variant_content import versions_content
from irscope.model import Variant
from irscope.workspace import Workspace
from irscope.workspace.bits import NOT_LAUNCHED
from irscope.workspace.capture_comparison import compare_pair
from irscope.workspace.compiler_version import compiler_version
from irscope.workspace.timeline import VersionStep, VersionSummary
from irscope.workspace.version_bits import VersionBits, version_bits


@pytest.fixture
def opened(bits_capture: Path) -> Iterator[Workspace]:
    with Workspace(bits_capture) as workspace:
        yield workspace


def under(variant: Variant, triton: str) -> Variant:
    """Return the variant as if another version had compiled it, to the same stages."""
    versions: Mapping[str, str] = {**variant.toolchain.versions, "triton": triton}
    return replace(variant, toolchain=replace(variant.toolchain, versions=versions))


def summary(opened: Workspace, kernel: str, *tritons: str) -> VersionSummary:
    variants = opened.select(kernel)
    versions = {triton: tuple(under(variant, triton) for variant in variants) for triton in tritons}
    steps = []
    for old, new in itertools.pairwise(tritons):
        pairs = tuple(compare_pair(a, b, {}, {}) for a, b in zip(versions[old], versions[new], strict=True))
        a, b = (compiler_version(versions[triton][0]) for triton in (old, new))
        steps.append(VersionStep(a, b, pairs, (), {}, 0, 0))
    return VersionSummary(
        kernel, "cuda:90", {compiler_version(v[0]): v for v in versions.values()}, tuple(steps)
    )


def changes(opened: Workspace, kernel: str, *tritons: str, launch: tuple[str, ...] = ()) -> list[VersionBits]:
    return list(version_bits(opened, summary(opened, kernel, *tritons), launch))


def test_triton_3_8_adds_the_values_of_a_thread_in_pairs(opened: Workspace):
    before, after, unfused = changes(opened, "row_sum", "3.6.0", "3.7.1", "3.8.0")
    assert (before.change, before.counts) == ("Triton 3.6.0 -> 3.7.1", "bits differ in 0 of 4")
    # Two values per thread have one order.
    assert (after.change, after.counts) == ("Triton 3.7.1 -> 3.8.0", "bits differ in 3 of 4")
    first, second, *_ = after.pairs
    assert (first.answer, second.answer, second.texts) == ("differ", "same", ())
    (text,) = first.texts
    assert text.startswith("line 38 (total += tl.sum(values, axis=0)): A adds 4 values per thread, then 32")
    assert "B adds 4 values per thread in pairs" in text
    assert (unfused.change, unfused.counts) == ("Triton 3.8.0 with fusion off", "bits differ in 0 of 4")


def test_a_fused_multiply_add_is_lost_without_fusion(opened: Workspace):
    step, unfused = changes(opened, "axpy", "3.8.0", "3.9.0")
    assert step.counts == "bits differ in 0 of 2"
    # The other variant is compiled without fusion.
    (pair,) = unfused.pairs
    assert (pair.a, pair.b, pair.answer) == (8, 8, "differ")
    assert pair.texts[0].startswith("line 47 (result = left * a + ") and "A fuses a * b + c" in pair.texts[0]
    tiles, plain = changes(opened, "matmul", "3.7.1", "3.8.0")
    assert [pair.answer for pair in (*tiles.pairs, *plain.pairs)] == ["same"] * 6


def test_what_is_unknown_is_not_the_same(opened: Workspace):
    step, _ = changes(opened, "add_all", "3.8.0", "3.9.0")
    assert step.counts == "bits differ in 0 of 2, unknown in 2" and "atomics" in step.pairs[0].texts[0]
    step, _ = changes(opened, "sum_below", "3.8.0", "3.9.0")
    assert step.pairs[0].texts == ("the length of a loop depends on data",)
    step, _ = changes(opened, "row_sum", "3.8.0", "3.9.0", launch=("grid=(16,), N=2048, rows=16",))
    assert step.pairs[0].texts == ("--launch: no parameter or expression uses 'rows'",)
    step, _ = changes(opened, "row_sum", "3.8.0", "3.9.0", launch=("grid=(16,)",))
    assert "give the value of N" in step.pairs[0].texts[0]
    row = summary(opened, "row_sum", "3.9.0")
    unlaunched = {version: [replace(v, launches=()) for v in vs] for version, vs in row.versions.items()}
    (unfused,) = version_bits(opened, replace(row, versions=unlaunched), ())  # type: ignore[arg-type]
    assert {pair.texts for pair in unfused.pairs} == {(NOT_LAUNCHED,)}


def test_other_instructions_for_the_same_stages_are_unknown(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch
):
    """The bits below TTGIR are not known to be the same if ptxas computes a function otherwise."""
    from irscope.findings.finding import Finding

    finding = Finding("Math instructions: div.full.f32 -> div.rn.f32", 1.0, "math")
    monkeypatch.setattr("irscope.workspace.comparison.Comparison.findings", [finding])
    step, _ = changes(opened, "axpy", "3.8.0", "3.9.0")
    assert {pair.texts for pair in step.pairs} == {(f"the machine code computes otherwise: {finding.text}",)}


def test_equal_lines_are_listed_once_for_all_configs(opened: Workspace):
    item = summary(opened, "axpy", "3.8.0", "3.9.0")
    bits = [list(version_bits(opened, item, ()))]
    lines = list(text_lines(versions_content([item], bits)))
    assert "  Triton 3.8.0 -> 3.9.0  bits differ in 0 of 2" in lines
    assert any(line.startswith("    differ  #8: line 47 (result = ") for line in lines)
    (kernel,) = versions_document([item], bits, "v.irscope", [])["kernels"]
    step, unfused = kernel["bits"]
    assert step["pairs"][0] == {"old": 8, "new": 8, "answer": "same", "texts": []}
    assert unfused["change"] == "Triton 3.9.0 with fusion off" and unfused["pairs"][0]["answer"] == "differ"
