"""Prints, per case, the hashes under which Triton's JIT and irscope compile a kernel of plain.py.

Reads a target and its cases as JSON from stdin. Arguments are evaluated here, with a fake tensor.
"""

import json
import sys
from pathlib import Path

from triton.runtime import driver

from irscope.compiling.job import Outcome
from irscope.compiling.messages import SweepRequest
from irscope.compiling.plan import make_plan
from irscope.compiling.toolchain.compiler import StageMemory, compile_job
from irscope.compiling.toolchain.stub_driver import StubDriver
from irscope.targets import parse_target

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
# 3.6 imports torch to find how far a tensor reaches on hip; this tensor answers itself.
torch = sys.modules.setdefault("torch", type(sys)("torch"))
torch.Tensor = type("Tensor", (), {})

import plain  # noqa: E402 - after the fake torch


class Float16:
    def __str__(self):
        return "torch.float16"


class Tensor:
    dtype = Float16()

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address

    def ptr_range(self):
        return 0


def jit_hash(kernel, arguments, constants):
    function = getattr(plain, kernel)
    while type(function).__name__ != "JITFunction":
        function = function.fn
    given = eval(arguments, {"tensor": Tensor})
    return function.warmup(*given, grid=(1,), **constants, num_warps=2, num_stages=2).hash


def own_hash(target, kernel, signature, constants):
    axes = {"num_warps": (2,), "num_stages": (2,)}
    fixed = {}
    if kernel == "scale":  # its autotuner's configs set BLOCK and num_warps; one is enough here
        signature = ", ".join(signature.split(", ")[:3])
        axes |= {name: (constants[name],) for name in ("BLOCK", "EVEN")}
        fixed = {name: value for name, value in constants.items() if name == "FACTOR"}
    request = SweepRequest(HERE / "plain.py", kernel, signature, fixed, axes, (target,))
    (job,) = make_plan(request).jobs
    compiled = Outcome()
    compile_job(job, StageMemory(), compiled.add)
    return compiled.metadata["hash"]


task = json.load(sys.stdin)
target = parse_target(task["target"])
driver.set_active(StubDriver(target))
hashes = [
    (jit_hash(kernel, arguments, constants), own_hash(target, kernel, signature, constants))
    for kernel, signature, arguments, constants in task["cases"]
]
print(json.dumps(hashes))
