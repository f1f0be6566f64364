"""Compiles what varied and pinned launches of a capture's kernels need, beyond the variants that it has.

Arguments that multiply the compilations of a kernel because Triton specializes on their values.

M: 1, i32 divisible by 16, i32   x   12 configs = 36 compilations
do_not_specialize=['M']                         = 12, with the code of M: i32
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from irscope.compiling.executor import started_workers
from irscope.compiling.launch_grid import Axis, LaunchCase, axes_of, parse_axes, recorded_cases
from irscope.compiling.messages import Plan, WarmPlan, WarmRequest
from irscope.compiling.pool import Worker, spawn
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.compiling.sweep import IMPORT_SECONDS, compile_plan
from irscope.compiling.toolchain.patching import variable_set
from irscope.facts.fact import Fact, change_text
from irscope.facts.measure import measure
from irscope.model import Argument, Config, Target, UserError, Variant
from irscope.model.records import FrozenValue
from irscope.model.text import pluralize
from irscope.model.tuning_pin import Pin
from irscope.store import CaptureReader, CaptureWriter

# Changes that are listed per argument, the most important first.
_MOST_CHANGES = 5
# The workers that plan launches, as well as compile.
_PLANNER = "irscope.recording.warm_plan"
# Facts that change with every compilation, or follow from others.
_NO_PRICE = frozenset(["seconds", "ms", "code"])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compilation(FrozenValue):
    """A compilation of a kernel: the specialization and the config."""

    specialization: tuple[Argument, ...]
    config: Config


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fragmentation(FrozenValue):
    """The saving if Triton did not specialize on `arguments`: `without` instead of `total` compilations.

    `group` are compilations that would then be one: `generic`.
    """

    kernel: str
    arguments: tuple[str, ...]
    total: int
    without: int
    group: tuple[Compilation, ...]
    generic: Compilation

    @property
    def saved(self) -> int:
        """Return how many compilations it saves."""
        return self.total - self.without

    @property
    def remedy(self) -> str:
        """Return the argument of `triton.jit` that avoids them: "do_not_specialize=['M']"."""
        return f"do_not_specialize={list(self.arguments)}"


def fragmentations(kernel: str, compilations: Sequence[Compilation]) -> tuple[Fragmentation, ...]:
    """Return each argument that costs compilations, most first.

    All of them together follow, if that saves more.
    """
    types = _types(compilations)
    values: dict[str, set[Argument]] = {}
    for argument in (argument for compilation in compilations for argument in compilation.specialization):
        if argument.name in types and _is_integer(argument):
            values.setdefault(argument.name, set()).add(argument)
    names = tuple(name for name, of in values.items() if len(of) > 1)
    single = [_without(kernel, (name,), compilations, types) for name in names]
    single = sorted((each for each in single if each.saved), key=lambda each: -each.saved)
    if len(names) > 1:
        whole = _without(kernel, names, compilations, types)
        for name in names:
            rest = _without(kernel, tuple(n for n in whole.arguments if n != name), compilations, types)
            whole = rest if rest.saved == whole.saved else whole
        if whole.saved > max((each.saved for each in single), default=0):
            return (*single, whole)
    return tuple(single)


def _is_integer(argument: Argument) -> bool:
    if argument.type == "constexpr":
        return argument.value == 1 and type(argument.value) is int
    return argument.type in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def _types(compilations: Iterable[Compilation]) -> dict[str, str]:
    """Return the narrowest integer type of each argument; one that is always the constant 1 has none."""
    narrowest: dict[str, str] = {}
    for compilation in compilations:
        for argument in compilation.specialization:
            if argument.type != "constexpr" and _is_integer(argument):
                narrowest[argument.name] = min(narrowest.get(argument.name, argument.type), argument.type)
    return narrowest


def _without(
    kernel: str, names: tuple[str, ...], compilations: Sequence[Compilation], types: Mapping[str, str]
) -> Fragmentation:
    groups: dict[Compilation, list[Compilation]] = {}
    for compilation in compilations:
        groups.setdefault(_generic(compilation, names, types), []).append(compilation)
    generic, largest = max(groups.items(), key=lambda item: len(item[1]))
    return Fragmentation(kernel, names, len(compilations), len(groups), tuple(largest), generic)


def _generic(one: Compilation, names: Sequence[str], types: Mapping[str, str]) -> Compilation:
    """Return the compilation without specialization on these arguments.

    The type of a wide integer stays.
    """
    return replace(
        one,
        specialization=tuple(
            Argument(
                argument.name, types[argument.name] if argument.type == "constexpr" else argument.type, None
            )
            if argument.name in names and _is_integer(argument)
            else argument
            for argument in one.specialization
        ),
    )


def same_code(a: Compilation, b: Compilation) -> bool:
    """Return True if two compilations give the same code.

    Not to specialize, and to specialize on nothing known, gives the same code.
    """
    return a.config == b.config and list(map(_known, a.specialization)) == list(map(_known, b.specialization))


def _known(argument: Argument) -> Argument:
    return replace(argument, key=argument.key or "")


def price(specialized: Mapping[str, Fact], generic: Mapping[str, Fact]) -> tuple[str, ...]:
    """Return the facts in which the generic code differs, the most important first.

    Empty if the code is equal.
    """
    if _value(specialized, "code") is not None and _value(specialized, "code") == _value(generic, "code"):
        return ()
    changed = [
        (fact.kind, fact.value, generic[name].value)
        for name, fact in specialized.items()
        if fact.kind.weight
        and name not in _NO_PRICE
        and name in generic
        and fact.value != generic[name].value
    ]
    ordered = sorted(changed, key=lambda change: -change[0].weight)
    texts = [change_text(*change) for change in ordered[:_MOST_CHANGES]]
    return tuple(texts) or ("the machine code differs, but no fact does",)


def _value(facts: Mapping[str, Fact], name: str) -> object:
    return facts[name].value if name in facts else None


def fragmentation_text(found: Fragmentation, changes: Mapping[str, tuple[str, ...]]) -> str:
    """Return the saving and its price; `changes` are those of each specialization, by its text."""
    saving = f"{found.remedy} would save {found.saved} of {pluralize(found.total, 'compilation')}"
    priced = {name: texts for name, texts in changes.items() if texts}
    if not changes:
        return f"{saving}; its price was not measured"
    if not priced:
        return f"{saving} at no price: the machine code is identical ({found.generic.config})"
    name, texts = max(priced.items(), key=lambda item: len(item[1]))
    return f"{saving}, at this price for {name} ({found.generic.config}): {'; '.join(texts)}"


def specialization_text(one: Compilation, names: Sequence[str]) -> str:
    """Return the specialization of these arguments: "M=i32:16, stride=1"."""
    return ", ".join(
        f"{argument.name}={argument}" for argument in one.specialization if argument.name in names
    )


@dataclass(frozen=True, slots=True)
class KernelLaunches:
    """A kernel of a file with its recorded launches on one target, and what to vary of them."""

    kernel: str
    file: Path
    target: Target
    cases: tuple[LaunchCase, ...]
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchOptions:
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
        """Yield the number of compilations, what each choice costs, and the notes of the plan."""
        total, recorded = len(self.warm.plan.jobs), self.warm.recorded
        yield (
            f"{self.kernel} ({self.target}): {pluralize(total, 'compilation')}, "
            f"{recorded} of them for recorded launches"
        )
        for name, number in self.warm.costs:
            yield f"  {name}: {pluralize(number, 'compilation')}"
        yield from (f"  {note}" for note in self.warm.plan.notes)


@dataclass(frozen=True, slots=True)
class CompiledLaunches:
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
        """Return the kernels (by name) and targets of which only pinned configs are needed."""
        return frozenset((plan.kernel, plan.target) for plan in self.plans if plan.warm.files)


def parse_all_axes(texts: Iterable[str]) -> tuple[Axis, ...]:
    """Return the axes of several `--vary`. Raises UserError with the part that is wrong."""
    return tuple(axis for text in texts for axis in parse_axes(text))


def launches_of(capture: Path, options: LaunchOptions) -> tuple[KernelLaunches, ...]:
    """Return the kernels of a capture with their launches. Raises UserError if it cannot be read."""
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
            recorded_cases(variants),
            axes_of(name, variants[0].kernel.parameters, options.axes),
        )
        for (name, file, target), variants in groups.items()
    )


def compile_launches(
    kernels: Sequence[KernelLaunches], output: Path, options: LaunchOptions, command: str = "irscope warm"
) -> CompiledLaunches:
    """Plans and compiles what the launches of these kernels need; writes the variants to `output`.

    The compilations go to the Triton cache of this process's environment (TRITON_CACHE_DIR). Raises
    UserError if the capture cannot be written.
    """
    with started_workers(options.processes, partial(spawn, module=_PLANNER)) as workers:
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
    return CompiledLaunches(tuple(plans), files, tuple(lines), tuple(problems), failed)


def plan_kernels(
    kernels: Sequence[KernelLaunches], options: LaunchOptions, worker: Worker
) -> tuple[list[KernelPlan], list[str]]:
    """Return the plan of each kernel, and a line per kernel that cannot be launched again."""
    plans, problems = [], []
    for kernel in kernels:
        pins = tuple(p for p in options.pins if (p.kernel, p.target) == (kernel.kernel, str(kernel.target)))
        request = WarmRequest(kernel.file, kernel.kernel, kernel.target, kernel.cases, kernel.axes, pins)
        try:
            warm = worker.ask(request, IMPORT_SECONDS)
        except UserError as error:
            problems.append(f"{kernel.kernel} ({kernel.target}): {error}")
            continue
        compilations = [Compilation(job.specialization, job.config) for job in warm.plan.jobs]
        plans.append(
            KernelPlan(kernel.kernel, kernel.target, warm, fragmentations(kernel.kernel, compilations))
        )
    return plans, problems


def kernels_to_expand(
    kernels: Iterable[KernelLaunches], options: LaunchOptions
) -> tuple[KernelLaunches, ...]:
    """Return the kernels that an axis or a pin is for.

    For the others, a capture has all that is known.
    """
    pinned = {(pin.kernel, pin.target) for pin in options.pins}
    return tuple(kernel for kernel in kernels if kernel.axes or (kernel.kernel, str(kernel.target)) in pinned)


def unmatched(kernels: Collection[str], options: LaunchOptions) -> Iterator[str]:
    """Yield a message for each axis and pin that matches no launched kernel.

    `kernels` are all kernels that were launched.
    """
    for axis in options.axes:
        if not fnmatch.filter(kernels, axis.kernel):
            launched_names = ", ".join(sorted(kernels)) or "none"
            yield f"vary {axis.kernel}:{axis.name}: no kernel has this name; kernels: {launched_names}"
    for name in sorted({pin.kernel for pin in options.pins}.difference(kernels)):
        yield f"{name} has pins, but no input launches it"


def _generic_plans(plans: Sequence[KernelPlan]) -> Iterator[Plan]:
    """Yield the jobs for the code without specialization that no job of a plan gives."""
    for plan in plans:
        jobs = plan.warm.plan.jobs
        planned = [Compilation(job.specialization, job.config) for job in jobs]
        generic = [
            replace(
                jobs[0],
                specialization=fragmentation.generic.specialization,
                config=fragmentation.generic.config,
            )
            for fragmentation in plan.fragments
            if not any(same_code(compilation, fragmentation.generic) for compilation in planned)
        ]
        if generic:
            yield replace(plan.warm.plan, jobs=tuple(dict.fromkeys(generic)))


def _price_lines(
    plans: Sequence[KernelPlan], capture: Path, options: LaunchOptions, command: str
) -> list[str]:
    """Return a line per argument that fragments the cache: what not specializing saves and costs.

    Both are measured. The code without specialization is compiled in a cache of its own:
    production does not need it.
    """
    generic = list(_generic_plans(plans))
    with ExitStack() as stack:
        captures = [stack.enter_context(CaptureReader(capture))]
        if generic:
            folder = Path(stack.enter_context(temporary_folder("irscope-prices-")))
            _compile_apart(generic, folder, options, command)
            captures.append(stack.enter_context(CaptureReader(folder / "generic.irscope")))
        stored = [(variant, reader) for reader in captures for variant in reader.variants()]
        lines = []
        for plan in plans:
            plan_variants = [
                pair for pair in stored if (pair[0].kernel.name, pair[0].target) == (plan.kernel, plan.target)
            ]
            lines += [f"  {_priced(fragmentation, plan_variants)}" for fragmentation in plan.fragments]
    return lines


def _compile_apart(plans: Sequence[Plan], folder: Path, options: LaunchOptions, command: str) -> None:
    with ExitStack() as stack:
        stack.enter_context(variable_set("TRITON_CACHE_DIR", str(folder / "cache")))
        workers = stack.enter_context(started_workers(options.processes))
        writer = stack.enter_context(CaptureWriter.create(folder / "generic.irscope", False))
        for plan in plans:
            compile_plan(plan, workers, writer, command, options.seconds, lambda *_: None)


# Variants, each with the capture that has its stages.
_StoredVariants = Sequence[tuple[Variant, CaptureReader]]


def _priced(found: Fragmentation, known: _StoredVariants) -> str:
    generic = _facts_of(found.generic, known)
    changes = {}
    for compilation in found.group:
        facts = _facts_of(compilation, known)
        if generic is not None and facts is not None and not same_code(compilation, found.generic):
            changes[specialization_text(compilation, found.arguments)] = price(facts, generic)
    return fragmentation_text(found, changes)


def _facts_of(one: Compilation, known: _StoredVariants) -> Mapping[str, Fact] | None:
    """Return the facts of the variant with this code, or None if it did not compile."""
    for variant, reader in known:
        if same_code(Compilation(variant.specialization, variant.config), one) and variant.failure is None:
            return measure(variant, partial(reader.read, variant))
    return None
