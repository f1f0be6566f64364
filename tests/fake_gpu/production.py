"""Runs a program as a machine with a GPU does, on a fake libcuda: `python production.py PROGRAM.py ARGS...`.

Triton's own JIT, cache, driver and launcher run. CPU tensors take the place of CUDA ones, and benchmarks
launch once. Nothing of irscope is used, unless FAKE_CUDA_TENSORS is "irscope": then CPU tensors say that they
are on a GPU, as under `irscope run`, which libraries ask. Set up the environment with
`tests.fake_gpu.production_environment`.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

_HERE = ("cuda", "hip")


def _on_cpu(value: Any) -> Any:
    """`value`, the CPU if it is a CUDA device."""
    if isinstance(value, torch.device) and value.type in _HERE:
        return torch.device("cpu")
    return "cpu" if isinstance(value, str) and value.split(":")[0] in _HERE else value


class _CpuForCuda(TorchFunctionMode):
    """Creates on the CPU what a program creates on a GPU."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function is torch.Tensor.cuda:
            return args[0]
        if function is torch.device:
            return torch.device("cpu")
        given = {name: _on_cpu(value) for name, value in (kwargs or {}).items()}
        return function(*map(_on_cpu, args), **given)


def _call_once(call: Callable[[], Any], quantiles: Any = (0.5,), **_: Any) -> list[float]:
    """Takes the place of triton.testing.do_bench; the earlier a config is measured, the faster it is."""
    call()
    _call_once.calls += 1  # type: ignore[attr-defined]
    return [float(_call_once.calls)] * len(quantiles or (0.5,))  # type: ignore[attr-defined]


_call_once.calls = 0  # type: ignore[attr-defined]


def _plain_tensors() -> AbstractContextManager[Any]:
    """CPU tensors in place of CUDA ones, and the functions of torch.cuda that Triton calls."""
    cuda = {
        "is_available": lambda: True,
        "current_device": lambda: 0,
        "set_device": lambda _: None,
        "get_device_capability": lambda *_: torch.cuda.capability,  # type: ignore[attr-defined]
        "current_stream": lambda *_: mock.Mock(cuda_stream=0),
        "synchronize": lambda *_: None,
    }
    torch.cuda.capability = divmod(int(os.environ.get("FAKE_CUDA_CAPABILITY", "90")), 10)  # type: ignore[attr-defined]
    for name, function in cuda.items():
        setattr(torch.cuda, name, function)
    return _CpuForCuda()


def _tensors() -> AbstractContextManager[Any]:
    if os.environ.get("FAKE_CUDA_TENSORS") != "irscope":
        return _plain_tensors()
    from irscope.compiling.fake_cuda.torch_cuda import fake_cuda
    from irscope.targets import parse_target

    return fake_cuda(parse_target(f"cuda:{os.environ.get('FAKE_CUDA_CAPABILITY', '90')}"))


def main(program: str) -> None:
    """Runs the program."""
    if os.environ.get("FAKE_HIP"):
        torch.version.hip = "7.0"
        from triton.backends.amd.driver import HIPDriver as Driver
    else:
        from triton.backends.nvidia.driver import CudaDriver as Driver

    # Triton gets the stream here.
    torch._C._cuda_getCurrentRawStream = lambda *_: 0  # type: ignore[attr-defined]
    torch._C._cuda_getDevice = lambda: 0  # type: ignore[attr-defined]
    Driver.get_benchmarker = lambda _: _call_once  # type: ignore[method-assign]
    Driver.get_empty_cache_for_benchmark = lambda _: torch.empty(1)  # type: ignore[method-assign]
    sys.argv = sys.argv[1:]
    with _tensors():
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
