"""Sixty changes that were planted in kernels, with the line and the reason that their author would name.

    python planted_bits.py FOLDER TARGET [NAME ...]

launches A and B of each change for a target. A and B differ in options, or in one edit of the text. They were
written down before irscope was asked.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import triton.language as tl

KERNELS = Path(__file__).with_name("planted_kernels.py")
MI300 = "hip:gfx942"

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Planted:
    """A change of a kernel: options of A and of B, or a text of A and that of B.

    `line` is part of the kernel's line that decides; `inner` of the line of its helper. `kinds` are the kinds
    of reasons that fit, `words` a pattern that the reason has. `also`: parts of lines that decide, too.
    """

    name: str
    kernel: str
    line: str
    kinds: str
    words: str
    a: Options = field(default_factory=dict)
    b: Options = field(default_factory=dict)
    edit: tuple[str, str] = ("", "")
    target: str = "cuda:90"
    inner: str = ""
    also: tuple[str, ...] = ()


def warps(a: int, b: int) -> dict[str, Options]:
    return {"a": {"num_warps": a}, "b": {"num_warps": b}}


def options(name: str, a: Any, b: Any) -> dict[str, Options]:
    return {"a": {name: a}, "b": {name: b}}


FUSION = options("enable_fp_fusion", True, False)
UNFUSED = {"a": {"enable_fp_fusion": False}, "b": {"enable_fp_fusion": False}}
FUSES = r"A fuses a \* b [+-] c; B (does not|rounds)"

ORDER = (
    Planted(
        "softmax over more warps", "softmax", "total = tl.sum", "sum", "4 warps.* 8 warps", **warps(4, 8),
    ),
    Planted(
        "layer norm over more warps", "layer_norm", "mean = tl.sum", "sum", "4 warps.* 8 warps",
        **warps(4, 8), also=("variance = tl.sum",),
    ),
    Planted(
        "RMS norm over more warps", "rms_norm", "scaled = normalized", "sum", "B .*4 warps",
        **warps(1, 4), inner="return tl.sum(squares",
    ),
    Planted(
        "block of a looped sum", "row_sum", "for start in range", "loop", "4 steps of 512.*2 steps of 1024",
        **options("BLOCK", 512, 1024), also=("total += tl.sum",),
    ),
    Planted(
        "a + b + c in another order", "residual", "total = (a + b) + c", "order", "adds.* order",
        edit=("(a + b) + c", "a + (b + c)"),
    ),
    Planted(
        "both axes at once", "tile_norm", "total = tl.sum", "sum", "adds",
        edit=("tl.sum(tl.sum(squares, axis=1), axis=0)", "tl.sum(tl.reshape(squares, [1024]), axis=0)"),
    ),
    Planted(
        "groups over more warps", "group_norm", "mean = tl.sum", "sum", "A adds .*B adds .*16 warps|4 warps",
        **warps(4, 16),
    ),
    Planted(
        "scan from the end", "running_sum", "sums = tl.cumsum", "scan", "B scans .*(end|reverse|last)",
        edit=("tl.cumsum(values, axis=0)", "tl.cumsum(values, axis=0, reverse=True)"),
    ),
    Planted(
        "scan by more warps", "running_sum", "sums = tl.cumsum", "scan", "values per thread", **warps(1, 32),
    ),
    Planted(
        "recurrence by fewer warps", "state_space", "_, states = tl.associative_scan", "scan",
        "values per thread", **warps(4, 1),
    ),
    Planted(
        "block of attention", "attention", "for start in range", "loop", "4 steps of 32.*2 steps of 64",
        **options("BLOCK_N", 32, 64), also=("weights, best, shrunk, total = rescaled",),
    ),
    Planted(
        "K from the end", "matmul", "total = tl.dot", "product order", "order",
        a={"BK": 32, "PRECISION": "tf32"}, b={"BK": 32, "PRECISION": "tf32"},
        edit=("ks = start + tl", "ks = K - BK - start + tl"), also=("ks = start",),
    ),
    Planted(
        "Welford by more warps", "variance", "_, squares, count = tl.reduce", "sum", "4 warps.* 8 warps",
        **warps(4, 8),
    ),
    Planted(
        "one of two sums in rows", "two_sums", "total = tl.sum", "sum", "adds",
        edit=("tl.sum(a, axis=0)", "tl.sum(tl.sum(tl.reshape(a, [32, 32]), axis=1), axis=0)"),
    ),
)  # fmt: skip

FUSIONS = (
    Planted("axpy without fusion", "axpy", "result = left * factor + right", "fusion", FUSES, **FUSION),
    Planted(
        "rotation without fusion", "rope", "left = first * c", "fusion", FUSES, **FUSION,
        also=("right = second",),
    ),
    Planted(
        "tl.fma", "axpy", "result = left * factor + right", "fusion", r"B (fuses|.*fma)",
        **UNFUSED, edit=("left * factor + right", "tl.fma(left, factor, right)"),
    ),
    Planted(
        "common factor", "stencil", "sides = a * before + a * after", "order operation",
        "multipl.* add|add.* multipl",
        **UNFUSED, edit=("a * before + a * after", "a * (before + after)"),
    ),
    Planted(
        "GELU without fusion", "activation", "gelu(hidden)", "fusion", FUSES, **FUSION,
        inner="inner = 0.797",
    ),
    Planted("axpy without fusion on MI300", "axpy", "result = left", "fusion", FUSES, **FUSION, target=MI300),
    Planted(
        "stencil without fusion on A100", "stencil", "sides = a", "fusion", FUSES, **FUSION, target="cuda:80",
    ),
    Planted("product of vectors without fusion", "two_sums", "product = tl.sum", "fusion", FUSES, **FUSION),
)  # fmt: skip


def precision(a: str, b: str) -> dict[str, Options]:
    return {"a": {"BK": 32, "PRECISION": a}, "b": {"BK": 32, "PRECISION": b}}


TO_BF16 = ("tl.dot(left, right, total", "tl.dot(left.to(tl.bfloat16), right.to(tl.bfloat16), total")
DOT = ("matmul", "total = tl.dot", "product")

PRECISION = (
    Planted("tf32 or ieee", *DOT, "A .*tf32.*B .*(ieee|f32)", **precision("tf32", "ieee")),
    Planted("tf32 or tf32x3", *DOT, "A .*tf32.*B .*(tf32x3|3 .*tf32)", **precision("tf32", "tf32x3")),
    Planted("tf32 or bf16x3", *DOT, "A .*tf32.*B .*(bf16x3|3 .*bf16)", **precision("tf32", "bf16x3")),
    Planted(
        "tf32 or ieee on A100", *DOT, "A .*tf32.*B .*(ieee|f32)", **precision("tf32", "ieee"),
        target="cuda:80",
    ),
    Planted(
        "tf32 or ieee on B200", *DOT, "A .*tf32.*B .*(ieee|f32)", **precision("tf32", "ieee"),
        target="cuda:100",
    ),
    Planted(
        "ieee or tf32 on MI300", *DOT, "A .*(ieee|f32).*B .*(tf32|xf32)", **precision("ieee", "tf32"),
        target=MI300,
    ),
    Planted(
        "ieee or bf16x3 on MI300", *DOT, "A .*(ieee|f32).*B .*bf16", **precision("ieee", "bf16x3"),
        target=MI300,
    ),
    Planted(
        "factors rounded to bf16", "matmul", "total = tl.dot", "cast product", "bf16",
        **precision("tf32", "tf32"), edit=TO_BF16,
    ),
    Planted(
        "accumulator of f16", "half_product", "total = tl.dot", "product", "B .*f16",
        edit=("out_dtype=tl.float32", "out_dtype=tl.float16"),
    ),
    Planted(
        "imprecise accumulation of fp8", "matmul_fp8", "total = tl.dot", "product", "B .*32",
        **options("IMPRECISE", 0, 32),
    ),
    Planted(
        "sum in f16", "row_sum", "total += tl.sum", "cast sum order operation", "B .*f16",
        a={"BLOCK": 512}, b={"BLOCK": 512},
        edit=("total += tl.sum(values, axis=0)", "total += tl.sum(values.to(tl.float16), axis=0)"),
    ),
)  # fmt: skip

CALLS = "approximation operation"
APPROXIMATION = (
    Planted(
        "exp2 in place of exp", "softmax", "numerator = tl.exp", CALLS, r"\bexp\b.*\bexp2\b",
        edit=("tl.exp(values)", "tl.exp2(values * 1.4426950408889634)"),
    ),
    Planted(
        "exact division", "softmax", "numerator / total", CALLS, "A .*divi.*B .*(round|exact|div_rn|precise)",
        edit=("numerator / total", "tl.div_rn(numerator, total)"),
    ),
    Planted(
        "fdiv in IEEE rounding", "adam", "update = momentum", CALLS, "A .*divi.*B .*(round|exact|precise)",
        edit=("momentum / (root + 1e-8)", "tl.fdiv(momentum, root + 1e-8, ieee_rounding=True)"),
    ),
    Planted(
        "exact root in a helper", "rms_norm", "scaled = normalized", CALLS,
        "A .*sqrt.*B .*(round|exact|sqrt_rn|precise)",
        edit=("tl.sqrt(variance + epsilon)", "tl.sqrt_rn(variance + epsilon)"), inner="return x / tl.sqrt",
    ),
    Planted(
        "1 / sqrt in place of rsqrt", "layer_norm", "scale = tl.rsqrt", CALLS, "A .*rsqrt.*B .*sqrt",
        edit=("tl.rsqrt(variance + 1e-5)", "1.0 / tl.sqrt(variance + 1e-5)"),
    ),
    Planted(
        "tanh by sigmoid", "activation", "gelu(hidden)", CALLS, "A .*tanh.*B .*exp",
        edit=("libdevice.tanh(inner)", "(2.0 * tl.sigmoid(2.0 * inner) - 1.0)"), inner="return 0.5 * x",
    ),
    Planted(
        "denormals of libdevice", "library", "sharp = libdevice", CALLS, "denormal",
        **options("enable_reflect_ftz", True, False),
    ),
    Planted(
        "exp of libdevice", "softmax", "numerator = tl.exp", CALLS, "A .*exp.*B .*(libdevice|__nv_)",
        edit=("tl.exp(values)", "libdevice.exp(values)"),
    ),
    Planted(
        "denormals on MI300", "powers", "power = tl.exp2", CALLS, "denormal",
        **options("allow_flush_denorm", False, True), target=MI300,
    ),
    Planted(
        "reciprocal", "quantize", "scale = tl.max", CALLS, "A .*divi.*B .*multipl",
        edit=("/ 127.0", "* 0.007874015748031496"),
    ),
    Planted(
        "log2 in place of log", "loss_sum", "loss = tl.sum(-tl.log", CALLS, r"\blog\b.*\blog2\b",
        a={"grid": (1,)}, b={"grid": (1,)},
        edit=("-tl.log(tl.load(x + places))", "tl.log2(tl.load(x + places)) * -0.6931471805599453"),
    ),
    Planted(
        "inline assembly", "powers", "power = tl.exp2", CALLS, "A .*exp2.*B .*(assembly|asm)",
        edit=(
            "tl.exp2(values)",
            'tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [values], tl.float32, True, 1)',
        ),
    ),
)  # fmt: skip

ATOMICS = (
    Planted(
        "atomics of 4 programs", "loss_sum", "tl.atomic_add(out, loss)", "atomics", "order", **warps(4, 8),
    ),
    Planted(
        "K split in 4", "split_k", "tl.atomic_add(c +", "atomics split", "4 programs|order",
        a={"SPLIT_K": 1, "grid": (2, 2, 1)}, b={"SPLIT_K": 4, "grid": (2, 2, 4)},
    ),
    Planted(
        "atomics at data's addresses", "scatter_add", "tl.atomic_add(out + targets", "atomics", "order",
        **warps(4, 8),
    ),
)  # fmt: skip

SPLITS = (
    Planted(
        "K split in 2", "split_k", "tl.atomic_add(c +", "split", "1 program.*2 programs",
        a={"SPLIT_K": 1, "grid": (2, 2, 1)}, b={"SPLIT_K": 2, "grid": (2, 2, 2)},
        also=("for start in range",),
    ),
    Planted(
        "persistent programs", "persistent_sum", "tl.atomic_add(out + tl.arange", "split",
        "1 program.*2 programs",
        a={"grid": (1,), "BLOCK": 256}, b={"grid": (2,), "BLOCK": 256}, also=("for tile in range",),
    ),
    Planted(
        "a row in 2 parts", "split_rows", "result += tl.sum", "sum order", "adds",
        **options("SPLITS", 1, 2), also=("for part in tl.static_range",),
    ),
)  # fmt: skip

F16 = {"TYPE": tl.float16, "ROUNDING": "rtne"}
CAST = ("cast", "short = values.to", "cast")
NEAREST = "A .*(nearest|rtne).*B .*(zero|rtz)"
CASTS = (
    Planted("f16 rounded toward zero", *CAST, NEAREST, a=F16, b={**F16, "ROUNDING": "rtz"}),
    Planted(
        "fp8 rounded toward zero", *CAST, NEAREST,
        a={**F16, "TYPE": tl.float8e5}, b={"TYPE": tl.float8e5, "ROUNDING": "rtz"},
    ),
    Planted(
        "early cast", "rms_norm", "hidden += tl.load", "cast", "B .*bf16",
        edit=(
            "hidden += tl.load(residual + row * n + columns, mask=mask, other=0.0).to(tl.float32)",
            "hidden = (hidden + tl.load(residual + row * n + columns, mask=mask, other=0.0).to(tl.float32))"
            ".to(tl.bfloat16).to(tl.float32)",
        ),
    ),
    Planted(
        "bf16 in place of f16", "moe", "total = total * gate", "cast", "B .*bf16",
        edit=("total = total * gate[:, None]",
        "total = (total * gate[:, None]).to(tl.bfloat16).to(tl.float32)"),
    ),
    Planted(
        "scale inverted", "quantize", "scaled = values / scale", CALLS, "A .*divi.*B .*multipl",
        edit=("values / scale", "values * (1.0 / scale)"),
    ),
)  # fmt: skip

OTHERS = (
    Planted(
        "maximum with NaN", "clamped", "larger = tl.maximum", "approximation operation nan", "NaN",
        edit=("tl.maximum(a, b)", "tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)"),
    ),
    Planted(
        "random numbers of other offsets", "dropout", "random = tl.rand", "random", "random",
        a={"BLOCK": 256}, b={"BLOCK": 256}, edit=("counters = start + tl", "counters = tl"),
        also=("counters =",),
    ),
    Planted(
        "random numbers by block", "dropout_by_block", "random = tl.rand", "random", "random",
        a={"BLOCK": 256, "grid": (8,)}, b={"BLOCK": 512, "grid": (4,)},
    ),
    Planted(
        "cluster of two", "column_sum", "tl.sum(values, axis=0)", "sum", "adds",
        **options("num_ctas", 1, 2),
    ),
)  # fmt: skip

PLANTED = (*ORDER, *FUSIONS, *PRECISION, *APPROXIMATION, *ATOMICS, *SPLITS, *CASTS, *OTHERS)

DEFAULTS = {
    "num_warps": 4,
    "num_ctas": 1,
    "enable_fp_fusion": True,
    "enable_reflect_ftz": True,
    "allow_flush_denorm": False,
}


def line_of(part: str, function: str = "") -> int:
    """Return the number of the line with `part` in a kernel, or in a helper (""); A and B have the same."""
    text = KERNELS.read_text()
    start = text.index(f"def {function}(") if function else 0
    return text.count("\n", 0, text.index(part, start)) + 1


def module_name(planted: Planted, side: str) -> str:
    """Return the name of the module of A ("a") or B ("b"), which has the kernel with or without the edit."""
    edited = side == "b" and planted.edit[0]
    return f"{planted.kernel}_{PLANTED.index(planted) if edited else 'plain'}"


def write_modules(folder: Path, planted: Planted) -> None:
    """Write the helpers and the kernel of a change, at their lines, with and without the edit."""
    text = KERNELS.read_text()
    shared = text[: text.index("# Kernels.")]
    start = text.index(f"@triton.jit\ndef {planted.kernel}(")
    kernel = text[start:].partition("\n\n\n")[0]
    source = shared + "\n" * text.count("\n", len(shared), start) + kernel + "\n"
    edited = source.replace(*planted.edit) if planted.edit[0] else source
    assert source.count(planted.edit[0]) == 1 or not planted.edit[0], planted.name
    for side, content in (("a", source), ("b", edited)):
        path = folder / f"{module_name(planted, side)}.py"
        if not path.exists():
            path.write_text(content)


SINGLE, HALF, FP8, BYTE, WHOLE = torch.float32, torch.float16, torch.float8_e4m3fn, torch.int8, torch.int32
# The grid and the arguments of each kernel: tensors by their type, and numbers.
LAUNCHES: Mapping[str, tuple[tuple[int, ...], tuple[Any, ...]]] = {
    "softmax": ((8,), (SINGLE, SINGLE, 1000)),
    "layer_norm": ((8,), (SINGLE, SINGLE, SINGLE, SINGLE, 1000)),
    "rms_norm": ((8,), (HALF, HALF, HALF, SINGLE, 1000)),
    "row_sum": ((8,), (SINGLE, SINGLE, 2048)),
    "column_sum": ((4,), (SINGLE, SINGLE)),
    "tile_norm": ((4,), (SINGLE, SINGLE)),
    "group_norm": ((4,), (SINGLE, SINGLE)),
    "residual": ((8,), (SINGLE, SINGLE, SINGLE, SINGLE)),
    "running_sum": ((2,), (SINGLE, SINGLE)),
    "state_space": ((2,), (SINGLE, SINGLE, SINGLE)),
    "variance": ((8,), (SINGLE, SINGLE)),
    "two_sums": ((8,), (SINGLE, SINGLE, SINGLE)),
    "attention": ((2,), (HALF, HALF, HALF, HALF, 128)),
    "matmul": ((2, 2), (SINGLE, SINGLE, SINGLE, 128)),
    "matmul_fp8": ((2, 2), (FP8, FP8, SINGLE, 256)),
    "half_product": ((1,), (HALF, HALF, SINGLE)),
    "split_k": ((2, 2), (HALF, HALF, SINGLE, 256)),
    "moe": ((4, 2), (HALF, WHOLE, HALF, SINGLE, HALF, 128)),
    "persistent_sum": ((1,), (SINGLE, SINGLE, 2048)),
    "split_rows": ((8,), (SINGLE, SINGLE)),
    "scatter_add": ((4,), (SINGLE, WHOLE, SINGLE)),
    "loss_sum": ((4,), (SINGLE, SINGLE)),
    "axpy": ((4,), (SINGLE, SINGLE, SINGLE, 2.5)),
    "rope": ((4,), (SINGLE, SINGLE, SINGLE, SINGLE)),
    "stencil": ((4,), (SINGLE, SINGLE, 0.25, 0.5)),
    "activation": ((4,), (SINGLE, SINGLE, SINGLE)),
    "adam": ((4,), (SINGLE, SINGLE, SINGLE, SINGLE, 0.01, 1024)),
    "quantize": ((4,), (SINGLE, SINGLE, BYTE)),
    "cast": ((4,), (SINGLE, SINGLE)),
    "library": ((4,), (SINGLE, SINGLE)),
    "powers": ((4,), (SINGLE, SINGLE)),
    "clamped": ((4,), (SINGLE, SINGLE, SINGLE)),
    "dropout": ((8,), (SINGLE, SINGLE, 17)),
    "dropout_by_block": ((8,), (SINGLE, SINGLE, 17)),
}


def options_of(planted: Planted, side: str) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Return the grid, and the options with which A ("a") or B ("b") is compiled."""
    chosen = {**DEFAULTS, **(planted.a if side == "a" else planted.b)}
    names = (MI300, "enable_reflect_ftz"), ("cuda", "allow_flush_denorm")
    for target, name in names:
        if planted.target.startswith(target):
            del chosen[name]
    return chosen.pop("grid", LAUNCHES[planted.kernel][0]), chosen


def launch(planted: Planted, side: str) -> None:
    """Launch A or B of a change."""
    module = importlib.import_module(module_name(planted, side))
    grid, chosen = options_of(planted, side)
    arguments = [
        torch.empty(65536, device="cuda", dtype=item) if isinstance(item, torch.dtype) else item
        for item in LAUNCHES[planted.kernel][1]
    ]
    if "TYPE" in chosen:
        arguments[1] = arguments[1].to(HALF if chosen["TYPE"] == tl.float16 else torch.float8_e5m2)
    getattr(module, planted.kernel)[grid](*arguments, **chosen)


if __name__ == "__main__":
    target, *names = sys.argv[2:]
    sys.path.insert(0, sys.argv[1])
    for planted in PLANTED:
        if planted.target == target and (planted.name in names or not names):
            write_modules(Path(sys.argv[1]), planted)
            for side in "ab":
                launch(planted, side)
