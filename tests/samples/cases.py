"""How to compile each kernel in samples/ without a launch: one row per kernel and specialization.

A row is (file, kernel, signature, config, const, targets):
signature  Triton's ahead-of-time notation, every parameter in order but the tl.constexpr ones;
config     name -> values, whose product makes the variants; empty: the configs of @triton.autotune;
const      name -> value, the same for every variant;
targets    those it compiles for, on Triton 3.6 to 3.9.

The first row of a file is the command in its docstring (which may name fewer targets).
"""

from typing import Any, NamedTuple


class Case(NamedTuple):
    file: str
    kernel: str
    signature: str
    config: dict[str, list[Any]]
    const: dict[str, Any]
    targets: list[str]


PLAIN = ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942"]
TMA = ["cuda:90", "cuda:100"]
NVIDIA = [target for target in PLAIN if target.startswith("cuda")]
WGMMA = ["cuda:90"]
SWIZZLED = "gl.NVMMASharedLayout(128, 16)"

CASES = [
    Case(
        "vector_add.py",
        "add_kernel",
        "*fp32:16, *fp32:16, *fp32:16, i32:16",
        {"BLOCK_SIZE": [256, 1024]},
        {},
        PLAIN,
    ),
    Case(
        "vector_add.py",
        "add_kernel",
        "*fp32:16, *fp32:16, *fp32:16, i32",
        {"BLOCK_SIZE": [1024]},
        {},
        PLAIN,
    ),
    Case(
        "fused_softmax.py",
        "softmax_kernel",
        "*fp32:16, *fp32:16, i32:16, i32:16, i32:16",
        {"BLOCK_SIZE": [1024, 4096], "num_warps": [4, 8]},
        {},
        PLAIN,
    ),
    Case(
        "layer_norm.py",
        "forward_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, fp32",
        {"BLOCK_SIZE": [1024, 4096], "num_warps": [4, 8]},
        {},
        PLAIN,
    ),
    Case(
        "layer_norm.py",
        "backward_input_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp16:16, i32:16",
        {"BLOCK_SIZE": [1024, 4096], "num_warps": [8]},
        {},
        PLAIN,
    ),
    Case(
        "layer_norm.py",
        "backward_params_kernel",
        "*fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp16:16, *fp16:16, i32:16, i32:16",
        {"BLOCK_M": [32, 64], "BLOCK_N": [64]},
        {},
        PLAIN,
    ),
    Case(
        "matmul.py",
        "matmul_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1",
        {},
        {},
        PLAIN,
    ),
    Case(
        "tune_three_ways.py",
        "gelu_matmul_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16",
        {"BLOCK_M": [64, 128], "BLOCK_N": [128], "BLOCK_K": [64], "num_stages": [3, 4]},
        {},
        PLAIN,
    ),
    Case(
        "flash_attention.py",
        "attention_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16",
        {},
        {"HEAD_DIM": 64, "CAUSAL": True},
        PLAIN,
    ),
    Case(
        "flash_attention.py",
        "attention_kernel",
        "*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16",
        {},
        {"HEAD_DIM": 64, "CAUSAL": False},
        PLAIN,
    ),
    Case(
        "seeded_dropout.py",
        "dropout_kernel",
        "*fp32:16, *fp32:16, i32:16, fp32, i32",
        {"BLOCK_SIZE": [512, 1024], "num_warps": [4, 8]},
        {},
        PLAIN,
    ),
    Case(
        "persistent_matmul.py",
        "persistent_matmul_kernel",
        "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[128, 128]>, "
        "i32:16, i32:16, i32:16",
        {"num_warps": [4, 8], "num_stages": [2, 3, 4]},
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "NUM_SMS": 132},
        TMA,
    ),
    Case(
        "epilogue_subtiling.py",
        "subtiled_matmul_kernel",
        "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[128, 64]>, "
        "i32:16, i32:16, i32:16",
        {"num_warps": [4, 8], "num_stages": [2, 3, 4]},
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "NUM_SMS": 132},
        TMA,
    ),
    Case(
        "warp_specialization.py",
        "specialized_matmul_kernel",
        "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, "
        "i32:16, i32:16, i32:16",
        {"STAGES": [2, 3], "WARP_SPECIALIZE": [False, True]},
        {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64},
        TMA,
    ),
    Case(
        "heuristics.py",
        "rms_norm_kernel",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, fp32",
        {"BLOCK_SIZE": [1024, 4096], "EVEN": [True, False]},
        {"HAS_WEIGHT": True},
        PLAIN,
    ),
    Case(
        "debugging.py",
        "sqrt_kernel",
        "*fp32:16, *fp32:16, i32:16",
        {"BLOCK_SIZE": [64, 128], "num_warps": [1, 4]},
        {},
        PLAIN,
    ),
    Case(
        "gluon_copy.py",
        "copy_kernel",
        "*fp32:16, *fp32:16, i32:16",
        {"LAYOUT": [f"gl.BlockedLayout([{size}], [32], [4], [0])" for size in (1, 4, 8)]},
        {"BLOCK_SIZE": 1024},
        NVIDIA,
    ),
    Case(
        "gluon_copy.py",
        "copy_2d_kernel",
        "*fp32:16, *fp32:16, i32:16, i32:16, i32:16",
        {
            "LAYOUT": [
                "gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])",
                "gl.BlockedLayout([4, 1], [16, 2], [1, 4], [0, 1])",
            ]
        },
        {"BLOCK_M": 64, "BLOCK_N": 64},
        NVIDIA,
    ),
    Case(
        "gluon_copy.py",
        "copy_2d_kernel",
        "*fp32:16, *fp32:16, i32:16, i32:16, i32",
        {"LAYOUT": ["gl.BlockedLayout([1, 4], [4, 16], [4, 1], [1, 0])"]},
        {"BLOCK_M": 64, "BLOCK_N": 64},
        ["hip:gfx942"],
    ),
    Case(
        "gluon_matmul.py",
        "matmul_kernel",
        f"tensordesc<fp16[128, 64], {SWIZZLED}>, tensordesc<fp16[64, 128], {SWIZZLED}>, "
        f"tensordesc<fp16[128, 128], {SWIZZLED}>, i32:16, i32:16, i32:16",
        {
            "ACC_LAYOUT": [f"gl.NVMMADistributedLayout([3, 0], [4, 1], [16, {n}, 16])" for n in (128, 64)],
            "STAGES": [2, 3],
        },
        {},
        WGMMA,
    ),
    Case(
        "gluon_specialized_matmul.py",
        "specialized_matmul_kernel",
        f"tensordesc<fp16[128, 64], {SWIZZLED}>, tensordesc<fp16[64, 128], {SWIZZLED}>, "
        f"tensordesc<fp16[128, 128], {SWIZZLED}>, i32:16, i32:16, i32:16",
        {"STAGES": [3, 4]},
        {"ACC_LAYOUT": "gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])"},
        WGMMA,
    ),
]
