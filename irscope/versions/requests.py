"""Requests to compile under each version: the plan of a kernel file, or the variants of a capture.

add.py::add, --config BLOCK=64,128      a plan per environment, made by a worker of that environment
kernels/, --guess                       a plan per environment and kernel in the files of the folder
old.irscope                             the captured variants, as jobs for the captured kernel's file
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from irscope.capturing.compile.pool import Stop, Worker
from irscope.capturing.messages import Plan, SweepRequest, WhatIfRequest
from irscope.model import Kernel, Target, UserError, Variant
from irscope.model.environment import ENVIRONMENT
from irscope.toolchain.job import Job
from irscope.versions.environments import Environment

# The name of the assembler's version in the compiler environment of a variant, if it is not Triton's own.
PTXAS = "ptxas"


class Request(Protocol):
    """The variants to compile with each environment."""

    def plans(self, worker: Worker, stop: Stop, seconds: float) -> Iterator[Plan | UserError]:
        """The plan of each kernel in a worker's environment, or why there is none; always in one order."""


@dataclass(frozen=True)
class FileRequest:
    """Kernels of files, each under the configs of a sweep."""

    sweeps: Sequence[SweepRequest]

    def plans(self, worker: Worker, stop: Stop, seconds: float) -> Iterator[Plan | UserError]:
        """The plan of each sweep. Importing a file may end the worker; another one plans the rest."""
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
        return worker.plan(sweep, stop, seconds)
    except UserError as error:
        return error


@dataclass(frozen=True)
class CaptureRequest:
    """The variants of a capture, by kernel; `files` are the files that have the kernels."""

    kernels: Mapping[Kernel, Sequence[Variant]]
    files: Mapping[Kernel, Path]
    passes: bool = False

    def plans(self, worker: Worker, stop: Stop, seconds: float) -> Iterator[Plan | UserError]:
        """A plan per kernel."""
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
            target: worker.plan(_probe(variant, file), stop, seconds) for target, variant in first.items()
        }
        environments = {target: plan.jobs[0].environment for target, plan in probes.items()}
        groups: dict[object, int] = {}
        jobs = []
        for variant in variants:
            rest = tuple(pair for pair in variant.config.values if pair[0] != "num_stages")
            group = groups.setdefault((variant.target, variant.specialization, repr(rest)), len(groups))
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
    """The plan with the assembler's version in the compiler environment of its jobs.

    Jobs for targets without ptxas are left out if it is not Triton's own.
    """
    if not environment.ptxas_version:
        return plan
    mark = (ENVIRONMENT + PTXAS, environment.ptxas_version)
    jobs = [replace(job, environment=(*job.environment, mark)) for job in plan.jobs if uses_ptxas(job.target)]
    return replace(plan, jobs=tuple(jobs))


def uses_ptxas(target: Target) -> bool:
    """Whether an assembler can be chosen for a target."""
    from irscope.backends import backend_of

    return "TRITON_PTXAS_PATH" in backend_of(target).assembler_variables
