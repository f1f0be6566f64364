"""Launches an edit in place of its original on a GPU, with synthetic arguments like the recorded ones."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from irscope.compiling.edits.launch_child import launch_both
from irscope.compiling.processes.run_tool import call_in_process
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.compiling.toolchain.replay import ReplayedTensor, argument_object
from irscope.model import Launch, UserError, Variant
from irscope.model.config import torch_name
from irscope.model.records import frozen
from irscope.targets import backend_of

# The content of a stage of a variant; None if it does not have it.
ReadStage = Callable[[Variant, str], bytes | None]


@frozen
class LaunchComparison:
    """Both launched with the same arguments.

    `differences` has the largest absolute difference per tensor that differs; `written` are the tensors that
    the original changed. `microseconds` are the medians of A and B, empty if the device measures none.
    """

    device: str
    differences: Mapping[str, float]
    written: tuple[str, ...]
    microseconds: tuple[float, ...]

    @property
    def lines(self) -> list[str]:
        """Return the comparison as text: whether the results agree and, if measured, both times."""
        if not self.written:
            results = "the original wrote nothing to its synthetic arguments: results say nothing"
        elif not self.differences:
            results = f"results are bit-identical ({', '.join(self.written)})"
        else:
            parts = (f"{name} by at most {value:.3g}" for name, value in self.differences.items())
            results = f"results differ: {', '.join(parts)}"
        lines = [f"{self.device or 'device'}: {results}"]
        if self.microseconds:
            a, b = self.microseconds
            lines.append(f"time: A {a:.2f} us, B {b:.2f} us ({b / a:.2f} x)")
        return lines


def compare_launches(
    original: Variant, edit: Variant, launch: Launch, read: ReadStage, seconds: float
) -> LaunchComparison:
    """Launch both on this machine's GPU. Raises UserError if that is not possible."""
    grid = (*launch.grid, 1, 1)[:3]
    request = {"grid": list(grid), "arguments": _arguments(original, launch)}
    with temporary_folder("irscope-") as folder:
        folder_path = Path(folder)
        for side, variant in (("a", original), ("b", edit)):
            write_kernel(folder_path / side, variant, read)
        try:
            result = call_in_process(launch_both, (folder_path, request), seconds)
        except subprocess.TimeoutExpired:
            raise UserError(f"--run: the launches took more than {seconds:g} s") from None
        except OSError as error:
            raise UserError(f"--run: the process that launches ended: {error}") from None
    if isinstance(result, str):
        raise UserError(f"--run: {result}")
    return LaunchComparison(**result)


def _arguments(variant: Variant, launch: Launch) -> list[dict[str, Any]]:
    """Return the kernel's parameters in order. Raises UserError if one has no value to launch with."""
    types = {argument.name: argument.type for argument in variant.specialization}
    launch_arguments = dict(launch.arguments)
    return [
        _argument(name, types.get(name, "constexpr"), launch_arguments) for name in variant.kernel.parameters
    ]


def _argument(name: str, type_: str, given: Mapping[str, str]) -> dict[str, Any]:
    plain = {"name": name, "type": type_, "tensor": None, "value": None}
    if type_ == "constexpr":
        return plain
    if name not in given:
        raise UserError(f"--run: the launch has no argument {name}")
    if given[name].startswith("*"):  # no shape: whatever size is made up, the kernel may go beyond it
        raise UserError(f"--run: the launch has no shape for argument {name}")
    value = argument_object(name, given[name], True)
    if isinstance(value, ReplayedTensor):
        dtype = torch_name(str(value.dtype).removeprefix("torch."))
        return {**plain, "tensor": [dtype, list(value.shape), list(value.stride())]}
    if not isinstance(value, int | float):
        raise UserError(f"--run: argument {name} is a tensor descriptor, which cannot be made up yet")
    return {**plain, "value": value}


def write_kernel(folder: Path, variant: Variant, read: ReadStage) -> None:
    """Write the binary and metadata of a variant into a new folder. Raises UserError if it has no binary."""
    binary = backend_of(variant.target).binary
    content = read(variant, binary)
    if content is None:
        raise UserError(f"--run: #{variant.id} has no {binary}")
    folder.mkdir()
    (folder / f"kernel.{binary}").write_bytes(content)
    (folder / "kernel.json").write_text(json.dumps({**variant.metadata, "hash": folder.name}))
