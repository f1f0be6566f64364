"""Programs for inductor_on_gpu.py: a transformer block, a fused reduction and a matmul.

    python benchmarks/compiled_programs.py FOLDER [block|reduction|matmul ...]

Each runs in inference and in training. Writes to FOLDER/results.pt the tensors that each program computes,
and to FOLDER/times.json the seconds of its first call and the milliseconds of a later one.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import torch
from torch import nn


class Block(nn.Module):
    """A pre-norm transformer block without dropout."""

    def __init__(self, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The output for a batch."""
        b, n, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(b, n, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Reduction(nn.Module):
    """RMS normalization, a softmax and a sum over long rows."""

    def __init__(self, width: int = 8192) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The output for a batch."""
        y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight
        return (torch.softmax(y, -1) * y).sum(-1)


class Matmul(nn.Module):
    """A matmul with a bias and an activation."""

    def __init__(self, width: int = 1024, inner: int = 2048) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, inner) / width**0.5)
        self.bias = nn.Parameter(torch.randn(inner))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The output for a batch."""
        return torch.relu(x @ self.weight + self.bias)


PROGRAMS = {
    "block": (Block, (8, 256, 256), torch.bfloat16, "default"),
    "reduction": (Reduction, (2048, 8192), torch.float32, "max-autotune-no-cudagraphs"),
    "matmul": (Matmul, (512, 1024), torch.float16, "max-autotune-no-cudagraphs"),
}


def run(name: str, training: bool) -> tuple[list[torch.Tensor], float, float]:
    """The tensors that a program computes, the seconds of its first call, the ms of later ones."""
    kind, shape, dtype, mode = PROGRAMS[name]
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = kind().to("cuda", dtype)
    x = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=training)
    compiled = torch.compile(model, mode=mode, dynamic=False)

    def step() -> list[torch.Tensor]:
        if not training:
            with torch.no_grad():
                return [compiled(x)]
        model.zero_grad()
        x.grad = None
        y = compiled(x)
        y.float().square().mean().backward()
        return [y.detach(), x.grad, *(p.grad for p in model.parameters())]

    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    times = []
    for _ in range(60):
        begin = time.perf_counter()
        result = step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return [tensor.cpu() for tensor in result], first, statistics.median(times[10:])


def main() -> None:
    """Runs the programs."""
    folder, names = Path(sys.argv[1]), sys.argv[2:] or list(PROGRAMS)
    results, times = {}, {}
    for name in names:
        for training in (False, True):
            case = f"{name} {'training' if training else 'inference'}"
            results[case], first, later = run(name, training)
            times[case] = (first, later)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(results, folder / "results.pt")
    (folder / "times.json").write_text(json.dumps(times))


if __name__ == "__main__":
    main()
