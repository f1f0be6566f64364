"""Compiles what varied and pinned launches of a capture's kernels need, beyond the variants that it has."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from irscope.analysis.fragmentation import (
    Compilation,
    Fragmentation,
    fragmentation_text,
    fragmentations,
    price,
    same_code,
    specialization_text,
)
from irscope.analysis.launch_correlations import LaunchCase
from irscope.analysis.launch_variations import recorded_cases
from irscope.analysis.vary import Axis, axes_of, parse_vary
from irscope.capturing.compile.executor import started_workers
from irscope.capturing.compile.pool import Stop, Worker
from irscope.capturing.compile.sweep import IMPORT_SECONDS, compile_plan
from irscope.capturing.messages import Plan, WarmPlan, WarmRequest
from irscope.facts.fact import Fact
from irscope.facts.measure import measure
from irscope.model import Target, UserError, Variant
from irscope.model.text import pluralize
from irscope.model.tuning_pin import Pin
from irscope.store import CaptureReader, CaptureWriter
from irscope.toolchain.patching import variable_set
from irscope.toolchain.temporary_folders import temporary_folder


@dataclass(frozen=True, slots=True)
class KernelLaunches:
    """A kernel of a file with its recorded launches on one target, and what to vary of them."""

    kernel: str
    file: Path
    target: Target
    cases: tuple[LaunchCase, ...]
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True, slots=True)
class VaryOptions:
    """Options of launches to compile: `axes` to vary, and `pins` that choose configs of autotuned kernels.

    `target` of None means each variant's own; `kernels` is a glob. `processes` of None starts one per core;
    `seconds` is the time limit per variant. With `prices`, the code is also compiled that not specializing
    on an argument would give.
    """

    axes: tuple[Axis, ...] = ()
    pins: tuple[Pin, ...] = ()
    target: Target | None = None
    kernels: str = "*"
    processes: int | None = None
    seconds: float = 300.0
    prices: bool = True


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """The compilations of one kernel on one target; `fragments` are arguments that multiply them."""

    kernel: str
    target: Target
    warm: WarmPlan
    fragments: tuple[Fragmentation, ...]

    def lines(self) -> Iterator[str]:
        """The number of compilations, what each choice costs, and the notes of the plan."""
        total, recorded = len(self.warm.plan.jobs), self.warm.recorded
        yield (
            f"{self.kernel} ({self.target}): {pluralize(total, 'compilation')}, "
            f"{recorded} of them for recorded launches"
        )
        for name, number in self.warm.costs:
            yield f"  {name}: {pluralize(number, 'compilation')}"
        yield from (f"  {note}" for note in self.warm.plan.notes)


@dataclass(frozen=True, slots=True)
class Varied:
    """The result: plans, and the variants in the capture that was written.

    `files` are autotune results for Triton's cache: path in the cache -> text. `failed` is the number of
    variants that did not compile; `problems` are lines about kernels that could not be launched again.
    """

    plans: tuple[KernelPlan, ...]
    files: Mapping[str, str]
    lines: tuple[str, ...]
    problems: tuple[str, ...]
    failed: int

    @property
    def handled(self) -> frozenset[tuple[str, Target]]:
        """The kernels (by name) and targets of which only pinned configs are needed."""
        return frozenset((plan.kernel, plan.target) for plan in self.plans if plan.warm.files)


def parse_axes(texts: Iterable[str]) -> tuple[Axis, ...]:
    """The axes of several `--vary`. Raises UserError with the part that is wrong."""
    return tuple(axis for text in texts for axis in parse_vary(text))


def launches_of(capture: Path, options: VaryOptions) -> tuple[KernelLaunches, ...]:
    """The kernels of a capture with their launches. Raises UserError if it cannot be read."""
    groups: dict[tuple[str, str, Target], list[Variant]] = {}
    with CaptureReader(capture) as reader:
        for variant in reader.variants():
            name, file = variant.kernel.name, variant.kernel.source.file
            if variant.edit is not None:  # its launches are the original's
                continue
            if options.target in (None, variant.target) and fnmatch.fnmatchcase(name, options.kernels):
                groups.setdefault((name, file, variant.target), []).append(variant)
    return tuple(
        KernelLaunches(
            name,
            Path(file),
            target,
            recorded_cases(own),
            axes_of(name, own[0].kernel.parameters, options.axes),
        )
        for (name, file, target), own in groups.items()
    )


def vary(
    kernels: Sequence[KernelLaunches], output: Path, options: VaryOptions, command: str = "irscope warm"
) -> Varied:
    """Plans and compiles what the launches of these kernels need; writes the variants to `output`.

    The compilations go to the Triton cache of this process's environment (TRITON_CACHE_DIR). Raises
    UserError if the capture cannot be written.
    """
    with started_workers(options.processes) as workers:
        plans, problems = plan_kernels(kernels, options, workers[0])
        with CaptureWriter.create(output, False) as writer:
            failed = sum(
                compile_plan(
                    plan.warm.plan, workers, writer, command, options.seconds, lambda *_: None
                ).failed
                for plan in plans
            )
    lines = [line for plan in plans for line in plan.lines()]
    lines += _price_lines(plans, output, options, command) if options.prices else []
    files = {f"{f.folder}/{f.name}": f.text for plan in plans for f in plan.warm.files}
    return Varied(tuple(plans), files, tuple(lines), tuple(problems), failed)


def plan_kernels(
    kernels: Sequence[KernelLaunches], options: VaryOptions, worker: Worker
) -> tuple[list[KernelPlan], list[str]]:
    """The plan of each kernel, and a line per kernel that cannot be launched again."""
    plans, problems = [], []
    for each in kernels:
        pins = tuple(p for p in options.pins if (p.kernel, p.target) == (each.kernel, str(each.target)))
        request = WarmRequest(each.file, each.kernel, each.target, each.cases, each.axes, pins)
        try:
            warm = worker.warm_plan(request, Stop(), IMPORT_SECONDS)
        except UserError as error:
            problems.append(f"{each.kernel} ({each.target}): {error}")
            continue
        compilations = [Compilation(job.specialization, job.config) for job in warm.plan.jobs]
        plans.append(KernelPlan(each.kernel, each.target, warm, fragmentations(each.kernel, compilations)))
    return plans, problems


def to_vary(kernels: Iterable[KernelLaunches], options: VaryOptions) -> tuple[KernelLaunches, ...]:
    """The kernels that an axis or a pin is for: for the others, a capture has all that is known."""
    pinned = {(pin.kernel, pin.target) for pin in options.pins}
    return tuple(each for each in kernels if each.axes or (each.kernel, str(each.target)) in pinned)


def unmatched(kernels: Collection[str], options: VaryOptions) -> Iterator[str]:
    """A line per axis and pin that is for none of `kernels`, which are all that were launched."""
    for axis in options.axes:
        if not fnmatch.filter(kernels, axis.kernel):
            known = ", ".join(sorted(kernels)) or "none"
            yield f"vary {axis.kernel}:{axis.name}: no kernel has this name; kernels: {known}"
    for name in sorted({pin.kernel for pin in options.pins}.difference(kernels)):
        yield f"{name} has pins, but no input launches it"


def _generic_plans(plans: Sequence[KernelPlan]) -> Iterator[Plan]:
    """The jobs for the code without specialization that no job of a plan gives."""
    for plan in plans:
        jobs = plan.warm.plan.jobs
        known = [Compilation(job.specialization, job.config) for job in jobs]
        generic = [
            replace(jobs[0], specialization=found.generic.specialization, config=found.generic.config)
            for found in plan.fragments
            if not any(same_code(one, found.generic) for one in known)
        ]
        if generic:
            yield replace(plan.warm.plan, jobs=tuple(dict.fromkeys(generic)))


def _price_lines(plans: Sequence[KernelPlan], capture: Path, options: VaryOptions, command: str) -> list[str]:
    """A line per argument that fragments the cache: what not specializing saves and costs, as measured.

    The code without specialization is compiled in a cache of its own: production does not need it.
    """
    generic = list(_generic_plans(plans))
    with ExitStack() as stack:
        captures = [stack.enter_context(CaptureReader(capture))]
        if generic:
            folder = Path(stack.enter_context(temporary_folder("irscope-prices-")))
            _compile_apart(generic, folder, options, command)
            captures.append(stack.enter_context(CaptureReader(folder / "generic.irscope")))
        known = [(variant, reader) for reader in captures for variant in reader.variants()]
        lines = []
        for plan in plans:
            own = [
                pair for pair in known if (pair[0].kernel.name, pair[0].target) == (plan.kernel, plan.target)
            ]
            lines += [f"  {_priced(found, own)}" for found in plan.fragments]
    return lines


def _compile_apart(plans: Sequence[Plan], folder: Path, options: VaryOptions, command: str) -> None:
    with ExitStack() as stack:
        stack.enter_context(variable_set("TRITON_CACHE_DIR", str(folder / "cache")))
        workers = stack.enter_context(started_workers(options.processes))
        writer = stack.enter_context(CaptureWriter.create(folder / "generic.irscope", False))
        for plan in plans:
            compile_plan(plan, workers, writer, command, options.seconds, lambda *_: None)


# Variants, each with the capture that has its stages.
_Known = Sequence[tuple[Variant, CaptureReader]]


def _priced(found: Fragmentation, known: _Known) -> str:
    generic = _facts_of(found.generic, known)
    changes = {}
    for one in found.group:
        facts = _facts_of(one, known)
        if generic is not None and facts is not None and not same_code(one, found.generic):
            changes[specialization_text(one, found.arguments)] = price(facts, generic)
    return fragmentation_text(found, changes)


def _facts_of(one: Compilation, known: _Known) -> Mapping[str, Fact] | None:
    """The facts of the variant with this code; None if it did not compile."""
    for variant, reader in known:
        if same_code(Compilation(variant.specialization, variant.config), one) and variant.failure is None:
            return measure(variant, partial(reader.read, variant))
    return None
