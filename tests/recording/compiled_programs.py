"""The programs with torch.compile, as text, that tests run without a GPU."""

LAYER_NORM = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.weight = nn.LayerNorm(256), nn.Parameter(torch.ones(256))

    def forward(self, x):
        y = self.norm(x)
        print("between", y.device, y.is_cuda)
        return torch.softmax(y * self.weight, -1)


model = Model().cuda()
compiled = torch.compile(model)
print(sorted(compiled.state_dict()), compiled._orig_mod is model)
x = torch.randn(64, 256, device="cuda", requires_grad=True)
for _ in range(2):
    loss = compiled(x).square().sum()
    loss.backward()
print(x.grad.device, model.weight.grad.shape, loss)
print(torch._dynamo.utils.counters["stats"]["unique_graphs"])
host = torch.compile(lambda value: value.sin() + 1)(torch.zeros(4, device="cpu"))
print(host.device, host.tolist())
"""

ATTENTION = """
import torch
import torch.nn.functional as F

x = torch.randn(2, 64, 128, device="cuda", dtype=torch.bfloat16)
weight = torch.randn(128, 384, device="cuda", dtype=torch.bfloat16, requires_grad=True)


@torch.compile
def attend(x, weight):
    q, k, v = (F.gelu(x) @ weight).view(2, 64, 3, 4, 32).permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).square().sum()


attend(x, weight).backward()
print(weight.grad.shape)
"""

MAX_AUTOTUNE = """
import torch


@torch.compile(mode="max-autotune")
def multiply(a, b):
    return torch.relu(a @ b)


a = torch.randn(128, 128, device="cuda", dtype=torch.float16)
print(multiply(a, a).shape)
"""

DYNAMIC = """
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n) * 2, mask=offsets < n)


@torch.compile(dynamic=True)
def own_kernel(x):
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return (y + 1).sum(-1)


for rows in (3, 5):
    print(own_kernel(torch.randn(rows, 200, device="cuda")).shape)
print(torch._dynamo.utils.counters["stats"]["unique_graphs"])
"""

# Inductor fails on the first graph only.
FAILING = """
import torch
from torch._inductor import graph

run = graph.GraphLowering.run


def fail(self, *args):
    graph.GraphLowering.run = run
    raise ValueError("not today")


graph.GraphLowering.run = fail
first = torch.compile(lambda x: x.sin() + torch.ones(4, device="cuda"))
second = torch.compile(lambda x: x.cos() + 1)
x = torch.zeros(4, device="cuda")
print(first(x).tolist(), second(x).device)
"""

TWO_DEVICES = """
import torch


@torch.compile
def add(x):
    return x.sin() + 1


host, device = torch.zeros(2), torch.zeros(2, device="cuda")
print(add(host).device, add(host).tolist())
print(add(device).device)
print(add(host).device, add(host).tolist())
print(torch._dynamo.utils.counters["stats"]["unique_graphs"])
"""

UNSUPPORTED = """
import torch
from irscope.compiling.fake_cuda import device_guard; device_guard._HOOKS_HEADERS = ("none.h", "none.h")
compiled = [torch.compile(torch.nn.Identity()), torch.compile(torch.nn.Identity())]
print(isinstance(compiled[0], torch.nn.Identity), compiled[1](torch.ones(2, device="cuda")).tolist())
"""

IN_PROCESS = """
import torch

import irscope


@torch.compile
def before(x):
    return x.sin().sum(-1) + 1


print(before(torch.zeros(4, 8)).tolist())
with irscope.capture("block.irscope", target="cuda:90") as block:
    x = torch.zeros(4, 8, device="cuda")
    inside = torch.compile(lambda x: (x * 2).relu())
    print(before(x).device, inside(x).device)
print(before(torch.zeros(4, 8)).tolist(), inside(torch.ones(1)).tolist())
with block.open() as capture:
    print([variant.kernel.name for variant in capture.variants])
"""
