"""Dropout, sorting, prefix sums, gathers and scatters, with a graph break and with CUDA graphs."""

import torch
import torch.nn.functional as F


@torch.compile(mode="reduce-overhead")
def route(x, weight):
    scores = F.dropout(x @ weight, 0.2).softmax(-1)
    best, experts = scores.topk(2, -1)
    torch._dynamo.graph_break()
    counts = torch.zeros(8, device=x.device).scatter_add_(0, experts.flatten(), best.flatten())
    order = experts.flatten().argsort(stable=True)
    return counts.cumsum(0), x[order // 2] * 2, torch.where(x > 0, x, x.exp() - 1)


x = torch.randn(512, 64, device="cuda", requires_grad=True)
weight = torch.randn(64, 8, device="cuda", requires_grad=True)
counts, routed, activated = route(x, weight)
(counts.sum() + routed.sum() + activated.sum()).backward()
