"""The kernels of `samples`, each with one config."""

from __future__ import annotations

from irscope.model import Value
from tests.truth.corpus import HOPPER, SAMPLES, TARGETS, Case

_ROWS: list[tuple[str, str, str, dict[str, Value], tuple[str, ...]]] = [
    ("vector_add", "add_kernel", "*fp32:16, *fp32:16, *fp32:16, i32", {"BLOCK_SIZE": 1024}, TARGETS),
    (
        "fused_softmax",
        "softmax_kernel",
        "*fp32:16, *fp32:16, i32:16, i32:16, i32:16",
        {"BLOCK_SIZE": 1024, "num_warps": 4},
        TARGETS,
    ),
    (
        "layer_norm",
        "forward_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, fp32",
        {"BLOCK_SIZE": 1024, "num_warps": 4},
        TARGETS,
    ),
    (
        "layer_norm",
        "backward_input_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp16:16, i32:16",
        {"BLOCK_SIZE": 1024, "num_warps": 8},
        TARGETS,
    ),
    (
        "layer_norm",
        "backward_params_kernel",
        "*fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp16:16, *fp16:16, i32:16, i32:16",
        {"BLOCK_M": 32, "BLOCK_N": 64},
        TARGETS,
    ),
    (
        "matmul",
        "matmul_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1",
        {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8, "num_warps": 4, "num_stages": 3},
        TARGETS,
    ),
    (
        "flash_attention",
        "attention_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16",
        {"HEAD_DIM": 64, "CAUSAL": True, "BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4},
        TARGETS,
    ),
    (
        "seeded_dropout",
        "dropout_kernel",
        "*fp32:16, *fp32:16, i32:16, fp32, i32",
        {"BLOCK_SIZE": 512, "num_warps": 4},
        TARGETS,
    ),
    (
        "persistent_matmul",
        "persistent_matmul_kernel",
        "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[128, 128]>, "
        "i32:16, i32:16, i32:16",
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "NUM_SMS": 132, "num_warps": 8},
        HOPPER,
    ),
    (
        "warp_specialization",
        "specialized_matmul_kernel",
        "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, "
        "i32:16, i32:16, i32:16",
        {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "STAGES": 2, "WARP_SPECIALIZE": True},
        HOPPER,
    ),
    (
        "heuristics",
        "rms_norm_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, fp32",
        {"BLOCK_SIZE": 1024, "EVEN": True, "HAS_WEIGHT": True},
        TARGETS,
    ),
    # Not samples/debugging.py: with its `debug` on, the machine code has the file and line of each assertion.
]

SAMPLE_CASES = [
    Case(SAMPLES / f"{file}.py", kernel, signature, config, targets)
    for file, kernel, signature, config, targets in _ROWS
]
