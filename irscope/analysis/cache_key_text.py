"""Why a kernel was compiled again, in Triton's words: reasons, values, the verdict."""

from __future__ import annotations

import re

from irscope.analysis.cache_key import CacheKeyInput
from irscope.analysis.cache_key_diff import ChangedInput, Recompilation
from irscope.model import Variant

_WITHOUT = "nothing"
_LONG = 60
_BINARIES = ("cubin", "hsaco")


def verdict(a: Variant, b: Variant, identical: bool) -> str:
    """Whether compiling `b` beside `a` was worth it, in one sentence; `identical`: both are one program."""
    if identical:
        return "No: the machine code is identical, it was compiled again for nothing"
    if a.failure or b.failure:
        return "Not known: one of the two failed, so there is no machine code to compare"
    if not all(any(name in variant.artifacts for name in _BINARIES) for variant in (a, b)):
        return "Not known: the capture has no machine code of both"
    if a.target != b.target:
        return "Yes: the targets differ, so the programs do"
    return "Yes: it is another program"


def reason_text(reason: ChangedInput) -> str:
    """A reason in one line: "argument n: i32 divisible by 16 -> i32", "num_warps: 4 -> 8"."""
    kind, name = reason.input.kind, reason.input.name
    if kind in ("source", "helper"):
        return f"{input_text(reason.input)} {_changed(reason)}"
    if kind == "line":
        return f"first line of {name}: {reason.a or _WITHOUT} -> {reason.b or _WITHOUT} (Triton's key has it)"
    return f"{input_text(reason.input)}: {_arrow(reason)}{_with_it(reason)}"


def input_text(name: CacheKeyInput) -> str:
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


def value_text(name: CacheKeyInput, value: str | None) -> str:
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


def _arrow(reason: ChangedInput) -> str:
    a, b = value_text(reason.input, reason.a), value_text(reason.input, reason.b)
    if a == b and reason.a is not None and reason.b is not None:
        # They differ behind the point where they were cut.
        a, b = _around_difference(reason.a, reason.b)
    return f"{a} -> {b}"


def _around_difference(a: str, b: str) -> tuple[str, str]:
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, start - 10)
    return f"...{a[start : start + _LONG]}", f"...{b[start : start + _LONG]}"


def _changed(reason: ChangedInput) -> str:
    if reason.a is None:
        return "is new: A does not call it"
    return "is gone: B does not call it" if reason.b is None else "changed"


def _with_it(reason: ChangedInput) -> str:
    names = [name.name or "assembler" for name in reason.following]
    return f" (and with it {', '.join(names)})" if names else ""
