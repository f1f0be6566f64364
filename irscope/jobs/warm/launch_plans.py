"""Plans and compiles the launches of kernels: recorded ones, and what `--vary` and pins add to them.

Triton specializes on the values of arguments, so one argument can multiply the compilations of a kernel. Each
plan says what an argument costs, and at which price `do_not_specialize` would save it:

    M: 1, i32 divisible by 16, i32   x   12 configs = 36 compilations
    do_not_specialize=['M']                         = 12, with the code of M: i32
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from irscope.compiling.executor import started_workers
from irscope.compiling.job import Job
from irscope.compiling.launch_grid import Axis, LaunchCase, axes_of, recorded_cases
from irscope.compiling.messages import Plan, WarmPlan, WarmRequest
from irscope.compiling.pool import Start, Worker, spawn
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.compiling.sweep import IMPORT_SECONDS, compile_plan
from irscope.compiling.toolchain.patching import variable_set
from irscope.facts.fact import Fact, change_text
from irscope.facts.measure import measure
from irscope.model import Argument, Config, Target, UserError, Variant
from irscope.model.records import frozen, grouped
from irscope.model.text import pluralize
from irscope.model.tuning_pin import Pin
from irscope.store import CaptureReader, CaptureWriter

# Changes that are listed per argument, the most important first.
_MOST_CHANGES = 5
# The workers that plan launches, as well as compile.
PLANNER = "irscope.recording.warm_plan"
# Facts that change with every compilation, or follow from others.
_NO_PRICE = frozenset(["seconds", "ms", "code"])


@frozen
class Compilation:
    """A compilation of a kernel: the specialization and the config."""

    specialization: tuple[Argument, ...]
    config: Config


@frozen
class Fragmentation:
    """The saving if Triton did not specialize on `arguments`: `without` instead of `total` compilations.

    `group` are compilations that would then be one: `generic`.
    """

    arguments: tuple[str, ...]
    total: int
    without: int
    group: tuple[Compilation, ...]
    generic: Compilation

    @property
    def saved(self) -> int:
        """Return how many compilations it saves."""
        return self.total - self.without


def fragmentations(compilations: Sequence[Compilation]) -> tuple[Fragmentation, ...]:
    """Return each argument that costs compilations, most first.

    All of them together follow, if that saves more.
    """
    values: dict[str, set[Argument]] = {}
    for compilation in compilations:
        for argument in filter(_is_integer, compilation.specialization):
            values.setdefault(argument.name, set()).add(argument)
    # The narrowest type of each; an argument that is always the constant 1 has none.
    narrowest = {
        name: min((a.type for a in arguments if a.type != "constexpr"), default="")
        for name, arguments in values.items()
    }
    types = {name: type_ for name, type_ in narrowest.items() if type_}
    names = tuple(name for name in types if len(values[name]) > 1)
    each = (_without((name,), compilations, types) for name in names)
    alone = sorted((f for f in each if f.saved), key=lambda f: -f.saved)
    if len(names) < 2:
        return tuple(alone)
    together = _without(names, compilations, types)
    for name in names:
        rest = _without(tuple(n for n in together.arguments if n != name), compilations, types)
        together = rest if rest.saved == together.saved else together
    is_better = together.saved > max((f.saved for f in alone), default=0)
    return (*alone, together) if is_better else tuple(alone)


def _is_integer(argument: Argument) -> bool:
    if argument.type == "constexpr":
        return argument.value == 1 and type(argument.value) is int
    return argument.type in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def _without(
    names: tuple[str, ...], compilations: Sequence[Compilation], types: Mapping[str, str]
) -> Fragmentation:
    def generic(argument: Argument) -> Argument:
        """Return the argument without specialization. The type of a wide integer stays."""
        if argument.name not in names or not _is_integer(argument):
            return argument
        type_ = types[argument.name] if argument.type == "constexpr" else argument.type
        return Argument(argument.name, type_, None)

    groups = grouped(
        compilations, lambda each: replace(each, specialization=tuple(map(generic, each.specialization)))
    )
    largest = max(groups, key=lambda key: len(groups[key]))
    return Fragmentation(names, len(compilations), len(groups), tuple(groups[largest]), largest)


def code_key(compilation: Compilation | Job | Variant) -> tuple[object, ...]:
    """Return what two compilations of one kernel have in common if they give the same code.

    Not to specialize, and to specialize on nothing known, gives the same code.
    """
    arguments = tuple(replace(argument, key=argument.key or "") for argument in compilation.specialization)
    return arguments, compilation.config


def price(specialized: Mapping[str, Fact], generic: Mapping[str, Fact]) -> tuple[str, ...]:
    """Return the facts in which the generic code differs, the most important first.

    Empty if the code is equal.
    """
    digests = [facts["code"].value if "code" in facts else None for facts in (specialized, generic)]
    if digests[0] is not None and digests[0] == digests[1]:
        return ()
    changed = [
        (fact, generic[name])
        for name, fact in specialized.items()
        if fact.kind.weight
        and name not in _NO_PRICE
        and name in generic
        and fact.value != generic[name].value
    ]
    changed.sort(key=lambda pair: -pair[0].kind.weight)
    texts = [change_text(fact.kind, fact.value, other.value) for fact, other in changed[:_MOST_CHANGES]]
    return tuple(texts) or ("the machine code differs, but no fact does",)


def fragmentation_text(fragmentation: Fragmentation, changes: Mapping[str, tuple[str, ...]]) -> str:
    """Return the saving and its price; `changes` are those of each specialization, by its text."""
    remedy = f"do_not_specialize={list(fragmentation.arguments)}"
    total = pluralize(fragmentation.total, "compilation")
    saving, config = f"{remedy} would save {fragmentation.saved} of {total}", fragmentation.generic.config
    if not changes:
        return f"{saving}; its price was not measured"
    name, texts = max(changes.items(), key=lambda item: len(item[1]))
    if not texts:
        return f"{saving} at no price: the machine code is identical ({config})"
    return f"{saving}, at this price for {name} ({config}): {'; '.join(texts)}"


@frozen
class KernelLaunches:
    """A kernel of a file with its recorded launches on one target, and what to vary of them."""

    kernel: str
    file: Path
    target: Target
    cases: tuple[LaunchCase, ...]
    axes: tuple[Axis, ...] = ()


@frozen
class WarmOptions:
    """How to build a warm folder.

    `target` is the GPU of production for scripts (None: cuda:90), and of captures only its variants are
    used. `kernels` is a glob on kernel names. `axes` are launches to compile besides the recorded ones,
    `pins` choose the configs of autotuned kernels; with `prices`, the code is also compiled that not
    specializing on an argument would give. `prune` keeps only configs that a capture says were chosen,
    `binary_only` no stage but the binary. `at` is the folder's path in production ("": where it is built).
    `libcuda` are folders, or several with ":" between, and `libhip` files; () means the usual ones.
    `processes` of None starts one per core; `seconds` is the time limit per kernel.
    """

    target: Target | None = None
    kernels: str = "*"
    axes: tuple[Axis, ...] = ()
    pins: tuple[Pin, ...] = ()
    prices: bool = True
    prune: bool = False
    binary_only: bool = False
    at: str = ""
    libcuda: tuple[str, ...] = ()
    libhip: tuple[str, ...] = ()
    processes: int | None = None
    seconds: float = 300.0

    def wants(self, variant: Variant) -> bool:
        """Return True if the folder is for this variant. No launch looks an edit up."""
        is_target = self.target in (None, variant.target)
        return is_target and variant.edit is None and fnmatch.fnmatchcase(variant.kernel.name, self.kernels)

    def expands(self, kernel: KernelLaunches) -> bool:
        """Return True if an axis or a pin is for this kernel. Of others, a capture has all that is known."""
        pinned = ((pin.kernel, pin.target) for pin in self.pins)
        return bool(kernel.axes) or (kernel.kernel, str(kernel.target)) in pinned

    def unmatched(self, kernels: Collection[str]) -> Iterator[str]:
        """Yield a message for each axis and pin that is for none of `kernels`, which were launched."""
        for axis in self.axes:
            if not fnmatch.filter(kernels, axis.kernel):
                launched_names = ", ".join(sorted(kernels)) or "none"
                yield f"vary {axis.kernel}:{axis.name}: no kernel has this name; kernels: {launched_names}"
        for name in sorted({pin.kernel for pin in self.pins}.difference(kernels)):
            yield f"{name} has pins, but no input launches it"


@frozen
class KernelPlan:
    """The compilations of one kernel on one target; `fragments` are arguments that multiply them."""

    kernel: str
    target: Target
    warm: WarmPlan
    fragments: tuple[Fragmentation, ...]

    def lines(self) -> Iterator[str]:
        """Yield the number of compilations, what each choice costs, and the notes of the plan."""
        total = pluralize(len(self.warm.plan.jobs), "compilation")
        yield f"{self.kernel} ({self.target}): {total}, {self.warm.recorded} of them for recorded launches"
        for name, number in self.warm.costs:
            yield f"  {name}: {pluralize(number, 'compilation')}"
        yield from (f"  {note}" for note in self.warm.plan.notes)


@frozen
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


def launches_of(capture: Path, options: WarmOptions) -> tuple[KernelLaunches, ...]:
    """Return the kernels of a capture with their launches. Raises UserError if it cannot be read."""
    with CaptureReader(capture) as reader:
        variants = list(filter(options.wants, reader.variants()))
    groups = grouped(variants, lambda each: (each.kernel.name, each.kernel.source.file, each.target))
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
    kernels: Sequence[KernelLaunches],
    output: Path,
    options: WarmOptions,
    command: str = "irscope warm",
    start: Start | None = None,
) -> CompiledLaunches:
    """Plan and compile what the launches of these kernels need; write the variants to `output`.

    The compilations go to the Triton cache of the environment (TRITON_CACHE_DIR) in which `start` starts
    the processes, those of PLANNER. Raises UserError if the capture cannot be written.
    """
    with started_workers(options.processes, start or partial(spawn, module=PLANNER)) as workers:
        plans, problems = _plan_kernels(kernels, options.pins, workers[0])
        failed = _compile([plan.warm.plan for plan in plans], workers, output, options, command)
    lines = [line for plan in plans for line in plan.lines()]
    lines += _price_lines(plans, output, options, command) if options.prices else []
    files = {f"{f.folder}/{f.name}": f.text for plan in plans for f in plan.warm.files}
    return CompiledLaunches(tuple(plans), files, tuple(lines), tuple(problems), failed)


def _plan_kernels(
    kernels: Sequence[KernelLaunches], pins: Sequence[Pin], worker: Worker
) -> tuple[list[KernelPlan], list[str]]:
    """Return the plan of each kernel, and a line per kernel that cannot be launched again."""
    plans, problems = [], []
    for kernel in kernels:
        own_pins = tuple(p for p in pins if (p.kernel, p.target) == (kernel.kernel, str(kernel.target)))
        request = WarmRequest(kernel.file, kernel.kernel, kernel.target, kernel.cases, kernel.axes, own_pins)
        try:
            warm = worker.ask(request, IMPORT_SECONDS)
        except UserError as error:
            problems.append(f"{kernel.kernel} ({kernel.target}): {error}")
            continue
        fragments = fragmentations([Compilation(job.specialization, job.config) for job in warm.plan.jobs])
        plans.append(KernelPlan(kernel.kernel, kernel.target, warm, fragments))
    return plans, problems


def _compile(
    plans: Sequence[Plan], workers: list[Worker], output: Path, options: WarmOptions, command: str
) -> int:
    """Compile plans into a capture; return how many variants failed."""
    with CaptureWriter.create(output, False) as writer:
        results = [
            compile_plan(plan, workers, writer, command, options.seconds, lambda *_: None) for plan in plans
        ]
    return sum(result.failed for result in results)


def _price_lines(plans: Sequence[KernelPlan], capture: Path, options: WarmOptions, command: str) -> list[str]:
    """Return a line per argument that fragments the cache: what not specializing saves and costs.

    Both are measured. The code without specialization is compiled in a cache of its own:
    production does not need it.
    """
    generic = [plan for plan in map(_generic_plan, plans) if plan.jobs]
    with ExitStack() as stack:
        captures = [stack.enter_context(CaptureReader(capture))]
        if generic:
            folder = Path(stack.enter_context(temporary_folder("irscope-prices-")))
            output = folder / "generic.irscope"
            with (
                variable_set("TRITON_CACHE_DIR", str(folder / "cache")),
                started_workers(options.processes) as workers,
            ):
                _compile(generic, workers, output, options, command)
            captures.append(stack.enter_context(CaptureReader(output)))
        variants: dict[tuple[object, ...], tuple[Variant, CaptureReader]] = {}
        for reader in captures:
            for variant in reader.variants():
                if variant.failure is None:
                    key = variant.kernel.name, variant.target, code_key(variant)
                    variants.setdefault(key, (variant, reader))

        def facts(plan: KernelPlan, compilation: Compilation) -> Mapping[str, Fact] | None:
            stored = variants.get((plan.kernel, plan.target, code_key(compilation)))
            return measure(stored[0], partial(stored[1].read, stored[0])) if stored else None

        return [
            f"  {_priced(fragmentation, partial(facts, plan))}"
            for plan in plans
            for fragmentation in plan.fragments
        ]


def _generic_plan(plan: KernelPlan) -> Plan:
    """Return the plan for the code without specialization that no job of `plan` gives."""
    jobs = plan.warm.plan.jobs
    planned = set(map(code_key, jobs))
    generic = [f.generic for f in plan.fragments if code_key(f.generic) not in planned]
    missing = dict.fromkeys(
        replace(jobs[0], specialization=c.specialization, config=c.config) for c in generic
    )
    return replace(plan.warm.plan, jobs=tuple(missing))


def _priced(
    fragmentation: Fragmentation, facts_of: Callable[[Compilation], Mapping[str, Fact] | None]
) -> str:
    generic = facts_of(fragmentation.generic)
    changes = {}
    for compilation in fragmentation.group:
        facts = facts_of(compilation)
        is_generic = code_key(compilation) == code_key(fragmentation.generic)
        if generic is not None and facts is not None and not is_generic:
            arguments = (a for a in compilation.specialization if a.name in fragmentation.arguments)
            text = ", ".join(f"{argument.name}={argument}" for argument in arguments)
            changes[text] = price(facts, generic)
    return fragmentation_text(fragmentation, changes)
