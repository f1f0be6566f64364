"""Small programs that do what real programs do around their kernels; each checks itself."""

from tests.recording.programs import KERNELS

# Prints, adds and asserts numbers read from kernels' outputs, and passes outputs by address.
VALUES = f"""{KERNELS}
scale[(1,)](x, 4096, 2.0, BLOCK=256)
total = 0.0
for _ in range(2):
    total += x.mean().item() / 2
print(f"loss {{total:.4f}}", x[:2].tolist(), round(x.max().item(), 2))
assert total < 3 and x.sum().item() != 0
assert torch.isfinite(x).all(), "not finite"
assert not x.isnan().any()
assert not x.sum().item() > 3
by_address = torch.empty(64, device="cuda")
assert torch.allclose(by_address, torch.ones(64, device="cuda"))
by_address.copy_(torch.ones(64))
assert by_address.sum().item() == 64.0
assert torch.zeros(3, device="cuda").sum().item() + 1 == 1.0
torch.set_default_device("cuda")
assert torch.zeros(3).is_cuda and torch.tensor([1]).is_cuda and not torch.zeros(3, device="cpu").is_cuda
torch.set_default_device(None)
with torch.device("cuda"):
    assert torch.nn.Linear(2, 2).weight.is_cuda
assert torch.sparse_coo_tensor([[0]], [1.0], (3,), device="cuda").is_cuda
torch.cuda.nvtx.range_push("step")
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
assert start.elapsed_time(end) >= 100  # a loop until 100 ms are measured ends at once
large = torch.ones(1 << 21, device="cuda", requires_grad=True)
torch.testing.assert_close(large, large.detach().clone())
assert torch.allclose(large, large * 1)
optimizer = torch.optim.AdamW([large], foreach=True)
large.grad = torch.ones_like(large)
optimizer.step()  # skips the arithmetic, as for any large tensor
print(large[0].item())
import resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
huge = torch.empty(20, 1 << 30, device="cuda", dtype=torch.bfloat16)  # 40 GB, the copies 80 and 40
assert torch.cat([huge, (huge.float() * 2).bfloat16()]).shape == (40, 1 << 30)
assert torch.zeros(1 << 33, device="cuda")[5].item() == 0.0
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KB
halves = torch.empty_like(large.detach())
halves.copy_(torch.full((1 << 21,), 0.5))
assert halves[0].item() == 0.5
import copy
import io
saved, model = io.BytesIO(), torch.nn.Linear(2, 2, device="cuda")
torch.save(copy.deepcopy(model).state_dict(), saved)
assert model.weight.sum().item() == copy.deepcopy(model.weight).sum().item()
for device in ("cuda", "cpu"):
    saved.seek(0)
    assert torch.load(saved, map_location=device)["weight"].device.type == device
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle()):
    model = torch.cuda.make_graphed_callables(model, (torch.ones(2, 2, device="cuda"),))
activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.cuda.profiler.profile(), torch.profiler.profile(activities=activities):
    assert isinstance(model(torch.cuda.FloatTensor(2, 2)), torch.cuda.FloatTensor)
assert x.half().type() == "torch.cuda.HalfTensor" and x.cpu().type() == "torch.FloatTensor"
assert torch.cuda.cudart().cudaHostRegister(0, 0, 0) == 0 and torch.cuda.memory_stats()["allocated"] == 0
assert torch.cuda.memory.max_memory_allocated() == 0 and torch.cuda.device(0).idx == 0
(gradient, total) = torch.func.grad_and_value(lambda w: (w.square() * 3).sum())(torch.ones(4, device="cuda"))
assert gradient.is_cuda and total.item() == 12.0
assert torch.func.vmap(torch.sum)(torch.ones(2, 4, device="cuda")).tolist() == [4.0, 4.0]
"""

# Uses of a kernel's output that need its values.
ASKING = [
    "x[x > 0]",
    "range(int(x[0]))",
    "x * x[0].item()",
    "scale[(1,)](x, x[0].item(), 2.0, BLOCK=64)",
    "max(x[0].item(), 1.0)",
    "x.cpu().numpy()",
    "1 if x.any() else 2",
]
ASKS = f"""{KERNELS}
from irscope.compiling.toolchain.stub_driver import NeedsGpuError
scale[(1,)](x, 4096, 2.0, BLOCK=256)
for code in {ASKING!r}:
    try:
        eval(code)
        print("went on:", code)
    except NeedsGpuError:
        pass
try:
    assert not torch.equal(x, x + 1)
    print("went on")
except NeedsGpuError:
    pass
"""

# The program's own operators see fake CUDA tensors, whichever device they are registered for.
OPERATORS = f"""{KERNELS}
seen = []


@torch.library.custom_op("patterns::default", mutates_args=())
def default(given: torch.Tensor) -> torch.Tensor:
    seen.append(("default", given.device.type, given.device.index))
    return torch.empty_like(given)


@torch.library.custom_op("patterns::both", mutates_args=(), device_types="cpu")
def both(given: torch.Tensor) -> torch.Tensor:
    seen.append(("cpu", given.device.type, given.device.index))
    return torch.empty_like(given)


@both.register_kernel("cuda")
def _(given):
    seen.append(("cuda", given.device.type, given.device.index))
    scale[(1,)](given, 4096, 2.0, BLOCK=32)
    return torch.empty_like(given)


library = torch.library.Library("patterns_too", "DEF")
library.define("only(Tensor given) -> Tensor")
library.impl("only", lambda given: given.clone(), "CUDA")
assert default(x).is_cuda and both(x).is_cuda and torch.ops.patterns_too.only(x).is_cuda
assert not both(torch.ones(3)).is_cuda
print(seen)
"""

# Operators on more elements than torch's own arithmetic is computed for still run: they launch kernels.
LARGE_OPERATORS = f"""{KERNELS}
@torch.library.triton_op("large::as_triton", mutates_args={{}})
def as_triton(given: torch.Tensor) -> torch.Tensor:
    result = torch.empty_like(given)
    torch.library.wrap_triton(scale)[(1,)](result, 4096, 2.0, BLOCK=16)
    return result


@torch.library.custom_op("large::custom", mutates_args=())
def custom(given: torch.Tensor) -> torch.Tensor:
    scale[(1,)](given, 4096, 2.0, BLOCK=32)
    return torch.empty_like(given)


custom.register_fake(torch.empty_like)
as_triton(large := torch.randn(1 << 21, device="cuda"))
custom(large)


def overridden(given):
    scale[(1,)](given, 4096, 2.0, BLOCK=64)
    return torch.empty_like(given)


torch.library.wrap_triton(scale)[(1,)](large, 4096, 2.0, BLOCK=128)
library = torch.library.Library("aten", "IMPL")
library.impl("exp", overridden, "CUDA")
torch.exp(large)
"""

TRAINING = f"""{KERNELS}
import threading
from torch.utils.checkpoint import checkpoint


class Half(torch.autograd.Function):
    @staticmethod
    def forward(context, given):
        return torch.empty_like(given)

    @staticmethod
    def backward(context, gradient):
        assert gradient.is_cuda and gradient.dtype == torch.float16
        scale[(1,)](gradient, 64, 2.0, BLOCK=16)
        return gradient


Half.apply(torch.randn(64, device="cuda", dtype=torch.float16, requires_grad=True)).float().sum().backward()
linear = torch.nn.Linear(8, 8, device="cuda")
checkpoint(linear, torch.randn(2, 8, device="cuda", requires_grad=True), use_reentrant=False).sum().backward()
with torch.autocast("cuda", dtype=torch.float16):
    assert linear(torch.randn(2, 8, device="cuda")).dtype == torch.float16
assert linear(torch.randn(2, 8, device="cuda")).dtype == torch.float32
thread = threading.Thread(target=lambda: scale[(1,)](torch.ones(64, device="cuda"), 64, 2.0, BLOCK=64))
thread.start()
thread.join()
torch.compile(linear)(torch.randn(2, 8, device="cuda"))
"""

# A script that starts processes in four ways, and one for torchrun.
CHILDREN = f"""{KERNELS}
import multiprocessing
import os
import subprocess


def work(block):
    scale[(1,)](x, 4096, 2.0, BLOCK=block)


if __name__ == "__main__":
    work(16)
    for start, block in (("spawn", 32), ("fork", 64)):
        process = multiprocessing.get_context(start).Process(target=work, args=(block,))
        process.start()
        process.join()
        print(start, process.exitcode)
    for code in ("from script import work; work(128)", "print('no torch')"):
        subprocess.run([sys.executable, "-c", code], check=True)
"""
RANKS = f"""{KERNELS}
import os
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
ranks = torch.full((1,), rank + 1, device="cuda")
dist.all_reduce(ranks)
scale[(1,)](x, 4096, 2.0, BLOCK=16 << rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda(), device_ids=[rank])
model(torch.randn(2, 4, device="cuda")).sum().backward()
sys.stdout.write(f"sum of ranks {{ranks.item()}}\\n")
dist.destroy_process_group()
"""

# Kernels that only a benchmark launches, a body for every size and line, and what benchmarks use around them.
BENCHMARKS = f"""{KERNELS}
import triton.profiler as proton
from triton._C.libtriton import nvidia

blas = nvidia.cublas.CublasLt(torch.empty(1024, dtype=torch.uint8, device="cuda"))
product = torch.zeros(4, 4, device="cuda")
blas.matmul(product, product, product)
print(product)
proton.start("profile", hook="triton")
proton.deactivate()


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["block"], x_vals=[16, 32], line_arg="warps", line_vals=[2, 4], line_names=["two", "four"],
        ylabel="GB/s", plot_name="scale", args={{"factor": 2.0}},
    )
)
def benchmark(block, warps, factor):
    proton.activate(0)
    drawn = torch.rand(1 << 24, device="cuda")
    with proton.scope("scale"):
        run = lambda: scale[(1,)](drawn, 4096, factor, BLOCK=block, num_warps=warps)
        ms, low, high = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    assert isinstance(triton.testing.do_bench(run, return_mode="all"), list)
    return ms, low, high


print(benchmark.run(print_data=True, show_plots=True))
proton.finalize()
"""
