"""Matrix products with max-autotune, whose template has many configs, with and without an epilogue."""

import torch


@torch.compile(mode="max-autotune-no-cudagraphs")
def multiply(a, b):
    return a @ b


@torch.compile(mode="max-autotune")
def multiply_relu(a, b, bias):
    return torch.relu(a @ b + bias)


a, b = (torch.randn(1024, 1024, device="cuda", dtype=torch.float16) for _ in range(2))
multiply(a, b)
multiply_relu(a[:512], b, b[0])
