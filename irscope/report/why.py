"""What `irscope why` has to say, in Triton's words, before any format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irscope.analysis.compilations import Compilations
from irscope.analysis.inputs import Input
from irscope.analysis.recompile import Reason, Recompilation
from irscope.diff.rows import StageDiff
from irscope.diff.summary import first_structural
from irscope.report.comparison import Comparison

_WITHOUT = "nothing"
_LONG = 60


@dataclass(frozen=True)
class Why:
    """Two variants: what differs between them, which inputs made the second compile, and what spares it."""

    comparison: Comparison
    recompilation: Recompilation
    remedies: Sequence[str]

    @property
    def first(self) -> StageDiff | None:
        """The first compared stage that differs in more than shapes and constants."""
        return first_structural(self.comparison.diffs.values())

    @property
    def verdict(self) -> str:
        """Whether the second compilation was worth it, in one sentence."""
        if self.comparison.identical:
            return "No: the machine code is identical, it was compiled again for nothing"
        if any(variant.failure for variant in self.comparison.variants):
            return "Not known: one of the two failed, so there is no machine code to compare"
        if not self._code_known:
            return "Not known: the capture has no machine code of both"
        targets = {variant.target for variant in self.comparison.variants}
        if len(targets) > 1:
            return "Yes: the targets differ, so the programs do"
        return "Yes: it is another program"

    @property
    def _code_known(self) -> bool:
        binaries = ("cubin", "hsaco")
        return all(any(name in v.artifacts for name in binaries) for v in self.comparison.variants)


@dataclass(frozen=True)
class Story:
    """A whole capture: the compilations of each kernel."""

    capture: str
    kernels: Sequence[Compilations]


def reason_text(reason: Reason) -> str:
    """A reason in one line: "argument n: i32 divisible by 16 -> i32", "num_warps: 4 -> 8"."""
    kind, name = reason.input.kind, reason.input.name
    if kind in ("source", "helper"):
        return f"{input_text(reason.input)} {_changed(reason)}"
    if kind == "line":
        return f"first line of {name}: {reason.a or _WITHOUT} -> {reason.b or _WITHOUT} (Triton's key has it)"
    return f"{input_text(reason.input)}: {_arrow(reason)}{_with_it(reason)}"


def input_text(name: Input) -> str:
    """What an input is called."""
    words = {
        "triton": "compiler: triton",
        "backend": "assembler",
        "source": "source of the kernel",
        "helper": f"source of the helper {name.name}",
        "line": f"first line of {name.name}",
        "option": name.name,
        "constexpr": f"constexpr {name.name}",
        "component": f"component '{name.name}' of the key",
    }
    return words.get(name.kind, f"{name.kind} {name.name}".rstrip())


def value_text(name: Input, value: str | None) -> str:
    """A value of an input, short enough for a line."""
    if value is None:
        return "unset" if name.kind in ("environment", "option") else _WITHOUT
    if name.kind == "backend" and (match := re.search(r"release [^\n]*", value)):
        return match[0]
    if name.kind == "argument" and value in ("1", "None"):
        return "equal to 1, a constant" if value == "1" else "None, a constant"
    if not value and name.kind in ("environment", "option"):
        return "empty"
    return value if len(value) <= _LONG else f"{value[:_LONG]}..."


def key_sentence(why: Recompilation, number: int) -> str:
    """How much of the key differs; `number` is how many components it has."""
    differing = len({component for reason in why.reasons for component in reason.components})
    if why.whole:
        verb = "differs" if differing == 1 else "differ"
        return f"{differing} of the {number} components of Triton's cache key {verb}"
    return "the capture does not have Triton's cache key; by what it does have"


def _arrow(reason: Reason) -> str:
    a, b = value_text(reason.input, reason.a), value_text(reason.input, reason.b)
    if a == b and reason.a is not None and reason.b is not None:
        # They differ behind the point where they were cut.
        a, b = _around_difference(reason.a, reason.b)
    return f"{a} -> {b}"


def _around_difference(a: str, b: str) -> tuple[str, str]:
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, start - 10)
    return f"...{a[start : start + _LONG]}", f"...{b[start : start + _LONG]}"


def _changed(reason: Reason) -> str:
    if reason.a is None:
        return "is new: A does not call it"
    return "is gone: B does not call it" if reason.b is None else "changed"


def _with_it(reason: Reason) -> str:
    names = [name.name or "assembler" for name in reason.following]
    return f" (and with it {', '.join(names)})" if names else ""


def unknown_lines(why: Recompilation) -> Iterator[str]:
    """What could not be compared, a line each."""
    for text in why.unknown:
        yield f"not known: {text}"
