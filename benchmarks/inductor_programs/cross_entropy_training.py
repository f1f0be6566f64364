"""The head of a language model: projection to a vocabulary, cross entropy, label smoothing; backward."""

import torch
import torch.nn.functional as F


@torch.compile
def loss(hidden, weight, labels):
    logits = (hidden @ weight.t()).float()
    return F.cross_entropy(logits, labels) + F.cross_entropy(logits, labels, label_smoothing=0.1)


hidden = torch.randn(512, 768, device="cuda", dtype=torch.bfloat16, requires_grad=True)
weight = torch.randn(32000, 768, device="cuda", dtype=torch.bfloat16, requires_grad=True)
loss(hidden, weight, torch.randint(0, 32000, (512,), device="cuda")).backward()
