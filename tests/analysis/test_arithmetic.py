"""Findings about how precisely the machine computes, on instructions that Triton 3.9 made."""

from __future__ import annotations

import pytest

from irscope.analysis.findings.arithmetic import arithmetic
from irscope.analysis.findings.finding import Finding, PairContext
from tests.analysis.builders import stage_diff, variant

FUSED = "\tfma.rn.f32 \t%r25, %r12, %r20, %r30;\n"
ROUNDED = "\tmul.rn.f32 \t%r25, %r12, %r20;\n\tadd.rn.f32 \t%r26, %r25, %r30;\n"
POWER = "\tex2.approx.f32 \t%r9, %r48;\n"
FLUSHED = "\tex2.approx.ftz.f32 \t%r9, %r48;\n"


def between(a: str, b: str, target: str = "cuda:90", stage: str = "ptx") -> list[Finding]:
    sides = variant(target), variant(target, id_=2)
    return list(arithmetic(PairContext(*sides, {}, {}, {stage: stage_diff(stage, a, b)})))


def test_fused_products_are_named_on_the_side_that_fuses() -> None:
    (finding,) = between(FUSED * 2, ROUNDED * 2)
    assert finding.text == (
        "Products and sums: A fuses them (2 x fma.rn.f32), B rounds each product first (2 x mul.rn.f32)"
    )
    assert (len(finding.evidence_a), len(finding.evidence_b)) == (2, 2)
    (finding,) = between(ROUNDED, FUSED)
    assert finding.text.startswith("Products and sums: B fuses them (1 x fma.rn.f32), A rounds")


def test_packed_products_of_amd_are_products() -> None:
    fused, rounded = (
        "\tv_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]\n",
        "\tv_pk_mul_f32 v[2:3], v[2:3], v[4:5]\n",
    )
    (finding,) = between(rounded, fused, "hip:gfx942", "amdgcn")
    assert "B fuses them (1 x v_pk_fma_f32), A rounds each product first (1 x v_pk_mul_f32)" in finding.text


@pytest.mark.parametrize(
    ("a", "b"), [(FUSED, FUSED * 4), (FUSED, POWER), (POWER, POWER * 4), (FUSED + ROUNDED, FUSED)]
)
def test_other_numbers_of_instructions_round_alike(a: str, b: str) -> None:
    assert between(a, b) == []


def test_a_modifier_says_what_it_does() -> None:
    assert [finding.text for finding in between(POWER * 8, FLUSHED * 8)] == [
        "Math instructions: 8 x ex2.approx.f32 -> 8 x ex2.approx.ftz.f32; B flushes subnormal numbers to zero"
    ]
    full, rounded = "\tdiv.full.f32 \t%r5, %r1, %r2;\n", "\tdiv.rn.f32 \t%r5, %r1, %r2;\n"
    (finding,) = between(full, rounded)
    assert finding.text == "Math instructions: 1 x div.full.f32 -> 1 x div.rn.f32; A approximates"
