"""The process that launches an edit in place of its original on the GPU, and compares results and times.

Both kernels get copies of the same synthetic arguments.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from irscope.model.errors import error_line

# Each kernel is launched in turns, so that both see the same clock rates.
_ROUNDS, _LAUNCHES = 20, 10
_SEED = 0


def launch_both(request: tuple[Path, dict[str, Any]]) -> dict[str, Any] | str:
    """Launch the kernels in a folder's folders `a` and `b`; return the fields of a LaunchComparison.

    Return what went wrong, in a line, if that is not possible.
    """
    try:
        return _compare(*request)
    except Exception as error:  # noqa: BLE001 - whatever Triton, torch or the driver raises is the result
        return error_line(error)


def _compare(place: Path, request: dict[str, Any]) -> dict[str, Any]:
    import torch

    types = {argument["name"]: argument["type"] for argument in request["arguments"]}
    kernels = [compiled_kernel(place / side, types) for side in ("a", "b")]
    first = _arguments(request)
    results = []
    for kernel in kernels:
        arguments = [value.clone() if isinstance(value, torch.Tensor) else value for value in first]
        kernel[tuple(request["grid"])](*arguments)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        results.append(arguments)
    launches = [
        _launch(kernel, request, arguments) for kernel, arguments in zip(kernels, results, strict=True)
    ]
    names = [argument["name"] for argument in request["arguments"]]
    return {
        "device": torch.cuda.get_device_name() if has_cuda() else "",
        "differences": _differences(names, *results),
        "written": tuple(
            name for name, old, new in zip(names, first, results[0], strict=True) if _differ(old, new)
        ),
        "microseconds": tuple(_times(launches)) if has_cuda() else (),
    }


def has_cuda() -> bool:
    """Return True if torch is built for a GPU: a program that fakes one has no events and no name."""
    import torch

    return bool(torch.version.cuda or torch.version.hip) and torch.cuda.is_available()


def compiled_kernel(files: Path, types: Mapping[str, Any]) -> Any:
    """Create Triton's compiled kernel from its binary and metadata; `types` are those of its parameters."""
    from triton.compiler import CompiledKernel

    function = SimpleNamespace(arg_names=list(types), launch_metadata=None)
    source = SimpleNamespace(signature=dict(types), constants={}, fn=function, attrs={})
    group = {path.name: str(path) for path in files.iterdir()}
    return CompiledKernel(source, group, files.name)


def _arguments(request: dict[str, Any]) -> list[Any]:
    import torch

    torch.manual_seed(_SEED)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [_argument(argument, device) for argument in request["arguments"]]


def _argument(argument: dict[str, Any], device: str) -> Any:
    """Return a tensor of random numbers with the recorded shape and strides, zeros for integers."""
    import torch

    if argument["tensor"] is None:
        return argument["value"]
    dtype, shape, strides = argument["tensor"]
    tensor = torch.empty_strided(shape, strides, dtype=getattr(torch, dtype), device=device)
    if not tensor.is_floating_point():
        return tensor.zero_()
    values = torch.randn(shape, device=device, dtype=torch.float32)
    return tensor.copy_(values)


def _launch(kernel: Any, request: dict[str, Any], arguments: Sequence[Any]) -> Callable[[], None]:
    return lambda: kernel[tuple(request["grid"])](*arguments)


def _times(launches: Sequence[Callable[[], None]]) -> list[float]:
    """Return the median microseconds of each launch, measured in turns."""
    import torch

    samples: list[list[float]] = [[] for _ in launches]
    for launch in launches:
        for _ in range(_LAUNCHES):
            launch()
    for _ in range(_ROUNDS):
        for launch, times in zip(launches, samples, strict=True):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(_LAUNCHES):
                launch()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1000 / _LAUNCHES)
    return [statistics.median(times) for times in samples]


def _differ(left: Any, right: Any) -> bool:
    import torch

    return isinstance(left, torch.Tensor) and not _equal(left, right)


def _equal(left: Any, right: Any) -> bool:
    """Return True if two tensors have the same bits; NaN equals NaN."""
    import torch

    if left.is_floating_point():
        return bool(torch.all((left == right) | (left.isnan() & right.isnan())))
    return bool(torch.equal(left, right))


def _differences(names: Sequence[str], a: Sequence[Any], b: Sequence[Any]) -> dict[str, float]:
    """Map each tensor that differs to its largest absolute difference."""
    return {
        name: float((left.double() - right.double()).abs().nan_to_num(float("inf")).max())
        for name, left, right in zip(names, a, b, strict=True)
        if _differ(left, right)
    }
