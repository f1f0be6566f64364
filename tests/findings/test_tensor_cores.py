"""The headline about the instruction that multiplies matrices, and the cause that it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import irscope
from irscope.facts.matrix_products import (
    FMA,
    MMA_SYNC,
    TCGEN05,
    WGMMA,
    Machine,
    MatrixPath,
    Product,
    dots_by_place,
    obstacles,
    scaled_obstacles,
)
from irscope.findings.finding import Finding, PairContext
from irscope.findings.registry import findings
from irscope.findings.tensor_cores import tensor_cores
from irscope.languages.language import parse
from irscope.model import Variant
from tests.findings.builders import stage_diff, stored, variant

SMALL = "BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0"
TILE = Product(128, 128, 64, 2, "f16", "f16", "f32")
HOPPER, BLACKWELL = Machine(90, 4), Machine(100, 4)


def of(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.kind == "matrix path"]


def between(a: str, b: str) -> list[Finding]:
    """The findings about the matmul for cuda:A and cuda:B."""
    stages = [stored(f"matmul_kernel.cuda-{target}.{SMALL}", "ttgir") for target in (a, b)]
    # TTIR is the same for every target.
    ttir = stored(f"matmul_kernel.cuda-90.{SMALL}", "ttir")
    diffs = {"ttir": stage_diff("ttir", ttir, ttir), "ttgir": stage_diff("ttgir", *stages)}
    made = [variant(f"cuda:{target}", id_=number) for number, target in enumerate((a, b), 1)]
    return findings(PairContext(*made, {}, {}, diffs))


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("80", MatrixPath(MMA_SYNC, "f16", "f16")),
        ("90", MatrixPath(WGMMA, "f16", "f16", "m64n64k16", "shared memory")),
        ("100", MatrixPath(TCGEN05, "f16", "f16", "m64n64", "shared memory")),
    ],
)
def test_the_instruction_is_read_from_ttgir(target: str, path: MatrixPath) -> None:
    documents = [
        parse(stored(f"matmul_kernel.cuda-{on}.{SMALL}", stage), "mlir")
        for on, stage in (("90", "ttir"), (target, "ttgir"))
    ]
    (dot,) = dots_by_place(*documents).values()
    assert dot.path == path
    assert dot.product == Product(64, 64, 32, 2, "f16", "f16", "f32", "tf32")


def test_the_headline_names_the_cause_on_either_side_and_covers_what_follows() -> None:
    lost, gained = between("90", "80"), between("80", "90")
    assert lost[0].text.endswith(": wgmma -> mma.sync, because cuda:80 has no wgmma")
    assert gained[0].text.endswith(": mma.sync -> wgmma; in A, cuda:80 has no wgmma")
    for found in (lost, gained):
        covered = {finding.subject for finding in found if finding.covered and finding.kind == "layout"}
        assert "#mma" in covered
        assert all("dot" in evidence_line(found[0], side) for side in "ab")


def evidence_line(finding: Finding, side: str) -> str:
    target = {"a": "90" if "wgmma ->" in finding.text else "80"}.get(side) or (
        "80" if "wgmma ->" in finding.text else "90"
    )
    (line, *_) = finding.evidence_a if side == "a" else finding.evidence_b
    return stored(f"matmul_kernel.cuda-{target}.{SMALL}", "ttgir").split("\n")[line.line]


def test_equal_instructions_have_no_headline() -> None:
    assert of(between("90", "90")) == []


@pytest.mark.parametrize(
    ("name", "product", "machine", "expected"),
    [
        (WGMMA, TILE, HOPPER, []),
        (WGMMA, replace(TILE, m=32), HOPPER, ["M = 32 is not a multiple of 64"]),
        (WGMMA, replace(TILE, n=4), HOPPER, ["N = 4 is not a multiple of 8"]),
        (WGMMA, replace(TILE, k=8), HOPPER, ["K = 8 is below 16"]),
        (WGMMA, replace(TILE, rank=3), HOPPER, ["the product has 3 dimensions"]),
        (WGMMA, TILE, Machine(90, 2), ["num_warps = 2 is not a multiple of 4"]),
        (WGMMA, TILE, Machine(90, 16), []),
        (WGMMA, replace(TILE, m=32), Machine(90, 4, ctas=2), []),
        (WGMMA, TILE, Machine(80, 4), ["cuda:80 has no wgmma"]),
        (WGMMA, replace(TILE, a="f64", b="f64"), HOPPER, ["it has no instruction for f64 operands"]),
        (
            WGMMA,
            replace(TILE, a="f8E5M2", b="f8E5M2", imprecise=0),
            HOPPER,
            ["max_num_imprecise_acc = 0 is below 32"],
        ),
        (TCGEN05, TILE, BLACKWELL, []),
        (TCGEN05, TILE, Machine(100, 16), ["num_warps = 16 is neither 4 nor 8"]),
        (TCGEN05, replace(TILE, a="i8", b="i8"), Machine(103, 4), ["cuda:103 has none for i8 operands"]),
        (MMA_SYNC, replace(TILE, a="f64", b="f64"), HOPPER, []),
        (
            MMA_SYNC,
            replace(TILE, a="f32", b="f32"),
            HOPPER,
            ['input_precision="ieee" for f32 operands'],
        ),
        (MMA_SYNC, replace(TILE, a="f32", b="f32", precision="tf32"), HOPPER, []),
        (FMA, TILE, HOPPER, []),
        (WGMMA, replace(TILE, m=8), Machine(0, 4), []),
    ],
)
def test_what_keeps_a_product_from_an_instruction(
    name: str, product: Product, machine: Machine, expected: list[str]
) -> None:
    assert list(map(str, obstacles(name, product, machine))) == expected


def test_what_keeps_a_scaled_product_from_instructions_that_scale() -> None:
    scaled = replace(TILE, a="e4m3", b="e4m3", scaled=True)
    assert scaled_obstacles(scaled, BLACKWELL) == []
    assert list(map(str, scaled_obstacles(replace(scaled, m=64), BLACKWELL))) == ["M = 64 is below 128"]
    assert "cuda:90" in str(scaled_obstacles(scaled, HOPPER)[0])


def compiled(path: Path, kernel: str, signature: str, target: str, **config: object) -> irscope.Capture:
    from tests.compiling import dots

    whole = {name: list(values) for name, values in config.items()}
    return irscope.compile(getattr(dots, kernel), path, signature, config=whole, target=target, jobs=1)


def changes_of_one_value(capture: irscope.Capture) -> Iterator[tuple[str, Variant, Variant, list[Finding]]]:
    """The pairs of variants that differ in one value of their config: its name, the pair, the headlines."""
    for a, b in permutations(capture.variants, 2):
        changes = capture.compare(a, b).config_changes
        if len(changes) == 1:
            diffs = {stage: capture.diff(a, b, stage) for stage in ("ttir", "ttgir")}
            yield changes[0][0], a, b, list(tensor_cores(PairContext(a, b, {}, {}, diffs)))


WORDS = {"PRECISION": "input_precision"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "fast"), [("cuda:80", MMA_SYNC), ("cuda:90", WGMMA), ("cuda:100", TCGEN05)]
)
def test_the_cause_is_what_was_changed(tmp_path: Path, target: str, fast: str) -> None:
    signature = "*fp32:16, *fp32:16, *fp32:16, i32:16"
    tiles = {"BLOCK_M": (32, 64), "BLOCK_N": (64,), "BLOCK_K": (32,), "num_warps": (2, 4)}
    precisions = ("ieee", "tf32", "tf32x3")
    seen = set()
    with compiled(
        tmp_path / "x.irscope", "matmul", signature, target, **tiles, PRECISION=precisions
    ) as capture:
        for name, a, b, found in changes_of_one_value(capture):
            for finding in found:
                if " -> " in finding.text and finding.severity.name == "MATRIX_PATH":
                    assert f"{WORDS.get(name, name)}" in finding.text, (a.config, b.config, finding.text)
                    assert finding.text.count("because") + finding.text.count("; in A, ") == 1
                    seen.add((name, fast in finding.text))
    values = ["PRECISION"] if fast == MMA_SYNC else ["PRECISION", "BLOCK_M", "num_warps"]
    assert {(name, True) for name in values} <= seen


@pytest.mark.slow
def test_scaled_products_are_emulated_below_128_rows(tmp_path: Path) -> None:
    signature = "*fp8e4nv:16, *fp8e4nv:16, *u8:16, *u8:16, *fp32:16, i32:16"
    tiles = {"BLOCK_M": (64, 128), "BLOCK_N": (128,), "BLOCK_K": (128,)}
    with compiled(tmp_path / "x.irscope", "scaled_matmul", signature, "cuda:100", **tiles) as capture:
        (finding,) = of(list(capture.compare(*capture.variants).findings))
    assert finding.text.endswith(
        ": tcgen05 on bf16 -> scaled tcgen05 on e4m3; in A, BLOCK_M = 64 is below 128; A converts e4m3 first"
    )


@pytest.mark.slow
def test_a_product_of_f8_without_scales_converts_nothing(tmp_path: Path) -> None:
    """AMD's backend writes it as `tt.dot_scaled ... lhs = e4m3` if its instruction can have scales."""
    signature = "*fp8e4nv:16, *fp8e4nv:16, *fp32:16, i32:16"
    tiles = {"BLOCK_M": (64,), "BLOCK_N": (64,), "BLOCK_K": (32, 128), "PRECISION": ("ieee",)}
    with compiled(tmp_path / "x.irscope", "matmul", signature, "hip:gfx950", **tiles) as capture:
        assert "tt.dot_scaled" in capture.text(capture.variants[1], "ttgir")
        (finding,) = of(list(capture.compare(*capture.variants).findings))
    assert ": MFMA 32x32x16 -> 32x32x64" in finding.text
    assert "converts" not in finding.text


@pytest.mark.slow
def test_amd_names_the_option_or_the_only_size_that_differs(tmp_path: Path) -> None:
    signature = "*fp16:16, *fp16:16, *fp32:16, i32:16"
    tiles = {"BLOCK_M": (64,), "BLOCK_N": (64,), "BLOCK_K": (4, 32), "PRECISION": ("ieee",)}
    options = {"matrix_instr_nonkdim": (16, 32)}
    with compiled(tmp_path / "x.irscope", "matmul", signature, "hip:gfx942", **tiles, **options) as capture:
        texts = {f.text.partition("): ")[2] for *_, found in changes_of_one_value(capture) for f in found}
    assert "MFMA 16x16x16 -> 32x32x8, because of matrix_instr_nonkdim" in texts
    assert any(text.endswith("because BLOCK_K = 4 is too small") for text in texts)


@pytest.mark.slow
def test_amd_names_the_target_if_the_precision_has_no_effect(tmp_path: Path) -> None:
    from tests.compiling import dots

    # The default of input_precision is tf32 on gfx942 and ieee on gfx950; products of bf16 ignore it.
    tiles = {"BLOCK_M": [64], "BLOCK_N": [64], "BLOCK_K": [64], "PRECISION": [None]}
    signature = "*bf16:16, *bf16:16, *fp32:16, i32:16"
    targets = "hip:gfx942", "hip:gfx950"
    path = tmp_path / "x.irscope"
    with irscope.compile(dots.matmul, path, signature, config=tiles, target=targets, jobs=1) as capture:
        old, new = capture.variants
        texts = [of(list(capture.compare(*pair).findings))[0].text for pair in ((old, new), (new, old))]
    assert texts[0].endswith("MFMA 32x32x8 -> 32x32x16, because of the target (hip:gfx942 -> hip:gfx950)")
    assert texts[1].endswith("MFMA 32x32x16 -> 32x32x8, because of the target (hip:gfx950 -> hip:gfx942)")


@settings(phases=[Phase.generate])
@given(st.data())
def test_damaged_text_raises_nothing(data: st.DataObject) -> None:
    texts = []
    for target, stage in (("90", "ttir"), ("100", "ttgir")):
        lines = stored(f"matmul_kernel.cuda-{target}.{SMALL}", stage).split("\n")
        found = [
            index for index, line in enumerate(lines) if "dot" in line or "mma" in line or "tmem" in line
        ]
        for index in data.draw(st.lists(st.sampled_from(found), max_size=4)):
            start = data.draw(st.integers(0, len(lines[index])))
            end = data.draw(st.integers(start, len(lines[index])))
            lines[index] = lines[index][:start] + data.draw(st.text(max_size=5)) + lines[index][end:]
        texts.append("\n".join(lines))
    ttir, ttgir = texts
    whole = stored(f"matmul_kernel.cuda-90.{SMALL}", "ttgir")
    diffs = {"ttir": stage_diff("ttir", ttir, ttir), "ttgir": stage_diff("ttgir", ttgir, whole)}
    pair = PairContext(variant("cuda:100"), variant("cuda:90", id_=2), {}, {}, diffs)
    assert len(list(tensor_cores(pair))) <= 2
