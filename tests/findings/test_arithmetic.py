"""Findings about how precisely the machine computes, on instructions that Triton 3.9 made."""

from __future__ import annotations

import pytest

from irscope.findings.arithmetic import arithmetic
from irscope.findings.finding import Finding, PairContext
from tests.findings.builders import stage_diff, variant

FUSED = "\tfma.rn.f32 \t%r25, %r12, %r20, %r30;\n"
ROUNDED = "\tmul.rn.f32 \t%r25, %r12, %r20;\n\tadd.rn.f32 \t%r26, %r25, %r30;\n"
POWER = "\tex2.approx.f32 \t%r9, %r48;\n"
# What both are compiled from, and edits of it that have fewer products to fuse.
SUM_OF_PRODUCT = """\
tt.func public @kernel(%x: f32, %y: f32, %z: f32, %w: tensor<64xf32>) {
  %0 = arith.mulf %x, %y : f32
  %1 = arith.addf %0, %z : f32
}
"""
PRODUCT_OF_SUM = """\
tt.func public @kernel(%x: f32, %y: f32, %z: f32, %w: tensor<64xf32>) {
  %0 = arith.addf %x, %y : f32
  %1 = arith.mulf %0, %z : f32
}
"""
REDUCED_PRODUCT = """\
tt.func public @kernel(%x: f32, %y: f32, %z: f32, %w: tensor<64xf32>) {
  %0 = arith.mulf %w, %w : tensor<64xf32>
  %1 = "tt.reduce"(%0) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %2 = arith.addf %a, %b : f32
    tt.reduce.return %2 : f32
  }) : (tensor<64xf32>) -> f32
}
"""
FLUSHED = "\tex2.approx.ftz.f32 \t%r9, %r48;\n"


def between(
    a: str,
    b: str,
    target: str = "cuda:90",
    stage: str = "ptx",
    ttir: tuple[str, str] = (SUM_OF_PRODUCT, SUM_OF_PRODUCT),
) -> list[Finding]:
    sides = variant(target), variant(target, id_=2)
    diffs = {stage: stage_diff(stage, a, b), "ttir": stage_diff("ttir", *ttir)}
    return list(arithmetic(PairContext(*sides, {}, {}, diffs)))


def test_fused_products_are_named_on_the_side_that_fuses() -> None:
    (finding,) = between(FUSED * 2, ROUNDED * 2)
    assert finding.text == (
        "Products and sums: A fuses them (2 x fma.rn.f32), B rounds each product first (2 x mul.rn.f32)"
    )
    assert (len(finding.evidence_a), len(finding.evidence_b)) == (2, 2)
    (finding,) = between(ROUNDED, FUSED)
    assert finding.text.startswith("Products and sums: B fuses them (1 x fma.rn.f32), A rounds")


@pytest.mark.parametrize("edited", [PRODUCT_OF_SUM, SUM_OF_PRODUCT.replace("%0, %z", "%x, %z")])
def test_an_edit_of_what_is_multiplied_is_not_a_difference_of_rounding(edited: str) -> None:
    assert between(FUSED, ROUNDED * 2, ttir=(SUM_OF_PRODUCT, edited)) == []
    assert between(FUSED, ROUNDED * 2, ttir=(PRODUCT_OF_SUM, PRODUCT_OF_SUM)) == []


def test_a_sum_of_products_can_be_a_reduction() -> None:
    assert len(between(FUSED, ROUNDED * 2, ttir=(REDUCED_PRODUCT, REDUCED_PRODUCT))) == 1


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
    approximate = "\tdiv.approx.f32 \t%r5, %r1, %r2;\n"
    (finding,) = between(approximate, approximate + full)
    assert finding.text == "Math instructions: 1 x div.approx.f32 -> 1 x div.approx.f32, 1 x div.full.f32"
