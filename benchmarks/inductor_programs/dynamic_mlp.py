"""An embedding and an MLP, inference with batches of several sizes."""

import torch
from torch import nn

model = nn.Sequential(
    nn.Embedding(5000, 256), nn.Flatten(), nn.Linear(8 * 256, 512), nn.Hardswish(), nn.LayerNorm(512),
    nn.Linear(512, 64), nn.Softmax(-1),
).cuda()  # fmt: skip
compiled = torch.compile(model, dynamic=True)
automatic = torch.compile(lambda x: torch.cumsum(x * 2, 0).argmax(-1))
with torch.inference_mode():
    for batch in (16, 33, 100):
        compiled(torch.randint(0, 5000, (batch, 8), device="cuda"))
        automatic(torch.randn(batch, 300, device="cuda"))
