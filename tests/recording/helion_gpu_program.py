"""A Helion program that is recorded as on a GPU, on a stub of one; its autotuner's times are invented.

Writes the capture that its first argument names.
"""

import sys
from pathlib import Path

import torch
import triton

from irscope.compiling.fake_cuda.torch_cuda import fake_cuda
from irscope.compiling.messages import Finished, RunOptions
from irscope.compiling.toolchain.stub_driver import StubDriver
from irscope.recording.in_process import open_background_writer
from irscope.recording.process_recorder import recording
from irscope.targets import parse_target

TARGET = parse_target("cuda:90")


def measure(self, configs, **_):
    """Helion's benchmark of a batch: the second config is the fastest, and the last one fails."""
    from helion.autotuner.benchmark_provider import BenchmarkResult

    times = [3.0, 1.0, *(2.0 for _ in configs[2:-1]), float("inf")]
    statuses = ["ok"] * (len(configs) - 1) + ["error"]
    return [
        BenchmarkResult(config, self.kernel.compile_config(config), ms, status, None)
        for config, ms, status in zip(configs, times, statuses, strict=True)
    ]


driver = StubDriver(TARGET)
triton.runtime.driver.set_active(driver)
writer = open_background_writer(Path(sys.argv[1]), "helion_gpu_program", force=False)
with fake_cuda(TARGET), recording(RunOptions(None), writer):
    import helion
    import helion.language as hl
    from helion.autotuner.benchmark_provider import LocalBenchmarkProvider

    LocalBenchmarkProvider.__init__ = lambda self, **given: vars(self).update(given)
    LocalBenchmarkProvider.benchmark = measure
    LocalBenchmarkProvider.setup = LocalBenchmarkProvider.cleanup = lambda self: None

    configs = [helion.Config(block_sizes=[size], num_warps=2) for size in (64, 128, 256, 512)]

    @helion.kernel(configs=configs)
    def double(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        for tile in hl.tile(x.size(0)):
            out[tile] = x[tile] * 2
        return out

    print(double(torch.empty(4096, device="cuda")).shape)
    print("the fastest config runs", double.bind((torch.empty(4096, device="cuda"),))._config.block_sizes)
writer.ask(Finished())
for note in writer.close().notes:
    print(note)
