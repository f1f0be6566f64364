"""Kernels that released versions of Triton compile wrongly, each the pattern of an advisory.

    python -m tests.lint.advisory_kernels

compiles them under several versions, which irscope installs, and writes tests/data/advisories.irscope: the
tests see by it that an advisory matches the affected versions and no fixed one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import triton
import triton.language as tl

CAPTURE = Path(__file__).parents[1] / "data" / "advisories.irscope"
VERSIONS = ("3.6.0", "3.7.0", "3.7.1", "3.8.0", "3.9.0")
# Signature, target, and the values of constexprs and options.
CASES = {
    "softmax_axis": ("*fp32:16, *fp32:16", "cuda:90", {}),
    "fdiv_ieee": ("*fp32:16, *fp32:16, *fp32:16", "cuda:90", {"BLOCK": 256}),
    "store_bool": ("*i32:16, *i1:16", "cuda:90", {"BLOCK": 256}),
    "gdc_loop": (
        "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16",
        "cuda:90",
        {"BM": 64, "BN": 64, "BK": 64, "num_stages": 2},
    ),
    "pingpong": (
        "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16",
        "hip:gfx942",
        {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 2},
    ),
    "tma_release": ("*fp16:16, *fp16:16, *i32:16, i32:16, i32:16", "cuda:90", {"BM": 64, "BN": 64}),
    "recurrence": (
        "*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32",
        "cuda:100",
        {"BT": 64, "BK": 64, "BV": 32, "num_warps": 4, "num_stages": 2},
    ),
    "chunk_bwd_kernel_dqkwg": ("*fp16:16, *fp16:16, *fp16:16, *fp32:16", "cuda:90", {"BT": 64, "BK": 64}),
    "swap_floats": ("*fp32:16, *fp32:16", "hip:gfx942", {}),
    "histogram_of_bytes": ("*i8:16, *i32:16", "cuda:90", {"BLOCK": 256, "BINS": 16}),
    "cumsum_of_ctas": ("*fp32:16, *fp32:16", "cuda:90", {"BLOCK": 1024, "num_ctas": 2}),
    "specialized_pointers": (
        "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16",
        "cuda:90",
        {"BM": 128, "BN": 128, "BK": 64},
    ),
    "descriptors_in_loop": (
        "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16",
        "hip:gfx1250",
        {"BM": 128, "BN": 64, "BK": 64, "num_stages": 2},
    ),
    "packed_remainder": ("*i32:16", "cuda:90", {"D1": 32, "D2": 8, "num_warps": 1}),
    "block_pointer": ("*fp8e4nv:16, *fp32:16, i32", "cuda:90", {"BLOCK": 128}),
}
OPTIONS = ("num_warps", "num_stages", "num_ctas")


def main() -> None:
    """Compile all kernels under all versions, and merge the captures."""
    folder = Path(tempfile.gettempdir()) / "advisories"
    folder.mkdir(exist_ok=True)
    source = shutil.copy(__file__, folder)
    captures = []
    for kernel, (signature, target, values) in CASES.items():
        captures.append(str(folder / f"{kernel}.irscope"))
        words = ["--signature", signature, "--target", target, "--triton", ",".join(VERSIONS)]
        for name, value in values.items():
            words += ["--config" if name in OPTIONS else "--const", f"{name}={value}"]
        run("versions", f"{source}::{kernel}", *words, "-o", captures[-1], "--force")
    run("merge", *captures, "-o", str(CAPTURE), "--force")


def run(*words: str) -> None:
    """Run irscope; kernels that fail to compile are wanted."""
    subprocess.run([sys.executable, "-m", "irscope", *words], check=False)


@triton.jit
def softmax_axis(x_ptr, out_ptr):
    r = tl.arange(0, 16)
    c = tl.arange(0, 16)
    x = tl.load(x_ptr + r[:, None] * 16 + c[None, :])
    y = tl.softmax(x, dim=1, keep_dims=False)
    tl.store(out_ptr + r[:, None] * 16 + c[None, :], y)


@triton.jit
def fdiv_ieee(a_ptr, b_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.fdiv(tl.load(a_ptr + offs), tl.load(b_ptr + offs), ieee_rounding=True))


@triton.jit
def store_bool(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


@triton.jit
def gdc_loop(A, B, C, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        tl.extra.cuda.gdc_wait()
        a = tl.load(A + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(B + (k + rk)[:, None] * N + rn[None, :])
        acc += tl.dot(a, b)
    tl.store(C + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def pingpong(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        a = tl.load(A + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(B + (k + rk)[:, None] * N + rn[None, :])
        acc += tl.dot(a, b)
    tl.store(C + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def tma_release(a_ptr, b_ptr, flag_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    d = tl.make_tensor_descriptor(b_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    r = tl.arange(0, BM)
    c = tl.arange(0, BN)
    x = tl.load(a_ptr + r[:, None] * N + c[None, :])
    d.store([0, 0], x)
    tl.atomic_xchg(flag_ptr, 1, sem="release")


@triton.jit
def recurrence(k_ptr, v_ptr, w_ptr, out_ptr, NT, BT: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr):
    i = tl.program_id(0)
    rt = tl.arange(0, BT)
    rk = tl.arange(0, BK)
    rv = tl.arange(0, BV)
    acc = tl.zeros([BK, BV], dtype=tl.float32)
    for t in range(NT):
        w = tl.load(w_ptr + (t * BT + rt[:, None]) * BK + rk[None, :])
        k = tl.load(k_ptr + (t * BT + rt[None, :]) * BK + rk[:, None])
        v = tl.load(v_ptr + (t * BT + rt[:, None]) * BV + rv[None, :])
        u = v - tl.dot(w, acc.to(w.dtype)).to(v.dtype)
        acc += tl.dot(k, u)
    tl.store(out_ptr + i * BK * BV + rk[:, None] * BV + rv[None, :], acc)


@triton.jit
def chunk_bwd_kernel_dqkwg(q_ptr, k_ptr, v_ptr, o_ptr, BT: tl.constexpr, BK: tl.constexpr):
    rt = tl.arange(0, BT)
    rk = tl.arange(0, BK)
    q = tl.load(q_ptr + rt[:, None] * BK + rk[None, :])
    k = tl.load(k_ptr + rt[:, None] * BK + rk[None, :])
    s = tl.dot(q, tl.trans(k)).to(k.dtype)
    dk = tl.dot(tl.trans(s), q)
    tl.store(o_ptr + rt[:, None] * BK + rk[None, :], dk)


@triton.jit
def swap_floats(x_ptr, out_ptr):
    old = tl.atomic_cas(x_ptr, 0.0, 1.0)
    tl.store(out_ptr, old)


@triton.jit
def histogram_of_bytes(x_ptr, out_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def cumsum_of_ctas(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.cumsum(tl.load(x_ptr + offs), axis=0))


@triton.jit
def specialized_pointers(A, B, C, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        a = tl.load(A + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(B + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def descriptors_in_loop(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(a.load([0, k]), b.load([k, 0]))
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def packed_remainder(out_ptr, D1: tl.constexpr, D2: tl.constexpr):
    idx = tl.reshape(tl.arange(0, D1 * D2), (1, D1, D2))
    odd_row = tl.expand_dims(tl.expand_dims(tl.arange(0, D1) % 2 == 1, 0), 2)
    val = tl.where(odd_row, (idx * 9 + 1) % 1000, idx)
    tl.store(out_ptr + idx, val, mask=idx % 2 == 0)


@triton.jit
def block_pointer(a_ptr, b_ptr, n, BLOCK: tl.constexpr):
    p = tl.make_block_ptr(a_ptr, shape=(n,), strides=(1,), offsets=(0,), block_shape=(BLOCK,), order=(0,))
    a = tl.load(p, boundary_check=(0,), padding_option="zero")
    tl.store(b_ptr + tl.arange(0, BLOCK), a.to(tl.float32))


if __name__ == "__main__":
    main()
