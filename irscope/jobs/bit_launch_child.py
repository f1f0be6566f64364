"""The process that launches the machine code of variants on the GPU, and hashes what each launch wrote.

    arguments  ->  the same values before each launch  ->  {"out": "5f3a..."}, for each of two launches

One NaN counts as equal to another. Needs torch and Triton; any Triton launches the machine code of any other.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irscope.compiling.edits.launch_child import compiled_kernel, has_cuda
from irscope.jobs.reproduce import scaffold as untyped_scaffold

scaffold: Any = untyped_scaffold
# How often each variant is launched.
_LAUNCHES = 2
# A problem and a variant -> hashes of the changed tensors per launch, or why it was not launched.
Results = dict[tuple[int, int], list[dict[str, str]] | str]


@dataclass(frozen=True)
class LaunchInputs:
    """What a launch gets: the arguments by name, as `scaffold.argument` has them.

    Tensors that are `unread` begin with zeros, the addresses of `unaligned` ones are not divisible by 16.
    `values` is a file of torch with recorded values.
    """

    arguments: Mapping[str, Any]
    unread: frozenset[str]
    unaligned: frozenset[str]
    values: Path | None


@dataclass(frozen=True)
class VariantLaunch:
    """A launch of a variant: `folder` has its machine code, `types` are Triton's of all parameters."""

    key: tuple[int, int]
    target: str
    folder: Path
    grid: tuple[int, ...]
    types: Mapping[str, Any]
    inputs: LaunchInputs


def launch_variants(launches: Sequence[VariantLaunch]) -> tuple[str, Results] | str:
    """Launch variants in turn, up to one that breaks the device; return its name, and what they computed.

    Returns why, in a line, if no variant can be launched.
    """
    try:
        import torch

        if not torch.cuda.is_available():
            return "torch sees no GPU on this machine"
        return torch.cuda.get_device_name() if has_cuda() else "", _results(launches)
    except Exception as error:  # noqa: BLE001 - whatever Triton, torch or the driver raises is the result
        return _first_line(error)


def _results(launches: Sequence[VariantLaunch]) -> Results:
    import torch
    import triton

    triton.set_allocator(lambda size, _alignment, _stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    device = f"cuda:{''.join(map(str, torch.cuda.get_device_capability()))}"
    results: Results = {}
    arguments: _LaunchArguments | None = None
    for launch in launches:
        if torch.version.cuda and launch.target != device:
            results[launch.key] = f"the GPU of this machine is {device}, not {launch.target}"
            continue
        try:
            if arguments is None or arguments.inputs != launch.inputs:
                arguments = None  # frees the memory
                arguments = _LaunchArguments(launch.inputs)
            results[launch.key] = [arguments.launch(launch) for _ in range(_LAUNCHES)]
        except Exception as error:  # noqa: BLE001 - too much shared memory, an illegal address
            results[launch.key] = _first_line(error)
            if _is_broken():
                break
    return results


def _first_line(error: Exception) -> str:
    """Return the kind of an error and the first line of its text: torch adds advice."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


class _LaunchArguments:
    """The arguments of launches: recorded values, else random floats, and zeros for all else."""

    def __init__(self, inputs: LaunchInputs) -> None:
        import torch

        self.inputs = inputs
        self._values = {}
        for name, specification in inputs.arguments.items():
            torch.manual_seed(zlib.crc32(name.encode()))
            self._values[name] = scaffold.argument(name, specification, name not in inputs.unaligned, torch)
        tensors = scaffold.tensors(self._values.items())
        self._tensors = {name: scaffold.memory(tensor) for name, tensor in tensors}
        for name in inputs.unread & self._tensors.keys():
            self._tensors[name].zero_()
        if inputs.values is not None:
            recorded = torch.load(inputs.values, weights_only=True)
            for name in recorded["before"].keys() & self._tensors.keys():
                self._tensors[name].copy_(recorded["before"][name])
            for name, first in recorded["same"].items():  # one tensor, passed twice
                self._values[name] = self._values[first]
        self._before = {name: tensor.clone() for name, tensor in self._tensors.items()}

    def launch(self, launch: VariantLaunch) -> dict[str, str]:
        """Launch a variant from the same values, and return hashes of what it changed."""
        import torch

        for name, tensor in self._tensors.items():
            tensor.copy_(self._before[name])
        kernel = compiled_kernel(launch.folder, launch.types)
        kernel[launch.grid](*map(self._values.get, launch.types))
        torch.cuda.synchronize()
        return changed_hashes(self._before, self._tensors)


def changed_hashes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """Return a hash of each tensor whose bits a launch changed; every NaN counts as the same."""
    import torch

    hashes = {}
    for name, tensor in after.items():
        if torch.equal(_bits(tensor), _bits(before[name])):
            continue
        if tensor.is_floating_point() and tensor.dtype.itemsize > 1:
            tensor = torch.where(tensor.isnan(), torch.full_like(tensor, float("nan")), tensor)  # noqa: PLW2901
        content = _bits(tensor).cpu().numpy().tobytes()
        hashes[name] = hashlib.blake2b(content, digest_size=8).hexdigest()
    return hashes


def _bits(tensor: Any) -> Any:
    import torch

    return tensor.view(torch.uint8)


def _is_broken() -> bool:
    """Return True if an earlier launch left the device unusable for this process."""
    import torch

    try:
        torch.cuda.synchronize()
        torch.zeros(1, device="cuda").cpu()
    except Exception:  # noqa: BLE001 - torch raises several kinds
        return True
    return False
