r"""C = A @ B in fp16 with fp32 accumulation, autotuned over ten configs.

Programs are numbered so that GROUP_M rows of tiles are finished before the next group starts, so
neighboring programs share the strips of A and B that are in the L2 cache.
On a GPU, it prints the fastest config for three sizes and how it compares with cuBLAS.

    irscope compile samples/matmul.py --signature "*fp16:16, *fp16:16, *fp16:16, \
        i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1"
"""

from typing import TYPE_CHECKING, Any

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch


def config(
    block_m: int, block_n: int, block_k: int, num_warps: int, num_stages: int
) -> triton.Config:
    meta = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 8}
    return triton.Config(meta, num_warps=num_warps, num_stages=num_stages)


CONFIGS = [
    config(64, 64, 32, num_warps=4, num_stages=2),
    config(64, 128, 32, num_warps=4, num_stages=4),
    config(128, 64, 64, num_warps=4, num_stages=3),
    config(128, 128, 32, num_warps=4, num_stages=4),
    config(128, 128, 64, num_warps=4, num_stages=3),
    config(128, 128, 64, num_warps=8, num_stages=3),
    config(64, 256, 64, num_warps=4, num_stages=3),
    config(128, 256, 64, num_warps=8, num_stages=3),
    config(128, 256, 64, num_warps=8, num_stages=4),
    config(256, 128, 64, num_warps=8, num_stages=3),
]


def prune(
    configs: list[triton.Config], named_args: dict[str, Any], **kwargs: Any
) -> list[triton.Config]:
    """Drop tiles that reach past the matrix: more than half of such a tile would be masked off."""
    height = triton.next_power_of_2(named_args["M"])
    width = triton.next_power_of_2(named_args["N"])
    kept = [c for c in configs if c.kwargs["BLOCK_M"] <= height and c.kwargs["BLOCK_N"] <= width]
    return kept or configs[:1]


@triton.autotune(CONFIGS, key=["M", "N", "K"], prune_configs_by={"early_config_prune": prune})
@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * tiles_n)
    place = pid % (GROUP_M * tiles_n)
    group_rows = min(tiles_m - group * GROUP_M, GROUP_M)  # the last group may be smaller
    tile_m = group * GROUP_M + place % group_rows
    tile_n = place // group_rows

    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    # Rows and columns past the edge wrap around to valid ones; their results are never stored.
    a_ptrs = a_ptr + (rows % M)[:, None] * stride_am + ks[None, :] * stride_ak
    b_ptrs = b_ptr + ks[:, None] * stride_bk + (cols % N)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=ks[None, :] < K - k, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


def matmul(a: "torch.Tensor", b: "torch.Tensor") -> "torch.Tensor":
    import torch

    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)

    def grid(META: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)

    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    return c


def main() -> None:
    import torch

    def inputs(M: int, N: int, K: int) -> "tuple[torch.Tensor, torch.Tensor]":
        a = torch.randn((M, K), device="cuda", dtype=torch.float16)
        b = torch.randn((K, N), device="cuda", dtype=torch.float16)
        return a, b

    def check(a: "torch.Tensor", b: "torch.Tensor") -> None:
        # Each result is a sum of K products of size 1, so it is about sqrt(K) = 64 for K = 4096,
        # at most 400, where one unit in the last place of fp16 is 0.25. cuBLAS may round partial
        # sums to fp16 before it adds them; if they cancel, the error has that size, not relative
        # to the result. A wrong index causes errors of sqrt(K) or more.
        torch.testing.assert_close(matmul(a, b), torch.matmul(a, b), rtol=1e-2, atol=1.0)

    def tflops(n: int, ms: float) -> float:
        return 2 * n**3 * 1e-9 / ms

    torch.manual_seed(0)
    for shape in ((512, 512, 512), (1000, 328, 520), (77, 40, 100)):
        check(*inputs(*shape))
        print(f"matmul: MxNxK={'x'.join(map(str, shape))}: close to torch")

    print(f"{'M=N=K':>6}  {'Triton TFLOPS':>13}  {'cuBLAS TFLOPS':>13}  chosen config")
    for n in (1024, 2048, 4096):
        a, b = inputs(n, n, n)
        check(a, b)
        ours = triton.testing.do_bench(lambda a=a, b=b: matmul(a, b), return_mode="median")
        cublas = triton.testing.do_bench(lambda a=a, b=b: torch.matmul(a, b), return_mode="median")
        print(
            f"{n:>6}  {tflops(n, ours):>13.1f}  {tflops(n, cublas):>13.1f}"
            f"  {matmul_kernel.best_config}"
        )


if __name__ == "__main__":
    main()
