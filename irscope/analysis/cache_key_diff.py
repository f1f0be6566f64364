"""Why a kernel was compiled again: which inputs of two compilations differ, and what would have spared it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from irscope.analysis.cache_key import KINDS, CacheKeyInput, belongs, cache_key_inputs, has_key
from irscope.model import Variant

# Options that the backends set by the architecture (parse_options and the defaults in
# triton/backends/*/compiler.py of 3.6 to 3.9).
_OF_THE_TARGET = frozenset(
    [
        "allowed_dot_input_precisions",
        "arch",
        "backend_name",
        "default_dot_input_precision",
        "deprecated_fp8_dot_operand_dtypes",
        "enable_reflect_ftz",
        "extern_libs",
        "max_num_imprecise_acc_default",
        "supported_fp8_dtypes",
        "warp_size",
    ]
)


@dataclass(frozen=True, slots=True)
class ChangedInput:
    """An input that differs. `a` and `b` are its values as text, None where a side does not have it.

    The value of a source is the start of its sha256. `components` are those of Triton's cache key that
    differ because of it, `following` the inputs that differ only because of it.
    """

    input: CacheKeyInput
    a: str | None
    b: str | None
    components: tuple[str, ...] = ()
    following: tuple[CacheKeyInput, ...] = ()


@dataclass(frozen=True, slots=True)
class Recompilation:
    """Why B is not A. `whole`: both have Triton's whole key; else `unknown` says what was not compared."""

    reasons: tuple[ChangedInput, ...]
    whole: bool
    unknown: tuple[str, ...] = ()


def recompilation(a: Variant, b: Variant) -> Recompilation:
    """Every input in which two variants differ, in the order of KINDS."""
    whole = has_key(a) and has_key(b)
    ours, theirs = cache_key_inputs(a, whole), cache_key_inputs(b, whole)
    differing = [name for name in (ours | theirs) if ours.get(name) != theirs.get(name)]
    # The first line of a function that only one side has is no news.
    differing = [name for name in differing if name.kind != "line" or (name in ours and name in theirs)]
    if whole and a.cache_key["source"] == b.cache_key["source"]:
        # A line that does not count, such as that of a function which is only a constant's value.
        differing = [name for name in differing if name.kind not in ("source", "line")]
    following = _following(differing, a, b, frozenset(ours.keys() & theirs.keys()))
    followers = {name for names in following.values() for name in names}
    reasons = [
        ChangedInput(name, ours.get(name), theirs.get(name), following=tuple(sorted(following.get(name, ()))))
        for name in sorted(differing, key=lambda name: KINDS.index(name.kind))
        if name not in followers
    ]
    if not whole:
        return Recompilation(tuple(reasons), False, tuple(_not_compared(a, b)))
    return Recompilation(tuple(_accounted(reasons, a, b)), True)


def remedies(why: Recompilation, a: Variant, b: Variant) -> list[str]:
    """What would have spared a compilation that gave the same program: a sentence for each such reason."""
    kernel = f"@triton.jit(do_not_specialize=[{{!r}}]) on {b.kernel.name}"
    found = []
    for reason in why.reasons:
        kind, name = reason.input.kind, reason.input.name
        configured = any(name == known for variant in (a, b) for known, _ in variant.config.values)
        if kind == "argument" and _is_specialization(reason):
            found.append(f"{kernel.format(name)}: one compilation for every value of {name}")
        elif configured:
            found.append(
                f"leave one of the two values of {name} ({reason.a}, {reason.b}) out of the configs: "
                "they are one program here, measured twice"
            )
        elif kind == "constexpr":
            found.append(
                f"pass {name} at run time instead of as tl.constexpr, if nothing in the kernel needs it "
                "constant: its value changed nothing in the program"
            )
    return found


def _is_specialization(reason: ChangedInput) -> bool:
    """Whether two values of an argument have one type and differ in what the JIT knew of the value."""
    types = {text.partition(" ")[0] for text in (reason.a, reason.b) if text is not None and text != "1"}
    return None not in (reason.a, reason.b) and len(types) == 1 and "None" not in types


def _following(
    differing: Iterable[CacheKeyInput], a: Variant, b: Variant, both: frozenset[CacheKeyInput]
) -> dict[CacheKeyInput, list[CacheKeyInput]]:
    """What differs only because the target or the compiler does, by that input."""
    target, compiler = CacheKeyInput("target"), CacheKeyInput("triton")
    following: dict[CacheKeyInput, list[CacheKeyInput]] = {target: [], compiler: []}
    vendors = a.target.backend != b.target.backend
    by_hand = {name for variant in (a, b) for name, _ in variant.config.values}
    for name in differing:
        free = name.kind == "option" and name.name not in by_hand
        set_by_backend = name.kind == "backend" or (free and name.name in _OF_THE_TARGET)
        if target in differing and (set_by_backend or (free and vendors)):
            following[target].append(name)
        elif compiler in differing and (set_by_backend or (free and name not in both)):
            following[compiler].append(name)
    return following


def _accounted(reasons: Iterable[ChangedInput], a: Variant, b: Variant) -> Iterator[ChangedInput]:
    """`reasons` with the components that each accounts for, and one more for each that none does."""
    names = a.cache_key.keys() | b.cache_key.keys()
    left = changed = {name for name in names if a.cache_key.get(name) != b.cache_key.get(name)}
    for reason in reasons:
        own = {
            component
            for component in changed
            if any(_shows_in(name, component) for name in (reason.input, *reason.following))
        }
        left = left - own
        yield replace(reason, components=tuple(sorted(own)))
    for name in sorted(left):
        yield ChangedInput(
            CacheKeyInput("component", name), a.cache_key.get(name), b.cache_key.get(name), (name,)
        )


def _shows_in(name: CacheKeyInput, component: str) -> bool:
    """Whether a difference of this input shows in that component of the key."""
    if name.kind in ("argument", "constexpr"):
        what, _, path = component.partition(" ")
        if component == "attributes":
            return name.kind == "argument"
        return what in ("type", "constant") and belongs(path, name.name)
    if name.kind in ("source", "helper", "line"):
        return component == "source"
    if name.kind == "triton":
        # Versions write the same attributes in different ways.
        return component in ("triton", "attributes")
    if name.kind == "global":
        return component in ("source", f"global {name.name}")
    return component == f"{name.kind} {name.name}".strip()


def _not_compared(a: Variant, b: Variant) -> Iterator[str]:
    yield "options that no config sets, globals, environment variables and the build of the compiler"
    if not (a.kernel.source.text and b.kernel.source.text):
        yield "the kernel's source, and so which arguments the JIT made constants (equal to 1, None)"


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
