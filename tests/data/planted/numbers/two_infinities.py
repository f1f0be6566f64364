import torch
import triton
import triton.language as tl


@triton.jit
def kl_divergence(logp_ptr, logq_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    logp = tl.load(logp_ptr + row * n + cols, mask=cols < n, other=-float("inf"))  # bug: padding-reduced -> logp = tl.load(logp_ptr + row * n + cols, mask=cols < n, other=-1e4)
    logq = tl.load(logq_ptr + row * n + cols, mask=cols < n, other=-float("inf"))  # bug: padding-reduced -> logq = tl.load(logq_ptr + row * n + cols, mask=cols < n, other=-1e4)
    terms = tl.exp(logp) * (logp - logq)
    tl.store(out_ptr + row, tl.sum(terms, axis=0))
