"""flex_attention with a causal block mask and a bias, forward and backward."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


def causal(batch, head, query, key):
    return query >= key


def bias(score, batch, head, query, key):
    return score + (query - key) * 0.01


compiled = torch.compile(flex_attention)
q, k, v = (
    torch.randn(2, 4, 512, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)
)
mask = create_block_mask(causal, None, None, 512, 512, device="cuda")
compiled(q, k, v, score_mod=bias, block_mask=mask).float().square().mean().backward()
