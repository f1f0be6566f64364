"""Batch invariance: whether the bits of a row depend on how many rows there are.

row_sum with M=16 and M=4096, #1 for both: rows 0 to 15 are the same expressions -> invariant
row_sum with M=16 by #1 and M=4096 by #2: line 27: A adds ... 4 warps; B adds ... 8 warps -> not invariant

A row is what two launches write to the same addresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from irscope.interpreting.bits.classes import Evaluation, common_elements_agree
from irscope.interpreting.bits.reasons import Reason, reasons
from irscope.model import Launch, UserError, Variant, format_value
from irscope.model.records import grouped
from irscope.workspace.bits import NOT_LAUNCHED, ProblemBits, classified
from irscope.workspace.compiler_version import compiler_version
from irscope.workspace.launch_expression import LaunchExpression, parse_launch
from irscope.workspace.problem_sizes import (
    fixed_values,
    requested_problem,
    tuning_names,
)
from irscope.workspace.workspace import Workspace

# What varies if no argument says how many rows there are: the number of programs.
GRID = "grid"
# Sizes to try besides that of --launch: one, few, and those that Triton compiles otherwise.
_TRIED = (1, 2, 16, 17)
_EXAMPLE = '--launch "grid=(cdiv(M, BLOCK_M),), M=4096"'
# How many of the first programs of a large grid are executed.
_PROGRAMS = 32


@dataclass(frozen=True, eq=False)
class SizedLaunch:
    """A launch of a variant, and what varies in it: `M=16`."""

    size: str
    variant: Variant
    launch: Launch


@dataclass(frozen=True)
class RowDifference:
    """Two launches that compute other bits of a row that both have, and the lines that decide."""

    a: SizedLaunch
    b: SizedLaunch
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Invariance:
    """Whether the bits of a row depend on how many rows there are.

    `vary` names what varies with the rows; `sizes` are the values of it that were compared, such as `M=16`.
    `answer` is "invariant", "not invariant" or "unknown". `choice` says which configs may serve another
    size: with "key" any, because an autotuner chooses again; with "fixed" the same one; with "launch" the one
    that was launched; with "open" nobody knows. `differences` are launches whose rows differ; `unknown` says
    what is not known. `unanswered` are the sizes for which the capture has no variant.
    """

    vary: tuple[str, ...]
    sizes: tuple[str, ...]
    answer: str
    choice: str
    differences: tuple[RowDifference, ...]
    unknown: tuple[str, ...]
    unanswered: tuple[str, ...]


def with_invariance(
    workspace: Workspace,
    variants: Sequence[Variant],
    launches: Sequence[str],
    vary: Sequence[str],
    reference: Variant | None,
    report: Callable[[int, int], None],
) -> list[ProblemBits]:
    """Return the classes of each problem at its largest size, and whether rows depend on the size.

    Raises UserError if nothing that was launched has what varies, or a launch has a name that nothing uses.
    """
    expressions = _tried([parse_launch(text).checked(variants) for text in launches], vary)
    sized = list(_written(variants, expressions, vary) if expressions else _recorded(variants, vary))
    sized.sort(key=lambda item: tuple(map(int, re.findall(r"\d+", item.size))), reverse=True)
    tried = dict.fromkeys(_size(expression, vary) for expression in expressions)
    answers: list[ProblemBits] = []
    done = 0
    for items in grouped(sized, lambda item: _problem(item, vary, not expressions)).values():
        evaluations: dict[SizedLaunch, Evaluation] = {}
        for item in items:
            kernel = items[0].variant.kernel
            evaluations[item] = workspace.evaluations.of(item.variant, item.launch, kernel, _PROGRAMS)
            report(done := done + 1, len(sized))
        answers.append(_answer(evaluations, tuple(vary), reference, tried))
    return answers


def _recorded(variants: Sequence[Variant], vary: Sequence[str]) -> Iterator[SizedLaunch]:
    """Yield the recorded launches that have what varies. Raises UserError if there are none."""
    names: set[str] = set()
    for variant in variants:
        constants = {a.name: str(a) for a in variant.specialization if a.type == "constexpr"}
        for launch in variant.launches:
            values = {**constants, **dict(launch.arguments), GRID: str(launch.grid)}
            names.update(name for name, value in values.items() if "[" not in value)
            if values.keys() >= set(vary):
                yield SizedLaunch(", ".join(f"{name}={values[name]}" for name in vary), variant, launch)
    if not names:
        raise UserError(NOT_LAUNCHED)
    if missing := set(vary) - names:
        raise UserError(f"--invariant: no launch has '{missing.pop()}'; they have {', '.join(sorted(names))}")


def _written(
    variants: Sequence[Variant], expressions: Sequence[LaunchExpression], vary: Sequence[str]
) -> list[SizedLaunch]:
    """Return the launches that a user wrote. Raises UserError if they fit no variant."""
    sized: list[SizedLaunch] = []
    refusal = NOT_LAUNCHED
    for variant, expression in product(variants, expressions):
        try:
            sized.append(SizedLaunch(_size(expression, vary), variant, expression.launch_of(variant)))
        except UserError as error:  # noqa: PERF203 - compiled for other arguments
            refusal = str(error)
    if not sized:
        raise UserError(refusal)
    # Triton launches another variant for multiples of 16 and for 1, unless nothing was compiled so.
    size = _size(expressions[0], vary)
    specialized = list(filter(_is_launched, sized))
    return specialized if any(item.size == size for item in specialized) else sized


def _tried(expressions: list[LaunchExpression], vary: Sequence[str]) -> list[LaunchExpression]:
    """Return the launches that a user wrote; of a single one, also those of other sizes."""
    if len(expressions) != 1:
        return expressions
    numbers = {name: expressions[0].number(name) for name in vary}
    return expressions + [
        expressions[0].with_number(name, size)
        for name, number in numbers.items()
        for size in sorted({*_TRIED, number + 16, 2 * number} - {number})
    ]


def _size(expression: LaunchExpression, vary: Sequence[str]) -> str:
    return ", ".join(f"{name}={expression.number(name)}" for name in vary)


def _is_launched(item: SizedLaunch) -> bool:
    """Check whether Triton would launch this variant: it compiles multiples of 16, and 1, on their own."""
    values = dict(item.launch.arguments)
    return all(
        ("D" in argument.key) == (int(values[argument.name]) % 16 == 0) and values[argument.name] != "1"
        for argument in item.variant.specialization
        if argument.key is not None and values.get(argument.name, "").isdigit()
    )


def _problem(item: SizedLaunch, vary: Sequence[str], recorded: bool) -> tuple[object, ...]:
    """Return what launches have in common whose rows are compared; users write those of one problem."""
    kernel, variant = item.variant.kernel, item.variant
    fixed = fixed_values(variant, item.launch if recorded else Launch(item.launch.grid, ()), vary)
    return kernel.name, kernel.source.file, str(variant.target), compiler_version(variant), fixed


def _config(item: SizedLaunch, vary: Sequence[str]) -> tuple[tuple[str, str], ...]:
    values = item.variant.settings.items()
    return tuple((name, format_value(value)) for name, value in values if name not in vary)


def _answer(
    evaluations: Mapping[SizedLaunch, Evaluation],
    vary: tuple[str, ...],
    reference: Variant | None,
    tried: Iterable[str],
) -> ProblemBits:
    """Return the classes at the largest size, which is the first, with the comparison of the rows of all.

    `tried` are the sizes of launches that a user wrote.
    """
    items = list(evaluations)
    largest = {item.variant.id: item for item in items if item.size == items[0].size}
    launches = {number: item.launch for number, item in largest.items()}
    problem = requested_problem(launches, [item.variant for item in largest.values()])
    first = reference.id if reference and reference.id in largest else None
    order = sorted(largest, key=lambda number: (number != first, number))
    bits = classified(problem, {number: evaluations[largest[number]] for number in order}, first)
    choice = _choice(items, vary, bool(tried))
    differences, unknown = _row_differences(evaluations, vary, choice)
    if choice == "key":
        members = {item.name: largest[item.variants[0]] for item in bits.classes}
        differences += [RowDifference(members[d.a], members[d.b], d.reasons) for d in bits.from_first]
        unknown += [f"#{number} with {items[0].size}: {why}" for number, why in bits.unknown.items()]
    sizes = tuple(dict.fromkeys(item.size for item in reversed(items)))
    if len(sizes) < 2:
        unknown.append(f"only {sizes[0]} is known; say how other sizes are launched: {_EXAMPLE}")
    answer = "not invariant" if differences else "unknown" if unknown else "invariant"
    unanswered = tuple(size for size in tried if size not in sizes)
    texts = tuple(dict.fromkeys(unknown))
    return replace(
        bits, invariance=Invariance(vary, sizes, answer, choice, tuple(differences), texts, unanswered)
    )


def _row_differences(
    evaluations: Mapping[SizedLaunch, Evaluation], vary: Sequence[str], choice: str
) -> tuple[list[RowDifference], list[str]]:
    """Return the first two sizes of each config, or two configs, whose rows differ, and what is not known."""
    unknown = [
        f"#{item.variant.id} with {item.size}: {evaluation.unanswered}"
        for item, evaluation in evaluations.items()
        if evaluation.unanswered
    ]
    answered = [item for item, evaluation in evaluations.items() if not evaluation.unanswered]
    differences: dict[object, RowDifference] = {}
    doubts: dict[object, str] = {}
    for a, b in _pairs(answered, vary, choice):
        configs = _config(a, vary), _config(b, vary)
        agree = common_elements_agree(evaluations[a], evaluations[b])
        if agree or configs in differences:
            continue
        # Other programs were executed, so what they computed does not tell what A and B do in other ways.
        why = tuple(reasons(*(replace(evaluations[item], marks={}) for item in (a, b))))
        if doubt := _doubt(a, b, vary, agree is False and bool(why)):
            doubts.setdefault(configs, doubt)
        else:
            differences[configs] = RowDifference(a, b, why)
    return list(differences.values()), [*unknown, *doubts.values()]


def _choice(items: Sequence[SizedLaunch], vary: Sequence[str], written: bool) -> str:
    """Say which configs may serve another size; see `Invariance`."""
    variants = [item.variant for item in items]
    names = tuning_names(variants[0].kernel)
    if names is None and not any(variant.benchmarks for variant in variants):
        by_size = grouped(items, lambda item: item.size).values()
        served = {frozenset(_config(item, vary) for item in members) for members in by_size}
        return "open" if written or len(served) == 1 else "launch"
    changing = {name for item in items for name in _changes(items[0], item, ())}
    return "key" if not names or changing & set(names) else "fixed"


def _pairs(
    items: Iterable[SizedLaunch], vary: Sequence[str], choice: str
) -> Iterator[tuple[SizedLaunch, SizedLaunch]]:
    """Yield launches of two sizes, by the same config, or by any if the launches choose it."""
    for a, b in combinations(items, 2):
        if a.size != b.size and (choice == "launch" or _config(a, vary) == _config(b, vary)):
            yield a, b


def _changes(a: SizedLaunch, b: SizedLaunch, vary: Sequence[str]) -> list[str]:
    """Return the names of the numbers, without those that vary, that are not the same in two launches."""
    values, others = dict(a.launch.arguments), dict(b.launch.arguments)
    return [
        name
        for name, value in values.items()
        if name not in vary and "[" not in value and others.get(name, value) != value
    ]


def _doubt(a: SizedLaunch, b: SizedLaunch, vary: Sequence[str], decided: bool) -> str:
    """Say why rows that seem to differ may be the same; "" if they are not."""
    sizes = ", ".join(vary)
    if changing := _changes(a, b, vary):
        return f"{', '.join(changing)} changes with {sizes}, so that rows cannot be told by their addresses"
    if not decided:
        return f"each line does the same with {a.size} and {b.size}, perhaps at other addresses"
    return ""
