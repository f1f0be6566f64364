"""Mixed precision by autocast, with checkpointing and a masked attention."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.norm = nn.LayerNorm(width)

    def forward(self, x, mask):
        def heads(value):
            return value.view(*value.shape[:2], 4, -1).transpose(1, 2)

        attended = F.scaled_dot_product_attention(
            *map(heads, (self.q(x), self.k(x), self.v(x))), attn_mask=mask
        )
        return self.norm(x + attended.transpose(1, 2).flatten(2))


model = Attention().cuda()


@torch.compile
def loss(x, mask):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return checkpoint(model, x, mask, use_reentrant=False).square().mean()


x = torch.randn(4, 128, 256, device="cuda", requires_grad=True)
loss(x, torch.ones(128, 128, device="cuda", dtype=torch.bool).tril()).backward()
