"""Compiles a Helion kernel under its configs: captures a program that launches it for example arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.compiling.kernels import helion_kernel
from irscope.model.records import frozen

if TYPE_CHECKING:
    from irscope.compiling.messages import RunOptions
    from irscope.model import Target
    from irscope.recording.background_writer import OpenCapture, WrittenCounts

__all__ = ["HelionRequest", "compile_helion", "helion_kernel"]

_PROGRAM = "irscope.recording.helion_program"


@frozen
class HelionRequest:
    """A request to compile a Helion kernel; its texts are as the user wrote them.

    `configs` is how many of the configs that Helion's autotuner would try first to compile; None: the
    kernel's own, or the default one. Each is combined with the product of the values in `axes`.
    """

    file: Path
    kernel: str
    signature: str
    constants: Mapping[str, str]
    axes: Mapping[str, Sequence[str]]
    configs: int | None

    @property
    def text(self) -> str:
        """Return the request as the argument of the program."""
        return json.dumps({**asdict(self), "file": str(self.file.absolute())})


def compile_helion(
    request: HelionRequest,
    targets: Sequence[Target],
    options: RunOptions,
    open_: Callable[[Target], OpenCapture],
    command: str,
    on_change: Callable[[WrittenCounts], None],
) -> tuple[int, list[WrittenCounts]]:
    """Compiles for each target in turn; returns the highest exit code, and the counts written for each.

    The code is 1 if Helion rejected a config and 2 if the request does not fit the kernel. `open_` opens the
    capture for a target.
    """
    # Every `irscope compile` imports this module, to see whether the kernel is Helion's.
    from irscope.compiling.messages import Program, SubprocessOptions
    from irscope.recording.background_writer import BackgroundWriter
    from irscope.recording.program import run_captured

    codes, counts = [], []
    program = Program("module", _PROGRAM, (request.text,))
    for target in targets:
        writer = BackgroundWriter(open_(target), command, on_change)
        stem = str(request.file.absolute().with_suffix(""))
        subprocesses = SubprocessOptions(replace(options, target=target), stem, "", command)
        codes.append(run_captured(program, subprocesses, writer))
        counts.append(writer.close())
        if codes[-1] > 1:
            break
    return max(codes), counts
