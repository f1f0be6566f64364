"""Requests to compile under each version: the plan of a kernel file, or the variants of a capture.

add.py::add, --config BLOCK=64,128      a plan per environment, made by a worker of that environment
kernels/, --guess                       a plan per environment and kernel in the files of the folder
old.irscope                             the captured variants, as jobs for the captured kernel's file

The variants of a capture as a request: which kernels, from which files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from irscope.compiling.job import Job, job_group
from irscope.compiling.messages import Plan, SweepRequest, WhatIfRequest
from irscope.compiling.pool import Stop, Worker
from irscope.jobs.versions.environments import Environment
from irscope.model import Kernel, Launch, Target, UserError, Variant
from irscope.model.text import pluralize
from irscope.model.variant import ENVIRONMENT
from irscope.store import CaptureReader

# The name of the assembler's version in the compiler environment of a variant, if it is not Triton's own.
PTXAS = "ptxas"


class Request(Protocol):
    """The variants to compile with each environment."""

    def plans(self, worker: Worker, stop: Stop, seconds: float) -> Iterator[Plan | UserError]:
        """Yield each kernel's plan in a worker's environment, or why there is none; always in one order."""


@dataclass(frozen=True)
class FileRequest:
    """Kernels of files, each under the configs of a sweep."""

    sweeps: Sequence[SweepRequest]

    def plans(self, worker: Worker, stop: Stop, seconds: float) -> Iterator[Plan | UserError]:
        """Yield the plan of each sweep. Importing a file may end the worker; another one plans the rest."""
        current = worker
        try:
            for sweep in self.sweeps:
                if not current.alive:
                    current = current.replacement() if current is not worker else worker.another()
                yield _plan_or_error(sweep, current, stop, seconds)
        finally:
            if current is not worker:
                current.stop()


def _plan_or_error(sweep: SweepRequest, worker: Worker, stop: Stop, seconds: float) -> Plan | UserError:
    try:
        return worker.ask(sweep, seconds, stop)
    except UserError as error:
        return error


@dataclass(frozen=True)
class CaptureRequest:
    """The variants of a capture, by kernel; `files` are the files that have the kernels."""

    kernels: Mapping[Kernel, Sequence[Variant]]
    files: Mapping[Kernel, Path]
    passes: bool

    def plans(self, worker: Worker, stop: Stop, seconds: float) -> Iterator[Plan | UserError]:
        """Yield a plan per kernel."""
        for kernel, variants in self.kernels.items():
            yield self._plan_or_error(kernel, variants, worker, stop, seconds)

    def _plan_or_error(
        self, kernel: Kernel, variants: Sequence[Variant], worker: Worker, stop: Stop, seconds: float
    ) -> Plan | UserError:
        try:
            return self._plan(kernel, variants, worker, stop, seconds)
        except UserError as error:
            return error

    def _plan(
        self, kernel: Kernel, variants: Sequence[Variant], worker: Worker, stop: Stop, seconds: float
    ) -> Plan:
        file = self.files[kernel]
        first = {variant.target: variant for variant in reversed(variants)}
        # One request per target says whether the file still has the kernel, and what the versions are.
        probes = {
            target: worker.ask(_probe(variant, file), seconds, stop) for target, variant in first.items()
        }
        environments = {target: plan.jobs[0].environment for target, plan in probes.items()}
        groups: dict[object, int] = {}
        jobs = []
        for variant in variants:
            group = job_group(groups, variant.config, variant.target, variant.specialization)
            jobs.append(
                Job(
                    file,
                    kernel.name,
                    variant.target,
                    variant.specialization,
                    variant.config,
                    group,
                    variant.reasons is not None,
                    self.passes,
                    environments[variant.target],
                )
            )
        merged = {name: text for plan in probes.values() for name, text in plan.versions.items()}
        return replace(next(iter(probes.values())), versions=merged, jobs=tuple(dict.fromkeys(jobs)))


def _probe(variant: Variant, file: Path) -> WhatIfRequest:
    return WhatIfRequest(
        file, variant.kernel.name, variant.target, variant.specialization, variant.config, {}
    )


def in_environment(plan: Plan, environment: Environment) -> Plan:
    """Return the plan with the assembler's version in the compiler environment of its jobs.

    Jobs for targets without ptxas are left out if it is not Triton's own.
    """
    if not environment.ptxas_version:
        return plan
    mark = (ENVIRONMENT + PTXAS, environment.ptxas_version)
    jobs = [replace(job, environment=(*job.environment, mark)) for job in plan.jobs if uses_ptxas(job.target)]
    return replace(plan, jobs=tuple(jobs))


def uses_ptxas(target: Target) -> bool:
    """Whether an assembler can be chosen for a target."""
    from irscope.targets import backend_of

    return "TRITON_PTXAS_PATH" in backend_of(target).assembler_variables


_MAX_LISTED = 3


def captured_request(
    path: Path, kernel: str | None, targets: Sequence[Target], passes: bool
) -> CaptureRequest:
    """Return the variants of a capture whose kernel matches the glob `kernel`, for `targets` (none: all).

    A variant that several versions compiled is one. Raises UserError if none matches, or the files are gone.
    """
    with CaptureReader(path) as reader:
        variants = list(reader.variants())
    chosen = [
        variant
        for variant in variants
        if fnmatchcase(variant.kernel.name, kernel or "*") and (not targets or variant.target in targets)
    ]
    if not chosen:
        names = ", ".join(dict.fromkeys(f"{v.kernel.name} {v.target}" for v in variants)) or "no variants"
        raise UserError(f"{path}: no variant matches --kernel and --target; it has {names}")
    groups: dict[tuple[str, str], dict[Kernel, list[Variant]]] = {}
    for variant in chosen:
        name = variant.kernel.name, variant.kernel.source.file
        groups.setdefault(name, {}).setdefault(variant.kernel, []).append(variant)
    kernels: dict[Kernel, list[Variant]] = {}
    for sources in groups.values():
        latest = max(sources, key=lambda each: each.id)  # the file has one source
        kernels[latest] = [variant for group in sources.values() for variant in group]
    files = {each: Path(each.source.file) for each in kernels if Path(each.source.file).is_file()}
    if not files:
        raise UserError(f"{path}: {_gone(kernels)}; compile them again where these files are")
    return CaptureRequest({each: kernels[each] for each in files}, files, passes)


def left_out(path: Path, request: CaptureRequest, kernel: str | None) -> Iterator[str]:
    """Yield a line per kernel whose file is gone or changed, and per thing that the environment lacks."""
    with CaptureReader(path) as reader:
        found = dict.fromkeys(variant.kernel for variant in reader.variants())
    wanted = [each for each in found if fnmatchcase(each.name, kernel or "*")]
    if gone := [each for each in wanted if not Path(each.source.file).is_file()]:
        yield f"not compiled: {_gone(dict.fromkeys(gone))}"
    environments = dict.fromkeys(
        f"{name}={value}"
        for variants in request.kernels.values()
        for variant in variants
        for name, value in variant.environment.items()
        if name != PTXAS and os.environ.get(name) != value
    )
    if environments:
        yield f"some variants were compiled with {', '.join(environments)}, which is not set now"
    for each, file in request.files.items():
        text = file.read_text(encoding="utf-8", errors="replace")
        if each.source.text.strip() not in text:
            yield f"{file}: {each.name} differs from the captured one; it is compiled as it is now"


def launches_of(request: CaptureRequest) -> Mapping[tuple[object, ...], tuple[Launch, ...]]:
    """Return the recorded launches by what `launch_key` gives for a job or variant."""
    return {
        launch_key(variant): variant.launches
        for variants in request.kernels.values()
        for variant in variants
        if variant.launches
    }


def launch_key(item: Job | Variant) -> tuple[object, ...]:
    """Identify a variant, whatever the version."""
    name = item.kernel if isinstance(item.kernel, str) else item.kernel.name
    return name, item.target, item.specialization, item.config


def _gone(kernels: Mapping[Kernel, object]) -> str:
    names = [f"{each.name} ({each.source.file})" for each in kernels]
    more = f" and {pluralize(len(names) - _MAX_LISTED, 'more kernel')}" if len(names) > _MAX_LISTED else ""
    return f"no such file any more: {', '.join(names[:_MAX_LISTED])}{more}"
