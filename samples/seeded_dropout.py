r"""Dropout that stores no mask: the same seed generates the same numbers again.

tl.rand is a counter-based generator (Philox): a number depends only on the seed and the element's
offset, and not on BLOCK_SIZE or num_warps. Most of the instructions of this kernel are the integer
rounds of Philox.

    irscope compile samples/seeded_dropout.py --signature "*fp32:16, *fp32:16, i32:16, fp32, i32" \
        --config BLOCK_SIZE=512,1024 --config num_warps=4,8
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) >= p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def dropout(x: "torch.Tensor", p: float, seed: int, block: int = 1024) -> "torch.Tensor":
    import torch

    out = torch.empty_like(x)
    n = x.numel()
    dropout_kernel[lambda META: (triton.cdiv(n, META["BLOCK_SIZE"]),)](
        x, out, n, p, seed, BLOCK_SIZE=block
    )
    return out


def main() -> None:
    import torch

    torch.manual_seed(0)
    n, p = 1_000_003, 0.3
    x = torch.randn(n, device="cuda") + 10  # has no zeros, so a zero in the output was dropped
    out = dropout(x, p, seed=123)
    kept = out != 0
    # torch and Triton may round the one division, 1 / (1 - p), differently: by 2^-23 or two.
    torch.testing.assert_close(out[kept], x[kept] / (1 - p), rtol=1e-6, atol=0)
    # The fraction kept is 1 - p; allow six standard deviations, sqrt(p (1 - p) / n) = 4.6e-4 each.
    share = kept.float().mean().item()
    assert abs(share - (1 - p)) < 6 * (p * (1 - p) / n) ** 0.5, share
    assert torch.equal(out, dropout(x, p, seed=123)), "the same seed gave another mask"
    assert torch.equal(out, dropout(x, p, seed=123, block=512)), "the mask depends on BLOCK_SIZE"
    assert not torch.equal(out, dropout(x, p, seed=124)), "another seed gave the same mask"
    print(f"seeded_dropout: n={n} p={p}: kept {share:.4f}, repeatable, close to torch")


if __name__ == "__main__":
    main()
