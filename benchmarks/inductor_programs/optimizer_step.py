"""A compiled AdamW step over several parameters, and gradient clipping."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
rate = torch.tensor(1e-3, device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=rate, foreach=True, capturable=True)


@torch.compile(fullgraph=False)
def step():
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


for _ in range(2):
    model(torch.randn(32, 256, device="cuda")).square().mean().backward()
    step()
    optimizer.zero_grad()
