"""`irscope compile --reasons` on kernels whose loads are narrow for different reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.accesses.global_accesses import (
    global_accesses,
    match_decisions,
    parse_decisions,
)
from irscope.languages.language import parse
from irscope.model import Variant
from irscope.store import CaptureReader
from tests.conftest import Irscope

# Each test compiles on the command line, which takes a second or more.
pytestmark = pytest.mark.slow

NARROW = str(Path(__file__).parent / "narrow.py")
MASKED = ("compile", f"{NARROW}::masked", "--config", "BLOCK=256,1024")
TARGETS = ("--target", "cuda:90", "--target", "hip:gfx942")
PLAIN, ALIGNED = "*fp32:16, *fp32:16, i32", "*fp32:16, *fp32:16, i32:16"
UNALIGNED_PRODUCT = "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32, i32, i32, i32"


def variants(path: Path) -> list[Variant]:
    with CaptureReader(path) as capture:
        return capture.variants()


def test_reasons_are_kept_and_nothing_else_changes_even_if_the_cache_has_the_variant(
    irscope: Irscope, tmp_path: Path
):
    words = (*MASKED, "--signature", PLAIN, *TARGETS)
    assert irscope(*words, "-o", "plain.irscope").returncode == 0
    done = irscope(*words, "--reasons", "-o", "recorded.irscope")
    assert done.returncode == 0, done.stderr
    assert irscope(*words, "-o", "after.irscope").returncode == 0
    plain, recorded, after = (
        variants(tmp_path / f"{name}.irscope") for name in ("plain", "recorded", "after")
    )
    for silent, speaking, cached in zip(plain, recorded, after, strict=True):
        assert (silent.reasons, cached.reasons, cached.cached) == (None, None, True)
        assert not speaking.cached
        assert [reason.opcode for reason in parse_decisions(speaking.reasons or "")] == [
            "tt.load",
            "tt.store",
        ]
        assert "coalesce" not in speaking.output
        assert speaking.cache_key == silent.cache_key
        digests = [{s: a.digest for s, a in v.artifacts.items()} for v in (silent, speaking, cached)]
        assert digests[0] == digests[1] == digests[2]
    shown = irscope("show", "recorded.irscope", "#1", "--stage", "reasons")
    assert shown.stdout.startswith("[tritongpu-coalesce]: Considering op: ")


def test_each_job_of_a_worker_has_only_its_own_reasons(irscope: Irscope, tmp_path: Path):
    done = irscope(
        "compile", f"{NARROW}::rows", "--signature", "*fp16:16, *fp16:16, i32, i32, i32", "--reasons",
        "--config", "BLOCK_M=16,32", "--config", "BLOCK_N=64,128", "-j", "1", "-o", "r.irscope",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for variant in variants(tmp_path / "r.irscope"):
        shape = variant.config.get("BLOCK_M"), variant.config.get("BLOCK_N")
        assert [reason.shape for reason in parse_decisions(variant.reasons or "")] == [shape, shape]
        assert variant.output == ""


@pytest.mark.parametrize(
    ("kernel", "signature", "config"),
    [
        ("shifted", PLAIN, ("BLOCK=1024",)),
        ("strided", PLAIN, ("BLOCK=1024",)),
        ("rows", "*fp16:16, *fp16:16, i32, i32:16, i32:16", ("BLOCK_M=32", "BLOCK_N=128")),
        ("product", UNALIGNED_PRODUCT, ("BLOCK=64,128",)),
        (
            "product", "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32, i32:16, i32:16, i32:16",
            ("BLOCK=64,128",),
        ),
    ],
)  # fmt: skip
def test_our_axis_info_equals_the_compilers(
    irscope: Irscope, tmp_path: Path, kernel: str, signature: str, config: tuple[str, ...]
):
    words = [word for value in config for word in ("--config", value)]
    done = irscope(
        "compile", f"{NARROW}::{kernel}", "--signature", signature, *words, *TARGETS, "--reasons",
        "-o", "k.irscope",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with CaptureReader(tmp_path / "k.irscope") as capture:
        for variant in capture.variants():
            document = parse((capture.read(variant, "ttir") or b"").decode(), "mlir")
            flow = AxisFlow(document)
            reasons = match_decisions(parse_decisions(variant.reasons or ""), document)
            found = global_accesses(flow)
            assert len(found) == len(reasons) >= 2
            for access in found:
                info, reason = flow.infos()[access.pointer], reasons[access.index]
                assert tuple(zip(*info.axes, strict=True))[1:] == (
                    reason.contiguity, reason.divisibility, reason.constancy,
                )  # fmt: skip
                known = access.limits(128)
                assert known is not None
                assert known.pointer == reason.pointer_limit


@pytest.mark.parametrize(
    ("kernel", "unknown", "known", "config", "message"),
    [
        (
            "masked", PLAIN, ALIGNED, ("BLOCK=1024",),
            "the mask compares with n, which is not known to be divisible by 16",
        ),
        ("shifted", PLAIN, ALIGNED, ("BLOCK=1024",), "shift is not known to be divisible by 16"),
        (
            "rows", "*fp16:16, *fp16:16, i32, i32, i32", "*fp16:16, *fp16:16, i32, i32:16, i32:16",
            ("BLOCK_M=32", "BLOCK_N=128"), "stride and the mask's N are not known to be divisible by 16",
        ),
        (
            "product", UNALIGNED_PRODUCT,
            "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32:16, i32:16, i32, i32", ("BLOCK=64",),
            "stride_a and the mask's K are not known to be divisible by 16",
        ),
    ],
)  # fmt: skip
def test_a_blamed_argument_is_the_cause(
    irscope: Irscope,
    tmp_path: Path,
    kernel: str,
    unknown: str,
    known: str,
    config: tuple[str, ...],
    message: str,
):
    """If only the blamed arguments are known to be divisible by 16, the loads are 16 bytes wide."""
    words = [word for value in config for word in ("--config", value)]
    start = ("compile", f"{NARROW}::{kernel}", *words, "-o", "k.irscope")
    assert irscope(*start, "--signature", unknown).returncode == 0
    assert irscope(*start, "--signature", known, "--resume").returncode == 0
    found = irscope("diff", "k.irscope", "#1", "#2").stdout
    load = next(line for line in found.splitlines() if "Global loads of" in line and message in line)
    assert "; A is narrow because " in load
    assert "B is narrow" not in load
    assert " -> " in load
    assert "x 16-byte" in load.partition(" -> ")[2]
