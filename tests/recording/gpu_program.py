"""A program that is recorded as on a GPU, on a stub of one; it prints whether recording changed anything.

Writes the capture that its first argument names. Its benchmark times are invented.
"""

import itertools
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl

from irscope.compiling.fake_cuda.torch_cuda import fake_cuda
from irscope.compiling.messages import Finished, RunOptions
from irscope.compiling.toolchain.stub_driver import StubDriver
from irscope.recording.in_process import open_background_writer
from irscope.recording.process_recorder import recording
from irscope.targets import parse_target

TARGET = parse_target("cuda:90")
ticks = itertools.count(2)


def benchmark(kernel_call, quantiles):
    kernel_call()
    ms = float(next(ticks) % 4)
    return [ms + 1, ms + 0.5, ms + 2]


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128) for w in (2, 4)], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) * 2, mask=offsets < n)


@triton.jit
def fails(x, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 64, "too small")
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def calls_of_a_launch():
    """Every function that a launch without a compilation calls, in order."""
    calls = []
    sys.setprofile(lambda frame, event, what: calls.append(getattr(what, "__name__", frame.f_code.co_name)))
    tuned[(1,)](x, 100)
    sys.setprofile(None)
    return calls


reports = []
triton.knobs.compilation.listener = lambda **report: reports.append(report["cache_hit"])
driver = StubDriver(TARGET)
driver.get_benchmarker = lambda: benchmark
load = driver.utils.load_binary
# With a module that is not None, Triton loads a kernel only once, as on a GPU.
driver.utils.load_binary = lambda *given: ("module", "function", *load(*given)[2:])
triton.runtime.driver.set_active(driver)
writer = open_background_writer(Path(sys.argv[1]), "gpu_program", force=False)
with fake_cuda(TARGET):
    x = torch.empty(4096, device="cuda")
    with recording(RunOptions(None, passes="--passes" in sys.argv), writer):
        for n in (4096, 4096, 2048, 100):
            tuned[lambda meta, n=n: (triton.cdiv(n, meta["BLOCK"]),)](x, n)
        try:
            fails[(1,)](x, BLOCK=64)
        except triton.CompilationError:
            print("the program caught its error")
        fails[(3,)](x, BLOCK=128)
        direct = triton.compile(
            triton.compiler.ASTSource(
                tuned.fn, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 32}
            )
        )
        inside = calls_of_a_launch()
    print("a launch makes the same calls", inside == calls_of_a_launch(), "run" in inside)
    kernels = tuned.fn.device_caches[0][0].values()
    print("untouched", all("answering" in kernel._run.__qualname__ for kernel in kernels), len(reports))
writer.ask(Finished())
writer.close()
