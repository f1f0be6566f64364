"""`irscope bits`: which variants compute the same bits at each launch, and the lines that decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING

from irscope.facts.instruction_mix import place_text, statement_text
from irscope.facts.source.alignment import line_map
from irscope.facts.source.map import SourcePlace
from irscope.interpreting.bits.classes import (
    BitClass,
    ClassDifference,
    Evaluation,
    classify,
    evaluate,
)
from irscope.interpreting.bits.reasons import Reason
from irscope.interpreting.stage_interpreter import KernelLaunch
from irscope.layouts.convert import Version, triton_version
from irscope.model import Kernel, Launch, UserError, Variant, format_value, parse_value
from irscope.model.records import grouped, varying_keys
from irscope.model.text import split_entries
from irscope.workspace.launch_expression import launched
from irscope.workspace.launched_bits import CONTRADICTION, LaunchedBits, agreement
from irscope.workspace.problem_sizes import (
    Problem,
    by_kernel,
    problems,
    requested_problem,
    specialization_key,
)
from irscope.workspace.source_lines import PythonSource
from irscope.workspace.stage_reader import SizedCache
from irscope.workspace.variant_texts import PYTHON
from irscope.workspace.why_lines import StageLine, TextLine

if TYPE_CHECKING:
    from irscope.languages.document import Document
    from irscope.workspace.invariance import Invariance, RowDifference
    from irscope.workspace.workspace import Workspace

Report = Callable[[int, int], None]

_STAGE = "ttgir"
NOT_LAUNCHED = 'no launch was recorded; say how it is launched: --launch "grid=(cdiv(M, BLOCK_M),), M=4096"'
# The hashed elements of evaluations that stay in memory: 128 MB.
_HELD_ELEMENTS = 8_000_000


@dataclass(frozen=True)
class ProblemBits:
    """Which variants compute the same bits from the same inputs, at one launch of a specialization.

    `problem` is what was launched: the kernel, the target and the arguments; nothing is known of a problem
    without arguments and launches. `classes` are the variants by what they compute, the class of the
    reference first. `unknown` maps the ids of all other variants to the reason. `differences` say what
    separates each two classes. `reference` is the id of the variant that others are compared with; None if
    nothing is known of it. `launched` is what launches on a GPU computed; None if there were none.
    `invariance` says whether rows depend on how many there are; None if nobody asked.
    """

    problem: Problem
    classes: tuple[BitClass, ...]
    unknown: Mapping[int, str]
    differences: tuple[ClassDifference, ...]
    reference: int | None
    launched: LaunchedBits | None = None
    invariance: Invariance | None = None

    @property
    def reference_class(self) -> str | None:
        """Return the name of the class of the reference; None if nothing is known of it."""
        return None if self.reference is None else self.classes[0].name

    @property
    def contradicted(self) -> bool:
        """Return True if launches on a GPU contradict the classes."""
        return any(point.kind == CONTRADICTION for point in agreement(self))

    def unrepeatable(self, variant: int, name: str = "") -> str:
        """Say why a launch of a variant does not repeat its bits, or may not; "" if it does.

        `name` is that of the variant ("": its number).
        """
        name = name or f"#{variant}"
        if variant in self.unknown:
            return f"the bits of {name} are unknown: {self.unknown[variant]}"
        if any(variant in item.variants and not item.repeatable for item in self.classes):
            return f"not even two launches of {name} compute the same bits: the order of atomics decides"
        return ""

    @property
    def from_first(self) -> tuple[ClassDifference, ...]:
        """Return what separates the other classes from the first one, which is that of the reference."""
        return tuple(item for item in self.differences if item.a == self.classes[0].name)

    def reason_texts(self, difference: ClassDifference | RowDifference) -> list[str]:
        """Return what separates two classes, or launches, `line 27 (...): A ...; B ...`."""
        texts = [f"{self.place(reason)}: {reason.text}" for reason in difference.reasons]
        return texts or ["irscope does not know which line decides"]

    def place(self, reason: Reason) -> str:
        """Return the line that a reason is about: `line 27 (total = tl.sum(x))`.

        With the line of a helper: `line 27 (y = norm(x), in line 7: return tl.sum(x) / n)`.
        """
        if not reason.source_line:
            return f"{reason.stage} line {reason.line + 1}"
        kernel = self.problem.variants[0].kernel
        line = SourcePlace(kernel.source.file, reason.source_line)
        return reason_place(reason, line, kernel).removeprefix("of ")

    @property
    def deciding(self) -> tuple[str, ...]:
        """Return the fewest names of config values on which the class depends; () if there is one class.

        All configs whose bits do not repeat count as one class.
        """
        classes = {n: item.name if item.repeatable else "" for item in self.classes for n in item.variants}
        variants = [variant for variant in self.problem.variants if variant.id in classes]
        names = varying_keys(variant.settings for variant in variants)
        rows = [(value_texts(variant, names), classes[variant.id]) for variant in variants]
        for count in range(len(names)):
            for some in combinations(names, count):
                pairs = {(tuple(values[name] for name in some), bit_class) for values, bit_class in rows}
                if len(dict(pairs)) == len(pairs):
                    return some
        return tuple(names)

    def reason_lines(self, difference: ClassDifference | RowDifference) -> list[TextLine]:
        """Return what separates two classes, each text with the line of Python that it is about."""
        targets = [*map(self._python_line, difference.reasons), None]
        texts = self.reason_texts(difference)
        return [TextLine(text, target=target) for text, target in zip(texts, targets, strict=False)]

    def _python_line(self, reason: Reason) -> StageLine | None:
        variant = self.problem.variants[0]
        place = SourcePlace(variant.kernel.source.file, reason.source_line)
        line = PythonSource.of_variant(variant).line_of(place)
        return None if line is None else StageLine(PYTHON, line, True)

    def common_config(self, bit_class: BitClass) -> dict[str, list[str]]:
        """Return the fewest config values that all of a class have, and no variant of another class has.

        Empty if there are none, or only one class.
        """
        variants = self.problem.variants
        names = varying_keys(variant.settings for variant in variants)
        configs = {variant.id: value_texts(variant, names) for variant in variants}
        inside = [configs[number] for number in bit_class.variants]
        outside = [
            configs[number] for other in self.classes if other is not bit_class for number in other.variants
        ]
        values = {name: list(dict.fromkeys(config[name] for config in inside)) for name in names}
        # Options of the compiler are last in a config, and go first.
        for name in reversed(names):
            fewer = {key: texts for key, texts in values.items() if key != name}
            if not any(_fits(config, fewer) for config in outside):
                values = fewer
        return {} if any(_fits(config, values) for config in outside) else values


def reason_place(reason: Reason, line: SourcePlace, kernel: Kernel) -> str:
    """Return the line of a kernel that a reason is about, with that of a helper: `of line 27 (...)`."""
    helper = SourcePlace(*reason.helper) if reason.helper else None
    inside = [f"line {helper.line}: {statement_text(helper, kernel)}"] if helper else []
    return place_text(line, kernel, helpers=inside)


def value_texts(variant: Variant, names: Iterable[str]) -> dict[str, str]:
    """Return values of a config as text; an option that the config does not set has the compiler's value."""
    values = {**variant.metadata, **variant.settings}
    return {name: format_value(values.get(name)) for name in names}


def _fits(config: Mapping[str, str], values: Mapping[str, Sequence[str]]) -> bool:
    return all(config[name] in texts for name, texts in values.items())


def bit_classes(
    workspace: Workspace,
    variants: Sequence[Variant],
    launches: Sequence[str] = (),
    reference: Variant | None = None,
    report: Report = lambda done, total: None,
    across_flags: bool = False,
) -> list[ProblemBits]:
    """Sort the variants of each problem into classes of equal bits; see `Workspace.bits`.

    `across_flags`: flags and types among the constants tell problems apart only if nobody names the variants.
    Raises UserError as `launched`.
    """
    first = None if reference is None else reference.id
    refusals: Mapping[int, str] = {}
    if launches:
        variants, refusals = launched(variants, launches)
    parts = [part for problem in _problems(variants) for part in _specializations(problem)]
    if launches:
        parts = [problem for problem in parts if problem.launches]
    if across_flags:
        parts = list(_across_flags(parts))
    total = sum(len(problem.variants) for problem in parts)
    done = 0
    answers = []
    for problem in parts:
        step = lambda n, before=done: report(before + n, total)  # noqa: E731
        answers.append(_problem_bits(workspace, problem, first, refusals, step))
        done += len(problem.variants)
    return answers


def bits_at(workspace: Workspace, problem: Problem, reference: Variant) -> ProblemBits:
    """Return the classes at a launch of the variants that have the specialization of `reference`.

    `reference` is a variant that the problem launches.
    """
    part = next(part for part in _specializations(problem) if reference.id in part.launches)
    return _problem_bits(workspace, part, reference.id)


def _problem_bits(
    workspace: Workspace,
    problem: Problem,
    reference: int | None,
    refusals: Mapping[int, str] = MappingProxyType({}),
    report: Callable[[int], None] = lambda done: None,
) -> ProblemBits:
    """Evaluate the variants of one specialization, the reference first, and sort them into classes."""
    evaluations: dict[int, Evaluation] = {}
    kernel = problem.variants[0].kernel if problem.variants else None
    for variant in sorted(problem.variants, key=lambda variant: variant.id != reference):
        evaluations[variant.id] = workspace.evaluations.of(variant, problem.launches[variant.id], kernel)
        report(len(evaluations))
    for variant in problem.unlaunched:
        reason = _failure(variant) or refusals.get(variant.id, NOT_LAUNCHED)
        evaluations[variant.id] = Evaluation(unanswered=reason)
    return classified(problem, evaluations, reference)


def classified(problem: Problem, evaluations: Mapping[int, Evaluation], reference: int | None) -> ProblemBits:
    """Return the classes; the first evaluated variant is the reference, unless `reference` is unknown."""
    result = classify(evaluations)
    first = result.classes[0].variants[0] if result.classes and reference not in result.unknown else None
    return ProblemBits(problem, result.classes, result.unknown, result.differences, first)


class Evaluations:
    """The evaluations of launches that were made so far. Several threads may use it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._held: SizedCache[Evaluation] = SizedCache(_HELD_ELEMENTS)

    def of(
        self,
        variant: Variant,
        launch: Launch,
        kernel: Kernel | None = None,
        first: int = 1,
        fusion: bool | None = None,
    ) -> Evaluation:
        """Return what a launch writes, as hashes; equal TTGIR with an equal launch is executed once.

        Lines are those of the source of `kernel` (None: the variant's own). `first` is as in `evaluate`;
        `fusion`: whether products are fused into sums (None: as the variant was compiled).
        """
        kernels = variant.kernel, kernel or variant.kernel
        if failure := _failure(variant):
            return Evaluation(unanswered=failure)
        try:
            document = line_map(*kernels).in_lines_of_b(self._workspace.document(variant, _STAGE))
        except UserError as error:
            return Evaluation(unanswered=str(error))
        version, machine_launch, fuses, flush = _settings(variant, launch, document)
        fuses = fuses if fusion is None else fusion
        content = self._workspace.contents.key(variant, _STAGE)
        arguments = tuple(machine_launch.arguments.items())
        key = content, kernels, version, arguments, machine_launch.grid, fuses, flush, first
        held = self._held.get(key)
        if held is not None:
            return held
        evaluation = evaluate(document, version, machine_launch, fuses, flush, first)
        size = sum(len(addresses) for addresses, _ in evaluation.outputs.values())
        return self._held.put(key, evaluation, size)


def evaluate_launch(variant: Variant, launch: Launch, document: Document) -> Evaluation:
    """Return what a launch of a variant with this TTGIR writes, as hashes."""
    return evaluate(document, *_settings(variant, launch, document))


def _settings(
    variant: Variant, launch: Launch, document: Document
) -> tuple[Version, KernelLaunch, bool, bool]:
    """Return what an evaluation depends on besides TTGIR: Triton, the launch, and two options."""
    metadata = variant.metadata
    fusion = bool(metadata.get("enable_fp_fusion", True))
    # The option of NVIDIA, and that of AMD.
    flush = bool(metadata.get("enable_reflect_ftz", True)) and not metadata.get("allow_flush_denorm")
    version = triton_version(variant.toolchain.versions.get("triton", ""))
    return version, machine_launch(variant, launch, document), fusion, flush


def _failure(variant: Variant) -> str:
    """Return why a variant has no TTGIR; "" if it has."""
    if variant.failure is not None:
        return f"it failed to compile: {variant.failure.summary}"
    return "" if _STAGE in variant.artifacts else f"the capture has no {_STAGE} of it"


# Problems.


def _problems(variants: Sequence[Variant]) -> Iterator[Problem]:
    """Yield the problems of each kernel, and one of the variants that belong to none."""
    for members in by_kernel(variants):
        launched = problems(members)
        yield from launched
        placed = {v.id for problem in launched for v in (*problem.variants, *problem.unlaunched)}
        if rest := tuple(variant for variant in members if variant.id not in placed):
            yield Problem(rest[0].kernel.name, str(rest[0].target), (), (), {}, (), rest)


def _specializations(problem: Problem) -> Iterator[Problem]:
    """Split a problem into those of each specialization."""
    every = grouped([*problem.variants, *problem.unlaunched], specialization_key)
    for members in every.values():
        variants = [variant for variant in members if variant.id in problem.launches]
        unlaunched = tuple(variant for variant in members if variant.id not in problem.launches)
        if not variants:
            yield replace(problem, launches={}, variants=(), unlaunched=unlaunched)
            continue
        yield replace(requested_problem(problem.launches, variants), unlaunched=unlaunched)


def _across_flags(parts: Sequence[Problem]) -> Iterator[Problem]:
    """Join problems that differ only in flags and types which the configs choose."""
    for members in grouped(parts, _without_flags).values():
        first, *others = members
        yield replace(
            first,
            constants=tuple(pair for pair in first.constants if all(pair in p.constants for p in others)),
            launches={number: launch for part in members for number, launch in part.launches.items()},
            variants=tuple(variant for part in members for variant in part.variants),
            unlaunched=tuple(variant for part in members for variant in part.unlaunched),
        )


def _without_flags(part: Problem) -> tuple[object, ...]:
    types, _ = specialization_key(next(iter((*part.variants, *part.unlaunched))))
    return part.kernel, part.target, part.arguments, types


# Launches.

# A number, and the name that it has in TTGIR.
Number = int | float | None


def machine_launch(variant: Variant, launch: Launch, document: Document) -> KernelLaunch:
    """Return a launch with its numbers at the positions of the TTGIR function's arguments."""
    recorded = dict(launch.arguments)
    numbers: dict[str, Number] = {}
    for argument in variant.specialization:
        if argument.type != "constexpr":
            numbers.update(_numbers(argument.name, argument.type, recorded.get(argument.name, "")))
    names = [name.removeprefix("%") for name in _parameters(document)]
    if not numbers.keys() & set(names):
        names = list(numbers)
    positions = {
        index: number for index, name in enumerate(names) if (number := numbers.get(name)) is not None
    }
    x, y, z = (*launch.grid, 1, 1)[:3]
    return KernelLaunch(positions, (x, y, z))


def _numbers(name: str, kind: str, text: str) -> Iterator[tuple[str, Number]]:
    """Yield the arguments of TTGIR that one of Triton becomes, with their numbers (None: a tensor).

    A tensor descriptor is followed by its shape and strides; each item of a tuple is an argument.
    """
    if kind.startswith("("):
        items = split_entries(text[1:-1])
        for index, part in enumerate(split_entries(kind[1:-1])):
            if part != "constexpr":
                yield from _numbers(f"{name}.{index}", part, items[index] if index < len(items) else "")
    elif kind.startswith("tensordesc"):
        from irscope.estimating.counting.launch_arguments import tensor_of

        tensor = tensor_of(name, text, kind)
        yield name, None
        yield from ((f"{name}.shape.{axis}", length) for axis, length in enumerate(tensor.shape))
        yield from ((f"{name}.stride.{axis}", length) for axis, length in enumerate(tensor.strides))
    else:
        value = None if kind.startswith("*") else parse_value(text)
        yield name, value if isinstance(value, int | float) else None


def _parameters(document: Document) -> tuple[str, ...]:
    """Return the names of the arguments of the kernel's function."""
    for operation in document.operations:
        if operation.opcode.endswith(".func") and " private " not in document.lines[operation.line]:
            return operation.arguments
    return ()
