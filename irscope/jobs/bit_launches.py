"""`irscope bits --run`: launches the variants of each problem on this machine's GPU, from the same values."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irscope.compiling.edits.launch import write_kernel
from irscope.compiling.processes.run_tool import call_in_process
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.compiling.standalone import VALUES
from irscope.jobs.bit_launch_child import LaunchInputs, Results, VariantLaunch, launch_variants
from irscope.jobs.reproduce.recorded import specification
from irscope.model import Argument, Launch, UserError, Variant
from irscope.model.text import split_entries
from irscope.store import CaptureReader
from irscope.workspace import Workspace
from irscope.workspace.bits import ProblemBits, Report
from irscope.workspace.launched_bits import LaunchedBits
from irscope.workspace.problem_sizes import loaded_parameters

# Of a process that launches, at first and for each variant.
_START_SECONDS, _LAUNCH_SECONDS = 60.0, 10.0


def launch_problems(
    workspace: Workspace, capture: Path, answers: Sequence[ProblemBits], report: Report
) -> list[ProblemBits]:
    """Launch the variants of each problem twice, and return the answers with what they computed.

    `report` receives the number of variants done and in total. Raises UserError if this machine has no GPU
    to launch them on.
    """
    device = ""
    results: Results = {}
    pending: list[VariantLaunch] = []
    with temporary_folder("irscope-") as folder:
        recorded = [_recorded_values(capture, answer, Path(folder)) for answer in answers]
        for index, (answer, values) in enumerate(zip(answers, recorded, strict=True)):
            for variant in answer.problem.variants:
                launch = answer.problem.launches[variant.id]
                try:
                    pending.append(_prepare(workspace, index, variant, launch, Path(folder), values))
                except UserError as error:  # failed to compile, or a shape is missing
                    results[index, variant.id] = str(error)
        total = len(pending)
        while pending:
            device, launched = _launch(pending)
            results |= launched
            pending = [launch for launch in pending if launch.key not in results]
            report(total - len(pending), total)
    return [
        replace(answer, launched=_launched_bits(device, values, index, results))
        for index, (answer, values) in enumerate(zip(answers, recorded, strict=True))
    ]


def _launched_bits(device: str, values: Path | None, problem: int, results: Results) -> LaunchedBits:
    by_variant = {variant: result for (index, variant), result in results.items() if index == problem}
    failed = {variant: result for variant, result in by_variant.items() if isinstance(result, str)}
    hashes = {variant: result for variant, result in by_variant.items() if not isinstance(result, str)}
    return LaunchedBits(device, "recorded" if values else "random", hashes, failed)


def _launch(launches: Sequence[VariantLaunch]) -> tuple[str, Results]:
    """Launch variants in a process, up to one that breaks the device; return its name and the results."""
    seconds = _START_SECONDS + _LAUNCH_SECONDS * len(launches)
    try:
        launched = call_in_process(launch_variants, launches, seconds)
    except subprocess.TimeoutExpired:
        return "", {launch.key: f"the launches took more than {seconds:g} s" for launch in launches}
    except OSError as error:
        return "", {launch.key: f"the process that launches ended: {error}" for launch in launches}
    if isinstance(launched, str):
        raise UserError(f"--run: {launched}; without --run, irscope predicts the bits")
    return launched


def _prepare(
    workspace: Workspace, problem: int, variant: Variant, launch: Launch, folder: Path, values: Path | None
) -> VariantLaunch:
    """Write the machine code of a variant. Raises UserError if it cannot be launched."""
    recorded = dict(launch.arguments)
    passed = [argument for argument in variant.specialization if argument.type != "constexpr"]
    arguments = {argument.name: _value(argument, recorded.get(argument.name, "")) for argument in passed}
    types = {argument.name: _signature_type(argument.type) for argument in variant.specialization}
    loaded = loaded_parameters(variant.kernel)
    inputs = LaunchInputs(
        arguments,
        unread=frozenset() if loaded is None else frozenset(arguments) - loaded,
        unaligned=frozenset(argument.name for argument in passed if "D" not in (argument.key or "")),
        values=values,
    )
    code = folder / f"{problem}-{variant.id}"
    write_kernel(code, variant, workspace.contents.read)
    types = {name: types.get(name, "constexpr") for name in variant.kernel.parameters}
    grid = (*launch.grid, 1, 1)[:3]
    return VariantLaunch((problem, variant.id), str(variant.target), code, grid, types, inputs)


def _value(argument: Argument, text: str) -> Any:
    """Return an argument of a launch as `scaffold.argument` has it. Raises UserError if it is not known."""
    value = specification(text)
    is_tensor = argument.type.startswith(("*", "tensordesc"))
    if value is None or is_tensor != isinstance(value, dict):
        how = f': say it, --launch "..., {argument.name}=[4096, 512]"' if is_tensor else ""
        raise UserError(f"its launch has no {'shape' if is_tensor else 'value'} for {argument.name}{how}")
    return value


def _signature_type(text: str) -> Any:
    """Return a type as Triton's signature has it: a tuple for `(i32, *fp32)`."""
    return tuple(map(_signature_type, split_entries(text[1:-1]))) if text.startswith("(") else text


def _recorded_values(capture: Path, answer: ProblemBits, folder: Path) -> Path | None:
    """Write the first values that the capture has of a launch of the problem; return None if it has none."""
    with CaptureReader(capture) as reader:
        for variant in answer.problem.variants:
            # Values are those of the first launch.
            is_first = variant.launches[:1] == (answer.problem.launches[variant.id],)
            artifact = reader.attached(variant).get(VALUES) if is_first else None
            if artifact is not None:
                path = folder / f"{artifact.digest}.pt"
                path.write_bytes(reader.content(artifact))
                return path
    return None
