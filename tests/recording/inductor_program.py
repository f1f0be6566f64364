"""A program with torch.compile that is recorded as on a GPU, on a stub of one.

Inductor writes its Triton code for CPU tensors with the properties of an H100, and the stub ignores launches.
Writes the capture that its first argument names. The times of configs are invented.
"""

import itertools
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import torch
import torch._dynamo.device_interface
import torch._inductor.config
import triton
from torch._inductor.runtime import hints, triton_helpers, triton_heuristics

from irscope.compiling.messages import Finished, RunOptions
from irscope.compiling.toolchain.stub_driver import StubDriver
from irscope.recording.in_process import open_background_writer
from irscope.recording.process_recorder import recording
from irscope.targets import parse_target

driver = StubDriver(parse_target("cuda:90"))
load = driver.utils.load_binary
driver.utils.load_binary = lambda *given: ("module", "function", *load(*given)[2:])
triton.runtime.driver.set_active(driver)

device = hints.DeviceProperties(
    type="cuda", index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32,
)  # fmt: skip
hints.DeviceProperties.create = lambda *_: device
triton_helpers.set_driver_to_gpu = triton_helpers.set_driver_to_cpu = lambda: None
torch._dynamo.device_interface.DeviceGuard = lambda *_: nullcontext()
torch._inductor.config.cpu_backend = "triton"
torch._inductor.config.use_static_triton_launcher = False

autotuner = triton_heuristics.CachingAutotuner
autotuner.get_device_interface = lambda _: SimpleNamespace()
times = itertools.count(1)
autotuner.bench = lambda *_, **__: float(next(times))


def scaled(x, weight):
    y = torch.relu(x) * weight
    return y.softmax(-1)


writer = open_background_writer(Path(sys.argv[1]), "inductor_program", force=False)
with recording(RunOptions(None), writer):
    x = torch.ones(64, 128, requires_grad=True)
    weight = torch.ones(128)
    torch.compile(scaled)(x, weight).sum().backward()
writer.ask(Finished())
writer.close()
restored = autotuner.bench.__name__ == "<lambda>" and not hasattr(autotuner.precompile, "__wrapped__")
print("restored", restored)
