"""Values that a user wants a kernel's arguments to be compiled for: `attention:M=1..8192:x16;N=64,128`.

    KERNEL:NAME=VALUE,VALUE[;NAME=...]

A VALUE of a run-time argument is a number or a range; of a pointer, its type or its alignment:

    17               1..8192        every number        None           no tensor
                     1..8192:64     1, 65, 129, ...     *fp16:16       a pointer divisible by 16 bytes
    same             1..8192:x16    16, 32, 48, ...     aligned        the recorded tensor, and
    (as recorded)    1..8192:*2     1, 2, 4, 8, ...     unaligned      that tensor at an odd address

A VALUE of a constexpr or option is one that `irscope compile --config` takes. KERNEL may be a glob.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from irscope.model import OPTION_NAMES, UserError
from irscope.model.frozen_value import FrozenValue
from irscope.model.text import split_entries

SAME = "same"
ALIGNED, UNALIGNED = "aligned", "unaligned"
# More values of one argument than any launch needs; each is looked at once.
_MOST_VALUES = 1_000_000
_RANGE = re.compile(r"(-?\d{1,19})\.\.(-?\d{1,19})(?::(x|\*)?(\d{1,10}))?")
_GLOB = re.compile(r"[*?\[]")
_USAGE = "expected KERNEL:NAME=VALUES, such as matmul:M=1..8192:x16;N=64,128"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Span(FrozenValue):
    """The integers from `first` to `last`: every `step`-th, or each `factor` times the one before it."""

    first: int
    last: int
    step: int = 1
    factor: int = 1

    def __len__(self) -> int:
        """How many integers there are."""
        if self.factor == 1:
            return len(range(self.first, self.last + 1, self.step))
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[int]:
        """The integers, smallest first."""
        if self.factor == 1:
            yield from range(self.first, self.last + 1, self.step)
            return
        value = self.first
        while value <= self.last:
            yield value
            value *= self.factor


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Axis(FrozenValue):
    """The values of one argument of the kernels that match a glob; `text` is what the user wrote of them."""

    kernel: str
    name: str
    text: str
    values: tuple[Span | str, ...]

    def texts(self) -> Iterator[str]:
        """Each value as the text of a launch's argument."""
        for value in self.values:
            yield from map(str, value) if isinstance(value, Span) else (value,)

    @property
    def size(self) -> int:
        """The number of values."""
        return sum(len(value) if isinstance(value, Span) else 1 for value in self.values)

    @property
    def keeps(self) -> bool:
        """Whether it only says that the argument keeps its recorded value."""
        return self.values == (SAME,)


def parse_vary(text: str) -> tuple[Axis, ...]:
    """The axes of one `--vary`. Raises UserError with the part that is wrong."""
    kernel, colon, rest = text.partition(":")
    if not (colon and kernel.strip() and rest.strip()) or "=" in kernel:
        raise UserError(f"vary '{text}': {_USAGE}")
    return tuple(_axis(kernel.strip(), part.strip(), text) for part in rest.split(";") if part.strip())


def axes_of(kernel: str, parameters: Collection[str], axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """The axes for this kernel; of several for one argument, the last.

    A glob for several kernels (`*:n=1..64`) is for those of them that have the argument.
    """
    own = (axis for axis in axes if fnmatch.fnmatchcase(kernel, axis.kernel))
    known = (*parameters, *OPTION_NAMES)
    return tuple({a.name: a for a in own if a.name in known or not _GLOB.search(a.kernel)}.values())


def _axis(kernel: str, part: str, text: str) -> Axis:
    name, equals, values = (word.strip() for word in part.partition("="))
    entries = split_entries(values)
    if not (equals and name.isidentifier() and entries):
        raise UserError(f"vary '{text}': '{part}' is not NAME=VALUES; {_USAGE}")
    axis = Axis(kernel, name, values, tuple(_value(entry.strip(), text) for entry in entries))
    if SAME in axis.values and not axis.keeps:
        raise UserError(f"vary '{text}': '{SAME}' keeps the recorded values, so {name} has no others")
    return axis


def _value(entry: str, text: str) -> Span | str:
    match = _RANGE.fullmatch(entry)
    if match is None:
        return entry
    first, last, number = int(match[1]), int(match[2]), int(match[4] or 1)
    if number == 0 or (match[3] == "*" and (number == 1 or first < 1)):
        raise UserError(f"vary '{text}': '{entry}' never ends; a step or factor is positive")
    span = Span(first, last, step=number)
    if match[3] == "x":
        span = Span(-(-first // number) * number, last, step=number)
    elif match[3] == "*":
        span = Span(first, last, factor=number)
    if not len(span):
        raise UserError(f"vary '{text}': '{entry}' has no number in it")
    if len(span) > _MOST_VALUES:
        raise UserError(f"vary '{text}': '{entry}' has {len(span):,} numbers, more than {_MOST_VALUES:,}")
    return span
