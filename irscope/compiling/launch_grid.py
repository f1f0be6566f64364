"""The launches to compile a kernel for: the recorded ones, and those that `--vary` adds.

    KERNEL:NAME=VALUE,VALUE[;NAME=...]        attention:M=1..8192:x16;N=64,128

A VALUE of a run-time argument is a number or a range; of a pointer, its type or its alignment:

    17               1..8192        every number        None           no tensor
                     1..8192:64     1, 65, 129, ...     *fp16:16       a pointer divisible by 16 bytes
    same             1..8192:x16    16, 32, 48, ...     aligned        the recorded tensor, and
    (as recorded)    1..8192:*2     1, 2, 4, 8, ...     unaligned      that tensor at an odd address

A VALUE of a constexpr or option is one that `irscope compile --config` takes. KERNEL may be a glob.

Strides and sizes that equal an argument, or a multiple of it, in all recorded launches move with it. Of the
values, one is compiled for each way in which Triton can specialize:

    recorded   a=float16[512, 64] M=512 stride=512
    --vary "matmul:M=1..4096"
               M=1 stride=1, M=2 stride=2, M=16 stride=16
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from irscope.findings.compilations import is_autotuned
from irscope.model import OPTION_NAMES, Argument, Expression, UserError, Value, Variant, parse_argument
from irscope.model.records import frozen
from irscope.model.text import split_entries

SAME = "same"
ALIGNED, UNALIGNED = "aligned", "unaligned"
# More values of one argument than any launch needs; each is looked at once.
_MOST_VALUES = 1_000_000
_RANGE = re.compile(r"(-?\d{1,19})\.\.(-?\d{1,19})(?::(x|\*)?(\d{1,10}))?")
_GLOB = re.compile(r"[*?\[]")
_USAGE = "expected KERNEL:NAME=VALUES, such as matmul:M=1..8192:x16;N=64,128"


@frozen
class DependentArgument:
    """An argument that is `ratio` times another; `values` is in how many different values it was so."""

    name: str
    ratio: int
    values: int


@frozen
class Axis:
    """The values of one argument of the kernels that match a glob; `text` is what the user wrote of them.

    `dependents` are the arguments that move with it: they are known once there are recorded launches.
    """

    kernel: str
    name: str
    text: str
    values: tuple[range | str, ...]
    dependents: tuple[DependentArgument, ...] = ()

    def texts(self) -> Iterator[str]:
        """Yield each value as the text of a launch's argument."""
        for value in self.values:
            yield from map(str, value) if isinstance(value, range) else (value,)

    @property
    def size(self) -> int:
        """Return the number of values."""
        return sum(len(value) if isinstance(value, range) else 1 for value in self.values)

    @property
    def keeps(self) -> bool:
        """Return True if the axis only says that the argument keeps its recorded value."""
        return self.values == (SAME,)

    @property
    def description(self) -> str:
        """Return the values and what moves with them: "M=1..64 (and with it stride_am, stride_cm = 2 M)"."""
        text = f"{self.name}={self.text}"
        if not self.dependents:
            return text
        names = [d.name if d.ratio == 1 else f"{d.name} = {d.ratio} {self.name}" for d in self.dependents]
        once = next((d.name for d in self.dependents if d.values == 1), "")
        hint = f"; so in the only value recorded: {once}={SAME} keeps it" if once else ""
        return f"{text} (and with it {', '.join(names)}{hint})"


def parse_axes(text: str) -> tuple[Axis, ...]:
    """Parse the axes of one `--vary`. Raises UserError with the part that is wrong."""
    kernel, colon, rest = text.partition(":")
    if not (colon and kernel.strip() and rest.strip()) or "=" in kernel:
        raise UserError(f"vary '{text}': {_USAGE}")
    return tuple(_axis(kernel.strip(), part.strip(), text) for part in rest.split(";") if part.strip())


def axes_of(kernel: str, parameters: Collection[str], axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """Return the axes for this kernel; of several for one argument, the last.

    A glob for several kernels (`*:n=1..64`) is for those of them that have the argument.
    """
    matching = (axis for axis in axes if fnmatch.fnmatchcase(kernel, axis.kernel))
    known_names = (*parameters, *OPTION_NAMES)
    return tuple(
        {a.name: a for a in matching if a.name in known_names or not _GLOB.search(a.kernel)}.values()
    )


def _axis(kernel: str, part: str, text: str) -> Axis:
    name, equals, values = (word.strip() for word in part.partition("="))
    entries = split_entries(values)
    if not (equals and name.isidentifier() and entries):
        raise UserError(f"vary '{text}': '{part}' is not NAME=VALUES; {_USAGE}")
    axis = Axis(kernel, name, values, tuple(value for e in entries for value in _values(e.strip(), text)))
    if SAME in axis.values and not axis.keeps:
        raise UserError(f"vary '{text}': '{SAME}' keeps the recorded values, so {name} has no others")
    return axis


def _values(entry: str, text: str) -> Sequence[range | str]:
    match = _RANGE.fullmatch(entry)
    if match is None:
        return [entry]
    first, last, kind, number = int(match[1]), int(match[2]), match[3], int(match[4] or 1)
    if number == 0 or (kind == "*" and (number == 1 or first < 1)):
        raise UserError(f"vary '{text}': '{entry}' never ends; a step or factor is positive")
    if kind == "*":
        powers = []
        while first <= last:
            powers.append(str(first))
            first *= number
        if powers:
            return powers
    if kind == "x":
        first = -(-first // number) * number
    count = (last - first) // number + 1
    if count < 1:
        raise UserError(f"vary '{text}': '{entry}' has no number in it")
    if count > _MOST_VALUES:
        raise UserError(f"vary '{text}': '{entry}' has {count:,} numbers, more than {_MOST_VALUES:,}")
    return [range(first, last + 1, number)]


_INTEGER = re.compile(r"-?\d{1,20}")


@frozen
class LaunchCase:
    """The arguments of a launch.

    `arguments` are run-time arguments as text (see `model.Launch`; a pointer may also be its type, "*fp16"),
    `constants` constexprs and options. The tensors in `unaligned` are at addresses not divisible by 16.
    `choices` are the arguments that an axis changed, with their values; empty for a recorded launch.
    """

    arguments: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, Value | Expression], ...] = ()
    unaligned: frozenset[str] = frozenset()
    choices: tuple[tuple[str, str], ...] = ()


def dependent_arguments(
    name: str, cases: Sequence[LaunchCase], fixed: frozenset[str] = frozenset()
) -> tuple[DependentArgument, ...]:
    """Return the arguments that equal or are a fixed multiple of `name` in all recorded launches.

    If it had only one value, a multiple must be called a stride and must not be the value of
    another argument, because many a number is a multiple of a small one.
    """
    rows = [dict(case.arguments) for case in cases]
    rows = [row for row in rows if _INTEGER.fullmatch(row.get(name, ""))]
    others = [other for other in dict.fromkeys(other for row in rows for other in row) if other != name]
    candidates = [_dependent_argument(name, other, rows) for other in others if other not in fixed]
    dependents = [dependent for dependent in candidates if dependent is not None]
    sure = {dependent.name for dependent in dependents if dependent.ratio == 1 or dependent.values > 1}
    sizes = {
        row[other]
        for row in rows
        for other in others
        if other in row and not (other in sure or _is_stride(other))
    }
    return tuple(
        dependent
        for dependent in dependents
        if dependent.name in sure
        or (_is_stride(dependent.name) and sizes.isdisjoint(row[dependent.name] for row in rows))
    )


def _dependent_argument(name: str, other: str, rows: Sequence[Mapping[str, str]]) -> DependentArgument | None:
    if not all(_INTEGER.fullmatch(row.get(other, "")) for row in rows):
        return None
    pairs = {(int(row[name]), int(row[other])) for row in rows}
    largest, of_largest = max(pairs, default=(0, 0))
    if largest < 2 or of_largest < largest:
        return None
    ratio = of_largest // largest
    return DependentArgument(other, ratio, len(pairs)) if all(b == ratio * a for a, b in pairs) else None


def _is_stride(name: str) -> bool:
    return "stride" in name.lower()


def dependent_constants(
    argument: str, cases: Sequence[LaunchCase]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the constexprs that the program seems to compute from an argument, with their recorded values.

    Each differs between launches, but not between launches with the same value of the argument; or it is
    the power of two that follows the only value.
    """
    pairs: dict[str, set[tuple[str, int]]] = {}
    for case in cases:
        value = dict(case.arguments).get(argument)
        for name, constant in case.constants:
            if value is not None and name not in OPTION_NAMES:
                pairs.setdefault(name, set()).update([(value, constant)] if type(constant) is int else [])
    following = []
    for name, recorded in pairs.items():
        values = sorted({constant for _, constant in recorded})
        several = len(values) > 1 and len({value for value, _ in recorded}) == len(recorded)
        if several or (len(recorded) == 1 and all(_is_next_power(*pair) for pair in recorded)):
            following.append((name, tuple(map(str, values))))
    return tuple(following)


def _is_next_power(value: str, constant: int) -> bool:
    number = int(value) if _INTEGER.fullmatch(value) else 0
    return number > 1 and constant == 1 << (number - 1).bit_length()


def constants_text(argument: str, name: str, values: Sequence[str]) -> str:
    """Say that a constexpr was not varied with the argument that it follows."""
    return (
        f"{name} follows {argument} in the recorded launches, but only {', '.join(values)} is "
        f"compiled; add its other values: {name}=..."
    )


_DESCRIPTOR = re.compile(r"tensordesc(?:_im2col)?<(\w+)\[([\d, ]+)\]")
_INT32, _INT64 = 1 << 31, 1 << 63
# Launches of one kernel that are compiled for at most: a product of ranges is easily larger.
MOST_LAUNCHES = 20_000


def recorded_cases(variants: Sequence[Variant]) -> tuple[LaunchCase, ...]:
    """Return the different launches of one kernel's variants, without what its autotuner sets.

    If none was launched, return launches for which they would be compiled.
    """
    launched = (case for variant in variants for case in _cases(variant))
    return tuple(dict.fromkeys(launched)) or tuple(dict.fromkeys(map(_invented_case, variants)))


def _cases(variant: Variant) -> Iterator[LaunchCase]:
    settings = dict(variant.config.values)
    for launch in variant.launches:
        arguments = {name: text for name, text in launch.arguments if name not in settings}
        yield _case(variant, arguments)


def _invented_case(variant: Variant) -> LaunchCase:
    settings = dict(variant.config.values)
    arguments = {
        argument.name: _invented(argument)
        for argument in variant.specialization
        if argument.type != "constexpr" and argument.name not in settings
    }
    return _case(variant, arguments)


def _case(variant: Variant, given: Mapping[str, str]) -> LaunchCase:
    specialization = {argument.name: argument for argument in variant.specialization}
    constants = {
        name: argument.value
        for name, argument in specialization.items()
        if argument.type == "constexpr" and name in variant.kernel.parameters and name not in given
    }
    constants |= {} if is_autotuned(variant.kernel) else dict(variant.config.values)
    unaligned = frozenset(
        name
        for name, argument in specialization.items()
        if argument.type.startswith("*") and "D" not in (argument.key or "")
    )
    return LaunchCase(tuple(given.items()), tuple(constants.items()), unaligned)


def _invented(argument: Argument) -> str:
    """Invent a value for which the JIT specializes as for `argument`.

    Only the specialization of `argument` is known.
    """
    divisible = "D" in (argument.key or "")
    if argument.type.startswith("*"):
        return argument.type
    if match := _DESCRIPTOR.match(argument.type):
        rank = match[2].count(",") + 1
        sizes = ", ".join(["4096"] * rank)
        return f"tensordesc {match[1]}[{sizes}] in blocks of [{match[2]}]"
    if argument.type in ("i1", "u1"):
        return "True"
    if argument.type in ("i64", "u64"):
        base = _INT32 if argument.type == "i64" else _INT64
        return str(base if divisible else base + 1)
    if argument.type[0] in "iu":
        return "4096" if divisible else "4097"
    return "0.5"


def linked_axes(axes: Sequence[Axis], cases: Sequence[LaunchCase]) -> tuple[Axis, ...]:
    """Return each axis that changes something, with the arguments that move with it.

    An argument that has an axis of its own moves with no other.
    """
    fixed = frozenset(axis.name for axis in axes)
    return tuple(
        replace(axis, dependents=dependent_arguments(axis.name, cases, fixed - {axis.name}))
        for axis in axes
        if not axis.keeps
    )


def expand_axes(
    cases: Sequence[LaunchCase], axes: Sequence[Axis], outcome: Callable[[LaunchCase], Hashable] | None
) -> tuple[LaunchCase, ...]:
    """`cases`, then each with the product of the linked axes' values; the recorded value is one more.

    Of several values that Triton cannot specialize differently, only one is kept: of integers, the first of
    those with the same width that are (or are not) divisible by 16 in the argument and in all that moves with
    it. If the kernel also depends on values in another way, `outcome` says how, and only values with one
    outcome, the other arguments as recorded, are the same. Raises UserError if there are too many launches,
    or a value does not fit.
    """
    expanded = dict.fromkeys(cases)
    if not (axes and cases):
        return tuple(expanded)
    texts = [(None, *_different_values(axis, cases, outcome)) for axis in axes]
    total = len(cases) * math.prod(map(len, texts))
    if total > MOST_LAUNCHES:
        sizes = (f"{len(values) - 1:,} of {axis.name}" for values, axis in zip(texts, axes, strict=True))
        raise UserError(
            f"vary {axes[0].kernel}: {len(cases):,} recorded launches x {' x '.join(sizes)} are "
            f"{total:,}, more than {MOST_LAUNCHES:,}; give fewer values"
        )
    for case, values in product(cases, product(*texts)):
        changed = case
        for axis, text in zip(axes, values, strict=True):
            changed = changed if text is None else _with_value(changed, axis, text)
        expanded.setdefault(changed)
    return tuple(expanded)


def _different_values(
    axis: Axis, cases: Sequence[LaunchCase], outcome: Callable[[LaunchCase], Hashable] | None
) -> Iterator[str]:
    seen_kinds: set[Hashable] = set()
    ratios = (1, *sorted({dependent.ratio for dependent in axis.dependents}))
    sample_cases = cases[: max(1, MOST_LAUNCHES // axis.size)]
    for text in axis.texts():
        if not _INTEGER.fullmatch(text):
            yield text
            continue
        kind: Hashable = tuple(_kind(int(text) * ratio) for ratio in ratios)
        if outcome is not None:
            kind = kind, tuple(outcome(_with_value(case, axis, text)) for case in sample_cases)
        if kind not in seen_kinds:
            seen_kinds.add(kind)
            yield text


def _kind(number: int) -> tuple[bool, bool, int]:
    """Return all that a specialization depends on: equal to 1, divisible by 16, and the width."""
    width = 32 if -_INT32 <= number < _INT32 else 64 if -_INT64 <= number < _INT64 else 65
    return number == 1, number % 16 == 0, width


def _with_value(case: LaunchCase, axis: Axis, text: str) -> LaunchCase:
    """`case` with the value `text` of the axis. Raises UserError if the argument cannot have it."""
    name, arguments, constants = axis.name, dict(case.arguments), dict(case.constants)
    unaligned, choices = case.unaligned, (*case.choices, (name, text))
    if name not in arguments:  # constexprs and options, also those that the program does not set
        constants[name] = parse_argument(text)
    elif text in (ALIGNED, UNALIGNED):
        unaligned = unaligned - {name} if text == ALIGNED else unaligned | {name}
    elif text.startswith("*"):
        arguments[name], _, hint = text.partition(":")
        unaligned = unaligned - {name} if hint == "16" else unaligned | {name}
    else:
        arguments[name] = text
        if _INTEGER.fullmatch(text):
            arguments |= {d.name: str(int(text) * d.ratio) for d in axis.dependents}
        elif text not in ("None", "True", "False") and not _is_float(text):
            raise UserError(f"vary {axis.kernel}: {name}={text} is neither a number, a range nor a pointer")
    return LaunchCase(tuple(arguments.items()), tuple(constants.items()), unaligned, choices)


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
