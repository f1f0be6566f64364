"""Launches configs of a space on a GPU, and describes the bits that each computes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
import triton

from tests.truth.bits.space import Arguments, Config, Space

_LOCATIONS = re.compile(r" *loc\(.*|^#loc.*\n", re.MULTILINE)


def use_scratch_memory(device: str) -> None:
    """Let Triton allocate the memory that kernels need for tensor descriptors that they make."""
    triton.set_allocator(lambda size, _alignment, _stream: torch.empty(size, dtype=torch.int8, device=device))


class Launcher:
    """Launches configs of one space, each from the same values of all tensors."""

    def __init__(self, space: Space, device: str = "cuda") -> None:
        self.space = space
        self._arguments = space.tensors(device)
        self._tensors = _distinct_tensors(self._arguments)
        self._before = {place: tensor.clone() for place, tensor in self._tensors.items()}
        self._first: dict[int, torch.Tensor] = {}

    def measured(self, config: Config) -> dict[str, Any]:
        """Launch a config as its author would, and return what `bits` returns, and what was compiled."""
        arguments, grid = self.arguments(config), self.space.grid(config)
        kernels: list[Any] = []

        def launch() -> None:
            kernels.append(self.space.kernel[grid](*arguments, **config))

        line = self.bits(launch)
        return {
            "grid": grid,
            **line,
            "stage": kernels[0].asm["ttgir"],
            **described_kernel(kernels[0]),
            "arguments": self.described(config),
            "device": torch.cuda.get_device_name(),
            "triton": triton.__version__,
        }

    def arguments(self, config: Config) -> Arguments:
        """Return the arguments of a config; `bits` restores their values before each launch."""
        return self.space.arguments(self._arguments, config)

    def described(self, config: Config) -> dict[str, Any]:
        """Return what each argument is, as a line of a measurement has it."""
        return _described_arguments(self.space, self.arguments(config))

    def bits(self, launch: Callable[[], None]) -> dict[str, Any]:
        """Return the checksums of the tensors that a launch changed, and those of two more launches.

        `bits` are those of the bits, `values` of the tensors with one kind of NaN, `again` of the other launches;
        `differ` counts the elements that are not those of the first config.
        """
        self._launch(launch)
        changed = {
            place: tensor
            for place, tensor in self._tensors.items()
            if not torch.equal(_raw(tensor), _raw(self._before[place]))
        }
        line: dict[str, Any] = {
            "outputs": list(changed),
            "bits": [checksum(tensor) for tensor in changed.values()],
            "values": [checksum(_with_one_nan(tensor)) for tensor in changed.values()],
            "nans": [int(torch.isnan(tensor.float()).sum()) for tensor in changed.values()],
            "size": [tensor.numel() for tensor in changed.values()],
        }
        line["differ"] = [self._differing(place, tensor) for place, tensor in changed.items()]
        line["again"] = []
        for _ in range(2):
            self._launch(launch)
            line["again"].append([checksum(self._tensors[place]) for place in changed])
        return line

    def _launch(self, launch: Callable[[], None]) -> None:
        for place, tensor in self._tensors.items():
            tensor.copy_(self._before[place])
        launch()
        torch.cuda.synchronize()

    def _differing(self, place: int, tensor: torch.Tensor) -> int:
        """Return how many elements differ from those of the first config that changed this tensor."""
        first = self._first.setdefault(place, tensor.clone())
        return int((_raw(first) != _raw(tensor)).reshape(tensor.numel(), -1).any(1).sum())


def described_kernel(kernel: Any) -> dict[str, Any]:
    """Return what a prediction needs to know of a compiled kernel, apart from its stages."""
    source = kernel.src
    names = list(source.fn.arg_names)
    constants = {_path_name(names, path): repr(value) for path, value in source.constants.items()}
    hints = {
        _path_name(names, path): [hint for hint, _ in value] for path, value in source.attrs.items() if value
    }
    return {
        "signature": {str(name): str(kind) for name, kind in source.signature.items()},
        "constants": constants,
        "hints": hints,
        "options": _options(kernel.metadata),
        "ttgir": _text_digest(kernel.asm["ttgir"]),
        "registers": kernel.n_regs,
        "spills": kernel.n_spills,
        "shared": kernel.metadata.shared,
    }


def checksum(tensor: torch.Tensor) -> str:
    """Return 16 hexadecimal digits that differ where any bit of two tensors of one shape differs."""
    return hashlib.blake2b(_raw(tensor).cpu().numpy().tobytes(), digest_size=8).hexdigest()


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(torch.uint8)


def _with_one_nan(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor with the same NaN for every NaN."""
    if not tensor.is_floating_point() or tensor.dtype.itemsize == 1:
        return tensor
    return torch.where(torch.isnan(tensor), torch.full_like(tensor, float("nan")), tensor)


def _distinct_tensors(arguments: Arguments) -> dict[int, torch.Tensor]:
    """Return the tensors by position, each once: the first argument of those that are the same tensor."""
    tensors: dict[int, torch.Tensor] = {}
    for place, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor) and not any(argument is other for other in tensors.values()):
            tensors[place] = argument
    return tensors


def _described_arguments(space: Space, arguments: Arguments) -> dict[str, Any]:
    """Return what each argument is: a number, or the type, sizes, strides and alignment of a tensor."""
    names = [parameter.name for parameter in space.kernel.params]
    tensors = [
        (place, argument) for place, argument in enumerate(arguments) if isinstance(argument, torch.Tensor)
    ]
    described: dict[str, Any] = {}
    for name, argument in zip(names, arguments, strict=False):
        tensor = getattr(argument, "base", argument)
        if not isinstance(tensor, torch.Tensor):
            described[name] = argument
            continue
        described[name] = {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "aligned": tensor.data_ptr() % 16 == 0,
        }
        if tensor is not argument:
            described[name]["block"] = list(argument.block_shape)
        same = next((names[place] for place, other in tensors if other is argument), name)
        if same != name:
            described[name]["same_as"] = same
    return described


def _options(metadata: Any) -> Mapping[str, Any]:
    kept = (
        "num_warps",
        "num_stages",
        "num_ctas",
        "maxnreg",
        "enable_fp_fusion",
        "max_num_imprecise_acc_default",
    )
    return {name: getattr(metadata, name, None) for name in kept}


def _path_name(names: list[str], path: Any) -> str:
    places = path if isinstance(path, tuple) else (path,)
    first = places[0]
    return ".".join([names[first] if isinstance(first, int) else str(first), *map(str, places[1:])])


def _text_digest(text: str) -> str:
    return hashlib.sha256(_LOCATIONS.sub("", text).encode()).hexdigest()[:16]
