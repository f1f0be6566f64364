"""A solution of each exercise: what a learner changes in its file."""

from __future__ import annotations

_LOAD = """x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))"""
_ASSERT = '    tl.static_assert(BLOCK_SIZE >= 128, "a block needs at least 128 elements")\n'
_LOOP = """total = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        total += tl.load(x_ptr + row * n_cols + start + cols, mask=start + cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))"""
_COPY = """    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
"""
_BLOCKS = """    for block in range(blocks):
        offsets = (tl.program_id(0) * blocks + block) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
"""
_PERSISTENT = """    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK_SIZE), tl.num_programs(0)):
        offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
"""
_POINTERS = """    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offsets = rows[:, None] * N + cols[None, :]
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))
"""
_DESCRIPTORS = """    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out.store([row, col], x.load([row, col]))
"""
_EAGER = ('float("-inf")\n    for', "tl.maximum(best, tl.max(x, axis=0))", "row, best)")
_LATE = (
    'tl.full((BLOCK_SIZE,), float("-inf"), tl.float32)\n    for',
    "tl.maximum(best, x)",
    "row, tl.max(best, axis=0))",
)
_MADE = """    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
"""
_HALVES = """left, right = tl.split(tl.permute(tl.reshape(acc, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1)))
        c.store([row, col], left.to(tl.float16))
        c.store([row, col + BLOCK_N // 2], right.to(tl.float16))"""
_STEP = """        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + keys[None, :] * HEAD_DIM + dims[:, None])
        scores = tl.dot(q, k) * scale
        scores = tl.where(keys[None, :] <= rows[:, None], scores, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        correction = tl.exp(largest - new_largest)
        p = tl.exp(scores - new_largest[:, None])
        total = total * correction + tl.sum(p, axis=1)
        v = tl.load(v_ptr + keys[:, None] * HEAD_DIM + dims[None, :])
        acc = acc * correction[:, None] + tl.dot(p.to(tl.float16), v)
        largest = new_largest
"""
_ONE_LOOP = f"    for start in range(0, n, BLOCK_N):\n{_STEP}"
_FREE = "".join(line for line in _STEP.splitlines(keepends=True) if "tl.where" not in line)
_TWO_LOOPS = f"""    first = tl.program_id(0) * BLOCK_M
    for start in range(0, first, BLOCK_N):
{_FREE}    for start in range(first, first + BLOCK_M, BLOCK_N):
{_STEP}"""

SOLUTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "01a": (("x + y, mask", "2.0 * x + y, mask"),),
    "01b": (("BLOCK_SIZE=512,1024", "BLOCK_SIZE=1024"), ("num_warps=4", "num_warps=4,8")),
    "02a": (("BLOCK_SIZE=1024", "BLOCK_SIZE=256"),),
    "02b": (("BLOCK_SIZE=128,256", "BLOCK_SIZE=1024,2048"),),
    "03a": (('i32:16, i32:16"', 'i32:16, 1"'),),
    "03b": (("mask = offsets < n", "mask = offsets < n // 16 * 16"),),
    "04a": (("num_warps=4", "num_warps=16"),),
    "04b": (("BLOCK_SIZE=16384", "BLOCK_SIZE=1024"), (_LOAD, _LOOP)),
    "05a": (("num_stages=4", "num_stages=2"),),
    "05b": (("num_warps=4", "num_warps=1"),),
    "06a": (("num_stages=1", "num_stages=3"),),
    "06b": (("n_cols, BLOCK_SIZE)", "n_cols, BLOCK_SIZE, loop_unroll_factor=4)"),),
    "07a": (("BLOCK_M=32", "BLOCK_M=64"),),
    "07b": (('"ieee"', '"tf32"'),),
    "08a": (
        ("n, block_size)", "n, block_size: tl.constexpr)"),
        (', i32:16, i32:16"', ', i32:16" --config block_size=1024'),
    ),
    "08b": (
        ("n, BLOCK_SIZE", "n, blocks, BLOCK_SIZE"),
        ('i32:16"', 'i32:16, i32"'),
        (_COPY, _BLOCKS),
    ),
    "09a": (("@triton.jit\n", '@triton.jit(do_not_specialize=["n"])\n'),),
    "09b": (('tl.device_print("block size", ', 'tl.static_print("block size", '),),
    "10a": (("in range(0, K, BLOCK_K)", "in tl.range(0, K, BLOCK_K, num_stages=3)"),),
    "10b": (("num_stages=5", "num_stages=4"),),
    "11a": ((_ONE_LOOP, _TWO_LOOPS),),
    "11b": (("num_stages=4", "num_stages=2"),),
    "12a": tuple(zip(_EAGER, _LATE, strict=True)),
    "12b": (("BLOCK_M=1 ", "BLOCK_M=4 "), ("BLOCK_N=512", "BLOCK_N=128")),
    "13a": (("@triton.jit\n", '@triton.jit(do_not_specialize=["seed"])\n'),),
    "13b": (("tl.rand(seed, offsets)", "tl.rand(seed, offsets, n_rounds=7)"),),
    "14a": ((_POINTERS, _DESCRIPTORS),),
    "14b": (
        ("x_ptr, out_ptr, M, N, BLOCK_M", "x, out, BLOCK_M"),
        (_MADE, ""),
        ("*fp16:16, *fp16:16, i32:16, i32:16", "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>"),
    ),
    "15a": ((_COPY, _PERSISTENT),),
    "15b": (("tl.num_programs(0))", "tl.num_programs(0), flatten=True)"),),
    "16a": (("0, K, BLOCK_K)", "0, K, BLOCK_K, warp_specialize=True)"),),
    "16b": (
        ("fp16[128, 64]", "fp16[64, 64]"),
        ("fp16[128, 128]", "fp16[64, 128]"),
        ("BLOCK_M=128", "BLOCK_M=64"),
        ("num_warps=8", "num_warps=4"),
    ),
    "17a": (
        ("[N, 1], [BLOCK_M, BLOCK_N])", "[N, 1], [BLOCK_M, BLOCK_N // 2])"),
        ("c.store([row, col], acc.to(tl.float16))", _HALVES),
    ),
    "17b": (("SUBTILES=1", "SUBTILES=2"),),
    "18a": (("    offsets =", f"{_ASSERT}    offsets ="),),
    "18b": (('tl.device_print("offset", offsets)', 'if pid == 0:\n        tl.device_print("program", pid)'),),
    "19a": (("[1], [32]", "[4], [32]"),),
    "19b": (("[4, 1], [16, 2], [1, 4], [0, 1]", "[1, 4], [2, 16], [4, 1], [1, 0]"),),
    "20a": (("num_warps=4", "num_warps=8"),),
    "20b": (("num_stages=4", "num_stages=3"), ("num_warps=4", "num_warps=8")),
    "21a": (("@triton.jit\n", '@triton.jit(do_not_specialize=["num_rows"])\n'),),
    "21b": (
        ("WINDOW: tl.constexpr", "WINDOW"),
        ('*i32:16"', '*i32:16, i32"'),
        (" --config WINDOW=100", ""),
    ),
    "22a": (("BLOCK_SIZE=1024", "BLOCK_SIZE=1024 --config enable_fp_fusion=False"),),
    "22b": (("tl.dot(a, b)", 'tl.dot(a, b, input_precision="ieee")'),),
    "23a": (("num_stages=2", "num_stages=5"),),
    "23b": (("num_stages=2", "num_stages=4"), ("BLOCK_K=64", "BLOCK_K=32")),
    "24a": (("0, K, BLOCK_K)", "0, K, BLOCK_K, warp_specialize=True)"),),
    "24b": (("num_stages=2", "num_stages=4"),),
}


def solved(name: str, text: str) -> str:
    """The text of an exercise, exercise_01a.py, with its solution."""
    for old, new in SOLUTIONS[name.removeprefix("exercise_").removesuffix(".py")]:
        assert old in text, old
        text = text.replace(old, new)
    return text
