"""The programs, as text, that the tests of `irscope run` run."""

KERNELS = """
import sys
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) * factor, mask=offsets < n)


def prune(configs, named, **_):
    return [config for config in configs if config.kwargs["BLOCK"] <= named["n"]]


@triton.autotune(
    [triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128, 256) for w in (2, 4)], key=["n"],
    prune_configs_by={"early_config_prune": prune}, cache_results=True,
)
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def tuned(x, y, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y + offsets, tl.load(x + offsets))
    else:
        tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


x = torch.randn(4096, device="cuda")
"""

ORDINARY = f"""{KERNELS}
print("arguments", sys.argv, __name__, __file__)
y = torch.empty_like(x)
scale[(triton.cdiv(4096, 256),)](x, 4096, 2.0, BLOCK=256)
launched = scale[(triton.cdiv(4096, 256),)](x, 4096, 2.0, BLOCK=256)
scale[(triton.cdiv(4000, 512),)](x, 4001, 2.0, BLOCK=512, num_warps=8)
tuned[lambda given: (triton.cdiv(200, given["BLOCK"]),)](x, y, 200)
torch.testing.assert_close(y, x)
properties = torch.cuda.get_device_properties("cuda")
capability = torch.cuda.get_device_capability()
print(properties.name, properties.multi_processor_count, capability, x.device, x.is_cuda)
kernel = scale.warmup(x, 4096, 3.0, BLOCK=256, grid=(1,))
print("ttgir" in kernel.asm, launched.n_regs > 0)
print("on stderr", file=sys.stderr)
sys.exit(7)
"""

# Loops as often as a kernel's result says.
ASKS_IN_A_LOOP = f"""{KERNELS}
scale[(1,)](x, 4096, 2.0, BLOCK=256)
rounds = int(x.max())
for _ in range(rounds):
    scale[(1,)](x, 4096, 2.0, BLOCK=128)
print("rounds", rounds)
"""

ASKS = f"""{KERNELS}
lengths = torch.tensor([3, 4096], device="cuda", dtype=torch.int32)
scale[(1,)](x, lengths.max().item(), 2.0, BLOCK=256)
scale[(1,)](x, 16, 2.0, BLOCK=64)
print("here", x)
if x.sum().item() > 0:
    print("not here")
"""

RAISES = f"""{KERNELS}
scale[(1,)](x, 4096, 2.0, BLOCK=256)
raise ValueError("the program's own")
"""

HANGS = f"""{KERNELS}
import os, time
scale[(1,)](x, 4096, 2.0, BLOCK=256).asm
print("compiled", os.getpid(), flush=True)
time.sleep(600)
"""

BACKWARD = f"""{KERNELS}
class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, given):
        context.save_for_backward(given)
        result = torch.empty_like(given)
        scale[(1,)](result, given.numel(), 2.0, BLOCK=64)
        return result

    @staticmethod
    def backward(context, gradient):
        (given,) = context.saved_tensors
        assert gradient.is_cuda and given.is_cuda and given.device.type == "cuda"
        scale[(1,)](gradient, given.numel(), 2.0, BLOCK=32)
        return gradient


leaf = x.clone().requires_grad_()
Double.apply(leaf).sum().backward()
model = torch.nn.Linear(64, 64).cuda()
assert model.weight.is_cuda and not model.weight.cpu().is_cuda and not torch.ones(3).is_cuda
big = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
scale[(1,)](big @ big, 1, 2.0, BLOCK=16)
"""

COMPILES_ON = f"""{KERNELS}
import os
print("begun", os.getpid(), flush=True)
for number in range(100):
    options = dict(num_warps=2 ** (number // 10 % 2), num_stages=1 + number // 20)
    scale[(1,)](x, 4096, 2.0, BLOCK=2 ** (number % 10), **options).asm
    print("finished", number + 1, flush=True)
"""

TWO_KERNELS = """
import torch
import triton
import triton.language as tl


@triton.jit
def one(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)


@triton.jit
def two(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 2.0)


x = torch.empty(1024, device="cuda")
for block in (64, 128, 256, 256):
    one[(1,)](x, B=block)
two[(1,)](x, B=64)
"""

# Launches 30 variants, each of which takes a while to compile.
MANY = """
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x, N: tl.constexpr, B: tl.constexpr):
    offsets = tl.arange(0, B)[:, None] * N + tl.arange(0, B)[None, :]
    tile = tl.load(x + offsets)
    for _ in tl.static_range(8):
        tile = tl.dot(tile, tile)
    tl.store(x + offsets, tile)


x = torch.empty(1024, 1024, device="cuda")
for n in range(1024, 1054):
    squares[(1,)](x, N=n, B=32)
"""

# A tuner with a database of its own, as flag_gems has it in a module of this name.
LIBRARY_TUNER = {
    "flag_gems/__init__.py": "",
    "flag_gems/utils/__init__.py": "",
    "flag_gems/utils/libentry.py": """
import json
from pathlib import Path

from triton.runtime import Autotuner

DATABASE = Path("tuned.json")


class _Cache:
    def __init__(self, table_name):
        self.table_name = table_name

    def get(self, key):
        known = json.loads(DATABASE.read_text()) if DATABASE.exists() else {}
        return known.get(f"{self.table_name} {key}")

    def set(self, key, value):
        DATABASE.write_text(json.dumps({f"{self.table_name} {key}": str(value)}))


class ConfigCache(_Cache):
    pass


class BenchmarkCache(_Cache):
    pass


class LibTuner(Autotuner):
    def run(self, *args, **kwargs):
        name = self.base_fn.__name__
        self.nargs = dict(zip(self.arg_names, args))
        chosen, times = ConfigCache(f"{name}_abc"), BenchmarkCache(f"{name}_def_benchmark")
        config = chosen.get("key")
        if config is None:
            for candidate in self.prune_configs(kwargs)[:3]:
                times.set(candidate, self._bench(*args, config=candidate, **kwargs))
            chosen.set("key", candidate)
            assert chosen.get("key") is candidate
            config = candidate
        return self.fn.run(*args, **kwargs, **config.all_kwargs())
""",
    "script.py": """
import torch
import triton
import triton.language as tl
from flag_gems.utils.libentry import LibTuner


@triton.jit
def scale(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 2.0 * tl.load(x + tl.arange(0, B)))


configs = [triton.Config({"B": block}) for block in (32, 64, 128, 256, 512)]
tuned = LibTuner(scale, scale.arg_names, configs, [], None, None)
tuned[(1,)](torch.empty(512, device="cuda"))
""",
}
