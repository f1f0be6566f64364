"""A residual block of convolutions and batch norms, inference and training, both memory formats."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.norm1(self.first(x)))
        return F.avg_pool2d(F.relu(x + self.norm2(self.second(y))), 2)


for layout in (torch.contiguous_format, torch.channels_last):
    model = Block().cuda().to(memory_format=layout)
    x = torch.randn(8, 64, 32, 32, device="cuda").to(memory_format=layout)
    with torch.no_grad():
        torch.compile(model.eval())(x)
    torch.compile(model.train())(x).mean().backward()
