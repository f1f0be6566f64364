"""Why a kernel was compiled again: the inputs in which two compilations differ, as data and as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from irscope.findings.cache_key import (
    KINDS,
    CacheKeyInput,
    belongs,
    cache_key_inputs,
    constexpr_values,
    environment_known,
    has_key,
)
from irscope.model import Variant
from irscope.model.config import changed_parameters
from irscope.model.records import frozen
from irscope.model.text import pluralize
from irscope.model.variant import OPTION_VARIABLES, variable_value
from irscope.targets import backend_of

# Options that the backends derive from the architecture (parse_options and the defaults in
# triton/backends/*/compiler.py of 3.6 to 3.9).
_TARGET_OPTIONS = frozenset(
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

# Options whose default an environment variable sets.
VARIABLE_OPTIONS = {"TRITON_DEFAULT_FP_FUSION": "enable_fp_fusion", "TRITON_OVERRIDE_ARCH": "arch"}

# A tensor descriptor's type: the text before its block shape, the sizes, and the text after it.
_DESCRIPTOR = re.compile(r"(tensordesc(?:_im2col)?<[^\[\]<>]{1,40}\[)([\d, ]{0,100})(\].{0,200})")
# The value of a global that is a tl.constexpr.
_CONSTEXPR = re.compile(r"constexpr\[(.*)\]", re.DOTALL)
_MISSING = "nothing"
_MAX_VALUE_LENGTH = 60


@frozen
class ChangedInput:
    """An input that differs. `a` and `b` are its values as text, None if a side does not have the input.

    The value of a source is the start of its sha256. `components` are the components of Triton's cache
    key that differ because of it, `following` the inputs that differ only because of it. If it is a
    layout or another object, `parameters` are those in which the two differ: name, A's value, B's value.
    """

    input: CacheKeyInput
    a: str | None
    b: str | None
    components: tuple[str, ...] = ()
    following: tuple[CacheKeyInput, ...] = ()
    parameters: tuple[tuple[str, str, str], ...] = ()

    @property
    def text(self) -> str:
        """Return the change in one line: "argument n: i32 divisible by 16 -> i32", "num_warps: 4 -> 8"."""
        kind, name = self.input.kind, self.input.name
        if kind in ("source", "helper"):
            return f"{input_text(self.input)} {_changed(self)}"
        if kind == "line":
            return f"first line of {name}: {self.a or _MISSING} -> {self.b or _MISSING} (Triton's key has it)"
        changes = ", ".join(f"{name} {a} -> {b}".lstrip() for name, a, b in value_changes(self))
        names = following_names(self)
        following = f" (and with it {names})" if names else ""
        return f"{input_text(self.input)}: {changes}{following}"


@frozen
class Recompilation:
    """Why B was compiled separately from A.

    `reasons` are the inputs of the compilation that differ. `whole`: both have Triton's whole cache key; if
    not, `unknown` lists the inputs that were not compared.
    """

    reasons: tuple[ChangedInput, ...]
    whole: bool
    unknown: tuple[str, ...] = ()


def recompilation(a: Variant, b: Variant) -> Recompilation:
    """Every input in which two variants differ, in the order of KINDS."""
    whole = has_key(a) and has_key(b)
    ours, theirs = cache_key_inputs(a, whole), cache_key_inputs(b, whole)
    if not (environment_known(a) and environment_known(b)):
        ours, theirs = _without_environment(ours), _without_environment(theirs)
    differing = [name for name in (ours | theirs) if ours.get(name) != theirs.get(name)]
    # Without a counterpart, the function itself is the difference, not its first line.
    differing = [name for name in differing if name.kind != "line" or (name in ours and name in theirs)]
    if whole and a.cache_key["source"] == b.cache_key["source"]:
        # The key lacks some lines, for example of a function that is the value of a constant.
        differing = [name for name in differing if name.kind not in ("source", "line")]
    following = _following(differing, a, b, frozenset(ours.keys() & theirs.keys()))
    for cause, names in _tuned_shapes(differing, ours, theirs).items():
        following.setdefault(cause, []).extend(names)
    followers = {name for names in following.values() for name in names}
    reasons = [
        ChangedInput(
            name,
            ours.get(name),
            theirs.get(name),
            following=tuple(sorted(following.get(name, ()))),
            parameters=_changed_parameters(name, a, b),
        )
        for name in sorted(differing, key=lambda name: KINDS.index(name.kind))
        if name not in followers
    ]
    if not whole:
        return Recompilation(tuple(reasons), False, tuple(_not_compared(a, b)))
    return Recompilation(tuple(_explained(reasons, a, b)), True)


def _changed_parameters(name: CacheKeyInput, a: Variant, b: Variant) -> tuple[tuple[str, str, str], ...]:
    if name.kind != "constexpr":
        return ()
    ours, theirs = (constexpr_values(variant).get(name.name) for variant in (a, b))
    return tuple(changed_parameters(ours, theirs))


def _without_environment(values: dict[CacheKeyInput, str]) -> dict[CacheKeyInput, str]:
    return {name: value for name, value in values.items() if name.kind != "environment"}


def remedies(why: Recompilation, a: Variant, b: Variant) -> list[str]:
    """How to avoid a compilation that produced identical code: a sentence per reason."""
    kernel = f"@triton.jit(do_not_specialize=[{{!r}}]) on {b.kernel.name}"
    found = []
    for reason in why.reasons:
        kind, name = reason.input.kind, reason.input.name
        configured = any(name == known for variant in (a, b) for known, _ in variant.config.values)
        if kind == "argument" and _is_specialization(reason):
            found.append(f"{kernel.format(name)}: one compilation serves every value of {name}")
        elif kind == "environment":
            values = [value_text(reason.input, value) for value in (reason.a, reason.b)]
            found.append(f"set {name} to one value in every run: {values[0]} and {values[1]} compile alike")
        elif configured and kind in ("constexpr", "option"):
            # A config may set a constexpr that the kernel's caller computes otherwise.
            caller = f", or pass {name} at run time if callers set it" if kind == "constexpr" else ""
            found.append(f"drop {name}={reason.a} or {reason.b}{caller}; both compile to the same program")
        elif kind == "constexpr":
            found.append(
                f"pass {name} at run time instead of as tl.constexpr, unless the kernel needs a constant: "
                "its value did not change the program"
            )
    return found


def _is_specialization(reason: ChangedInput) -> bool:
    """Whether two values of an argument differ only in what the JIT knew about the value, not in type."""
    types = {text.partition(" ")[0] for text in (reason.a, reason.b) if text is not None and text != "1"}
    return None not in (reason.a, reason.b) and len(types) == 1 and "None" not in types


def _following(
    differing: Iterable[CacheKeyInput], a: Variant, b: Variant, both: frozenset[CacheKeyInput]
) -> dict[CacheKeyInput, list[CacheKeyInput]]:
    """Return the inputs that differ only because the target or the compiler does, by that input."""
    target, compiler = CacheKeyInput("target"), CacheKeyInput("triton")
    following: dict[CacheKeyInput, list[CacheKeyInput]] = {target: [], compiler: []}
    variables = {
        VARIABLE_OPTIONS[name.name]: name
        for name in differing
        if name.kind == "environment" and name.name in VARIABLE_OPTIONS
    }
    vendors = a.target.backend != b.target.backend
    by_hand = {name for variant in (a, b) for name, _ in variant.config.values}
    for name in differing:
        free = name.kind == "option" and name.name not in by_hand
        set_by_backend = name.kind == "backend" or (free and name.name in _TARGET_OPTIONS)
        if target in differing and (set_by_backend or (free and vendors)):
            following[target].append(name)
        elif compiler in differing and (set_by_backend or (free and name not in both)):
            following[compiler].append(name)
        elif free and name.name in variables:
            following.setdefault(variables[name.name], []).append(name)
    return following


def _tuned_shapes(
    differing: Iterable[CacheKeyInput], ours: Mapping[CacheKeyInput, str], theirs: Mapping[CacheKeyInput, str]
) -> dict[CacheKeyInput, list[CacheKeyInput]]:
    """Tensor descriptors of which only block sizes differ, exactly as constexprs do, by the first of these.

    BLOCK_M: 64 -> 128, a: tensordesc<fp16[64, 32]> -> tensordesc<fp16[128, 32]>
    """
    both = [name for name in differing if name in ours and name in theirs]
    causes = {(ours[name], theirs[name]): name for name in reversed(both) if name.kind == "constexpr"}
    found: dict[CacheKeyInput, list[CacheKeyInput]] = {}
    for name in both:
        sizes = _changed_sizes(ours[name], theirs[name]) if name.kind == "argument" else []
        if sizes and all(pair in causes for pair in sizes):
            found.setdefault(causes[sizes[0]], []).append(name)
    return found


def _changed_sizes(a: str, b: str) -> list[tuple[str, str]]:
    """Return the block sizes in which two types of descriptors differ; none if they differ in more."""
    ours, theirs = _DESCRIPTOR.fullmatch(a), _DESCRIPTOR.fullmatch(b)
    if ours is None or theirs is None or (ours[1], ours[3]) != (theirs[1], theirs[3]):
        return []
    sizes, others = ours[2].split(", "), theirs[2].split(", ")
    if len(sizes) != len(others):
        return []
    return [pair for pair in zip(sizes, others, strict=True) if pair[0] != pair[1]]


def _explained(reasons: Iterable[ChangedInput], a: Variant, b: Variant) -> Iterator[ChangedInput]:
    """`reasons` with the components that each explains, and one more reason per unexplained component."""
    names = a.cache_key.keys() | b.cache_key.keys()
    unexplained = changed = {name for name in names if a.cache_key.get(name) != b.cache_key.get(name)}
    for reason in reasons:
        own = {
            component
            for component in changed
            if any(_is_part_of(name, component) for name in (reason.input, *reason.following))
        }
        unexplained = unexplained - own
        yield replace(reason, components=tuple(sorted(own)))
    for name in sorted(unexplained):
        yield ChangedInput(
            CacheKeyInput("component", name), a.cache_key.get(name), b.cache_key.get(name), (name,)
        )


def _is_part_of(name: CacheKeyInput, component: str) -> bool:
    """Whether this input is part of that component of the key."""
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
    environment = "" if environment_known(a) and environment_known(b) else "environment variables, "
    yield f"options that no config sets, globals, {environment}and the build of the compiler"
    if not (a.kernel.source.text and b.kernel.source.text):
        yield "the kernel's source, and therefore which arguments the JIT made constants (equal to 1, None)"


def verdict(a: Variant, b: Variant, identical: bool) -> str:
    """Whether compiling `b` in addition to `a` was worth it; `identical`: they are duplicates."""
    if identical:
        return "No: the machine code is identical, so the second compilation was redundant"
    if a.failure or b.failure:
        return "Unknown: one of the two failed, so there is no machine code to compare"
    if not all(backend_of(variant.target).binary in variant.artifacts for variant in (a, b)):
        return "Unknown: the capture does not have the machine code of both"
    if a.target != b.target:
        return "Yes: the targets differ, so the programs differ"
    return "Yes: the programs differ"


def input_text(name: CacheKeyInput) -> str:
    """Return the name of an input in a sentence."""
    words = {
        "triton": "compiler: triton",
        "backend": "assembler",
        "source": "source of the kernel",
        "helper": f"source of the helper {name.name}",
        "line": f"first line of {name.name}",
        "option": _option_text(name.name),
        "range": "length of tl.arange",
        "hash": "Triton's hash of what an import lacks",
        "environment": f"environment variable {name.name}",
        "constexpr": f"constexpr {name.name}",
        "component": f"component '{name.name}' of the key",
    }
    return words.get(name.kind, f"{name.kind} {name.name}".rstrip())


def _option_text(name: str) -> str:
    """Return the name of an option, after the environment variable that sets it, if there is one."""
    variable, _ = OPTION_VARIABLES.get(name, ("", ""))
    return f"environment variable {variable} ({name})" if variable else name


def value_text(name: CacheKeyInput, value: str | None) -> str:
    """Return a value of an input, shortened to fit on a line."""
    if value is None:
        return "unset" if name.kind in ("environment", "option") else _MISSING
    if name.kind == "backend" and (match := re.search(r"release [^\n]*", value)):
        return match[0]
    if name.kind == "argument" and value in ("1", "None"):
        return "equal to 1, a constant" if value == "1" else "None, a constant"
    if name.kind == "option" and value in OPTION_VARIABLES.get(name.name, ())[1:]:
        return "unset"
    if not value and name.kind in ("environment", "option"):
        return "empty"
    if name.kind == "environment":
        value = variable_value(value)
    if name.kind == "global" and (match := _CONSTEXPR.fullmatch(value)):
        value = match[1]
    return value if len(value) <= _MAX_VALUE_LENGTH else f"{value[:_MAX_VALUE_LENGTH]}..."


def key_sentence(why: Recompilation, number: int) -> str:
    """How much of the key differs; `number` is the number of its components.

    A component can have several inputs (the attributes of all arguments), and an input several components.
    """
    differing = len({component for reason in why.reasons for component in reason.components})
    inputs = len(why.reasons)
    if why.whole:
        verb = "differs" if inputs == 1 else "differ"
        components = f"{differing} of the {number} components of Triton's cache key"
        equal = inputs == differing
        return f"{components} {verb}" if equal else f"{pluralize(inputs, 'input')} {verb}, in {components}"
    return "the capture does not have Triton's cache key; based on the inputs that it does have"


def value_changes(reason: ChangedInput) -> tuple[tuple[str, str, str], ...]:
    """Return (parameter, A's value, B's value) of an input; without parameters, ("", ...) for the whole."""
    if reason.parameters:
        return reason.parameters
    a, b = value_text(reason.input, reason.a), value_text(reason.input, reason.b)
    if a == b and reason.a is not None and reason.b is not None:
        # The texts differ only after the cut.
        a, b = _around_difference(reason.a, reason.b)
    return (("", a, b),)


def _around_difference(a: str, b: str) -> tuple[str, str]:
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, start - 10)
    return f"...{a[start : start + _MAX_VALUE_LENGTH]}", f"...{b[start : start + _MAX_VALUE_LENGTH]}"


def _changed(reason: ChangedInput) -> str:
    if reason.a is None:
        return "is new: A does not call it"
    return "is gone: B does not call it" if reason.b is None else "changed"


def following_names(reason: ChangedInput) -> str:
    """Return the names of the inputs that follow from one, `num_stages, maxnreg`; "" if none does."""
    return ", ".join(name.name or "assembler" for name in reason.following)
