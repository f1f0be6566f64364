"""Layer and RMS normalization, forward and backward, in float32 and bfloat16."""

import torch
from torch import nn

for dtype in (torch.float32, torch.bfloat16):
    model = nn.Sequential(nn.LayerNorm(1024), nn.GELU(), nn.RMSNorm(1024), nn.SiLU()).to("cuda", dtype)
    compiled = torch.compile(model)
    x = torch.randn(2048, 1024, device="cuda", dtype=dtype, requires_grad=True)
    compiled(x).float().square().mean().backward()
