"""What element-wise operations are: their names, the rules of constants, and the ring of integers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from irscope.interpreting.bits import hashes
from irscope.interpreting.bits.hashed import HashNote
from irscope.interpreting.bits.hashes import INFINITY, MINUS_INFINITY, NAN, ONE, ZERO, Hashes
from irscope.interpreting.runtime_values import Array
from irscope.interpreting.stage_program import Op, Type

EXTREMES = {
    "maxnumf": ("maximum", MINUS_INFINITY),
    "maximumf": ("maximum with NaN", MINUS_INFINITY),
    "minnumf": ("minimum", INFINITY),
    "minimumf": ("minimum with NaN", INFINITY),
}
# Operations on integers whose order changes nothing.
ORDERLESS = ("addi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori")
INTEGER_REDUCTIONS: dict[str, Callable[[Array, int], Array]] = {
    "addi": lambda data, axis: data.sum(axis),
    "maxsi": lambda data, axis: data.max(axis),
    "minsi": lambda data, axis: data.min(axis),
    "andi": np.bitwise_and.reduce,
    "ori": np.bitwise_or.reduce,
    "xori": np.bitwise_xor.reduce,
}
# What a reduction by one operation does.
VERBS = {"addf": "adds", "mulf": "multiplies"}
# Operations of which compilers have several, and what a user calls the choice.
KINDS = {
    "divf": "approximation",
    "precise_divf": "approximation",
    "approx_divf": "approximation",
    "sqrt": "approximation",
    "precise_sqrt": "approximation",
    "rsqrt": "approximation",
    "exp": "approximation",
    "exp2": "approximation",
    "log": "approximation",
    "log2": "approximation",
    "extern_elementwise": "approximation",
    "elementwise_inline_asm": "approximation",
    "truncf": "cast",
    "fp_to_fp": "cast",
}
LOADS, RANDOM = "loads", "draws random numbers"
# What operations do, as the author of a kernel would say.
_WORDS = {
    "addf": "adds",
    "subf": "subtracts",
    "mulf": "multiplies",
    "negf": "negates",
    "divf": "divides",
    "approx_divf": "divides approximately",
    "precise_divf": "divides, rounded to nearest,",
    "precise_sqrt": "computes sqrt, rounded to nearest,",
    "maxnumf": "takes the maximum",
    "minnumf": "takes the minimum",
    "maximumf": "takes the maximum, NaN if one is",
    "minimumf": "takes the minimum, NaN if one is",
    "fma": "fuses a * b + c",
    "select": "selects",
    "dot": "multiplies matrices",
    "warp_group_dot": "multiplies matrices",
    "reduce": "reduces",
    "scan": "scans",
    "truncf": "rounds",
    "fp_to_fp": "rounds",
}
_ROUNDINGS = {"rtz": "toward zero (rtz)", "rtne": "to nearest (rtne)"}
_FLOAT_BITS = re.compile(r"[a-z]+(\d+)")
# Attributes that passes leave behind, such as the partition that an operation belongs to.
_PASS_ATTRIBUTE = re.compile(r"\b(?:async_task_id|\w+\.[\w.]+) = (?:array<[^>]*>|[^,}]+)(?:, )?")


def in_shape(data: Array, type_: Type) -> Array:
    """Return the result of a reduction; one element, or all of them."""
    return data.reshape((1,) * len(type_.shape)) if data.size == 1 else np.broadcast_to(data, type_.shape)


def unmoved(data: Array) -> Array:
    """Return the elements where they are."""
    return data


def negated(data: Hashes, note: HashNote) -> Hashes:
    """Return the hashes of the negated elements; negating twice gives the same again."""
    if note.plain:
        return ~data
    result = np.where(data == INFINITY, MINUS_INFINITY, ~data)
    result = np.where(data == MINUS_INFINITY, INFINITY, result)
    return np.where(data == NAN, data, result)


def only_operation(step: Op) -> str:
    """Return the operation of a region that does only one: `addf`; "" if it does more."""
    steps = step.regions[0].steps
    return steps[0].opcode.partition(".")[2] if len(steps) == 2 else ""


def is_short(element: str) -> bool:
    """Return True for floats whose products are exact in f32."""
    return element in ("f16", "bf16") or element.startswith("f8")


def widens(step: Op) -> bool:
    """Return True for a conversion to a float type with more bits, which keeps the value."""
    sizes = [_FLOAT_BITS.match(type_.element) for type_ in (*step.operand_types[:1], *step.types[:1])]
    return len(sizes) == 2 and all(sizes) and int(sizes[0][1]) < int(sizes[1][1])  # type: ignore[index]


def operation_name(step: Op) -> str:
    """Return what identifies an element-wise operation: its name, attributes and types, without layouts."""
    if step.opcode in ("tt.elementwise_inline_asm", "tt.extern_elementwise"):
        head = re.sub(r"%[\w$.#-]+", "", step.text.rpartition(" : ")[0])
        return f"{step.opcode} {head} {step.types[0].element}"
    text = _PASS_ATTRIBUTE.sub("", step.text).replace("{}", "")
    head = re.sub(r"%[\w$.#-]+(?:, )?", "", text.partition(" : ")[0]).strip()
    elements = " ".join(type_.element for type_ in (*step.operand_types[:1], *step.types))
    return f"{step.opcode} {head} {elements}"


def verb_of(step: Op) -> str:
    """Return what an operation on floats does: `multiplies`; "" if it only moves data, or for integers."""
    name = step.opcode.partition(".")[2]
    if step.location is not None and step.location.file.endswith("random.py"):
        return RANDOM
    if name in _WORDS or name.endswith("load"):
        return _WORDS.get(name, LOADS)
    symbol = re.search(r'symbol = "([^"]+)"', step.text)
    if symbol:
        return f"computes {symbol[1]} of libdevice"
    if name == "elementwise_inline_asm":
        return f"computes {step.text.partition(chr(34))[2].partition(chr(34))[0]} in inline assembly"
    return f"computes {name}" if step.opcode.startswith("math.") else ""


def kind_of(step: Op) -> str:
    """Return the kind of an operation of which compilers have several; "" for another one."""
    return "product" if "cvt.rna.tf32" in step.text else KINDS.get(step.opcode.partition(".")[2], "")


def way_of(step: Op) -> str:
    """Return what a user sees of an operation that compilers compute in several ways."""
    elements = list(dict.fromkeys(type_.element for type_ in (*step.operand_types[:1], *step.types)))
    verb = verb_of(step)
    if kind_of(step) == "product":
        return "multiplies the rounded factors and what is left of them (tf32x3)"
    if kind_of(step) != "cast":
        return f"{verb} {'of ' if verb.startswith('computes') else ''}{elements[0]}"
    rounding = re.search(r"rounding = (\w+)", step.text)
    how = _ROUNDINGS.get(rounding[1], rounding[1]) if rounding else _ROUNDINGS["rtne"]
    return f"{verb} {' to '.join(elements)}, {how}"


def ring_result(name: str, data: Sequence[Hashes]) -> Hashes | None:
    """Return the result of an operation of the ring of integers; None for any other."""
    if name == "addi":
        return data[0] + data[1]
    if name == "subi":
        return data[0] - data[1]
    if name == "muli":
        return data[0] * data[1]
    if name in ("maxsi", "minsi", "andi", "ori"):
        return hashes.unordered(name, data[0], data[1])
    return None


def extreme(name: str, data: Sequence[Hashes], notes: Sequence[HashNote]) -> Hashes:
    """Return the larger or the smaller elements, which need no order."""
    kind, neutral = EXTREMES[name]
    a, b = data
    result = hashes.unordered(kind, a, b)
    if not notes[0].plain:
        result = np.where(a == neutral, b, result)
    if not notes[1].plain:
        result = np.where(b == neutral, a, result)
    return result


def zero_times(zero: Hashes, other: Hashes) -> Hashes:
    """Return zero times finite numbers; its sign is known only if that of the number is."""
    return np.where((zero == ZERO) & ((other == ZERO) | (other == ONE)), ZERO, hashes.SIGNED_ZERO)


def of_constants(name: str, data: Sequence[Hashes], result: Hashes) -> Hashes:
    """Replace results that are known because an operand is a constant."""
    a = data[0]
    if name in ("exp", "exp2"):
        return np.where(
            a == MINUS_INFINITY, ZERO, np.where(hashes.are_zero(a), ONE, np.where(a == NAN, NAN, result))
        )
    if name in ("divf", "precise_divf"):
        return np.where(data[1] == ONE, a, np.where((a == ZERO) & (data[1] != ZERO), ZERO, result))
    if name in ("sqrt", "precise_sqrt", "absf", "truncf", "fp_to_fp", "tanh", "erf", "sin"):
        keeps = (a == ZERO) | (a == hashes.SIGNED_ZERO) | (a == NAN) | (a == INFINITY)
        if name in ("truncf", "fp_to_fp"):
            keeps |= (a == ONE) | (a == MINUS_INFINITY)
        return np.where(keeps, a, result)
    return result
