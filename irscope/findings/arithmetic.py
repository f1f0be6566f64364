"""Findings about how precisely the machine computes: approximations, subnormal numbers, fused products.

    Math instructions: 8 x ex2.approx.f32 -> 8 x ex2.approx.ftz.f32; B flushes subnormal numbers to zero
    Products and sums: A fuses them (16 x fma.rn.f32), B rounds each product (0 x fma, 16 x mul.f32)

The results of the two variants differ in their last bits, or in more.

Findings about inline assembly that is missing from the machine code of one side.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain

from irscope.diff.def_use import definitions
from irscope.facts.instruction_mix import (
    OPCODE,
    KernelPlace,
    lost_assembly,
    lost_text,
    place_subject,
    place_text,
)
from irscope.facts.source.map import kernel_place
from irscope.findings.finding import (
    EvidencePair,
    Finding,
    FindingCause,
    PairContext,
    Severity,
    Side,
    ValueChange,
    evidence_pair,
)
from irscope.languages.document import Document
from irscope.targets import backend_of

# An instruction that Triton or its library uses for a function of one float, and its modifiers.
_FUNCTION = re.compile(r"(ex2|lg2|sin|cos|tanh|rcp|sqrt|rsqrt|div)\.[\w.]*\b(?:f|bf)(?:16|32|64)(?:x2)?")
_FLOAT = re.compile(r"(?:v_(?:pk_)?)?(fma|fmac|mac|mad|mul)[._][\w.]*(?:f|bf)(?:16|32|64)(?:x2)?(?:_e\d+)?")
_FUSED = ("fma", "fmac", "mac", "mad")
_APPROXIMATING = {"approx", "full"}
_SUM = re.compile(r"arith\.(?:add|sub)f")
# Operations of TTIR and TTGIR whose result has the elements of their operand.
_VIEWS = ("tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "ttg.convert_layout")
# Operations whose region combines elements of their operands.
_COMBINING = ("tt.reduce", "tt.scan")
# Below an edit of what is computed, which may be the cause.
_WEIGHT = Severity.MATRIX_PATH.weight()

# Opcodes of a family with the lines that have them.
_Lines = Mapping[str, list[int]]


def arithmetic(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each function that other instructions compute, and one for fused products."""
    diff = pair.assembly
    if diff is None or diff.equal:
        return
    left, right = _functions(diff.left), _functions(diff.right)
    for family in sorted(left.keys() & right.keys()):
        a, b = left[family], right[family]
        if a.keys() != b.keys():
            yield Finding(
                "Math instructions",
                _WEIGHT,
                "math",
                *_evidence(diff.stage, a, b),
                subject=family,
                changes=(ValueChange(_text(a), _text(b)),),
                causes=(*_meaning("A", a, b), *_meaning("B", b, a)),
            )
    # Only sums of products can be fused: both sides must have as many.
    ir = pair.diffs.get("ttir") or pair.diffs.get("ttgir")
    if ir is not None and 0 < _sums_of_products(ir.left) == _sums_of_products(ir.right):
        ours, theirs = ("A", *_products(diff.left)), ("B", *_products(diff.right))
        yield from _fusion(diff.stage, ours, theirs)
        yield from _fusion(diff.stage, theirs, ours)


def _sums_of_products(document: Document) -> int:
    """Return how many operations add or subtract a product: `x * y + z`, `tl.sum(x * y)`."""
    operations, sources = document.operations, definitions(document)
    products: set[int] = set()
    sums = 0
    for index, operation in enumerate(operations):
        adds_product = any(source and source.owner in products for source in sources[index])
        if operation.opcode == "arith.mulf" or (operation.opcode in _VIEWS and adds_product):
            products.add(index)
        elif _SUM.fullmatch(operation.opcode):
            parent = operation.parent
            combined = sources[parent] if operations[parent].opcode in _COMBINING else ()
            sums += adds_product or any(source and source.owner in products for source in combined)
    return sums


# The letter of a side, its fused products and the others.
_Products = tuple[str, _Lines, _Lines]


def _fusion(stage: str, fusing: _Products, rounding: _Products) -> Iterator[Finding]:
    """Yield the finding if one side fuses products and sums, and the other only multiplies more."""
    (x, fused, other), (y, unfused, products) = fusing, rounding
    if fused and not unfused and _total(products) > _total(other):
        text = f"{x} fuses them ({_text(fused)}), {y} rounds each product first ({_text(products)})"
        lines = (fused, products) if x == "A" else (products, fused)
        evidence = _evidence(stage, *lines)
        yield Finding("Products and sums", _WEIGHT, "math", *evidence, subject="fma", changes=(text,))


def _functions(document: Document) -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for operation in document.operations:
        if match := _FUNCTION.fullmatch(operation.opcode):
            found[match[1]].setdefault(operation.opcode, []).append(operation.line)
    return found


def _products(document: Document) -> tuple[_Lines, _Lines]:
    """Return the fused products of floats and the others."""
    found: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
    for operation in document.operations:
        if match := _FLOAT.fullmatch(operation.opcode):
            kind = found[0] if match[1] in _FUSED else found[1]
            kind.setdefault(operation.opcode, []).append(operation.line)
    return found


def _text(lines: _Lines) -> str:
    return ", ".join(f"{len(found):,} x {opcode}" for opcode, found in sorted(lines.items()))


def _total(lines: _Lines) -> int:
    return sum(map(len, lines.values()))


def _meaning(side: str, lines: _Lines, other: _Lines) -> Iterator[FindingCause]:
    """Yield what the modifiers of only one side do."""
    modifiers, other_modifiers = _modifiers(lines), _modifiers(other)
    if "ftz" in modifiers - other_modifiers:
        yield FindingCause("flushes", (side,))
    if modifiers & _APPROXIMATING and not other_modifiers & _APPROXIMATING:
        yield FindingCause("approximates", (side,))


def _modifiers(lines: _Lines) -> set[str]:
    return {modifier for opcode in lines for modifier in opcode.split(".")[1:]}


def _evidence(stage: str, a: _Lines, b: _Lines) -> EvidencePair:
    return evidence_pair(stage, chain.from_iterable(a.values()), chain.from_iterable(b.values()))


def inline_assembly(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each side and line whose inline assembly the compiler lost."""
    if "ttir" in pair.diffs and "llir" in pair.diffs:
        for side in pair.sides:
            yield from _lost_assembly(pair, side)


def _lost_assembly(pair: PairContext, side: Side) -> Iterator[Finding]:
    ttir, assembly = side.document("ttir"), side.document(backend_of(pair.b.target).assembly)
    if ttir is None or not any(operation.opcode == OPCODE for operation in ttir.operations):
        return
    llir = side.document("llir")  # its diff takes long, so it is made only for such kernels
    reported: set[tuple[KernelPlace, str]] = set()
    for lost in lost_assembly(
        side.variant, ttir, llir.text if llir else "", assembly.text if assembly else None
    ):
        place = kernel_place(lost.operation.location)
        if (place, lost.instruction) in reported:
            continue
        reported.add((place, lost.instruction))
        lines = [[lost.operation.line] if side.letter == letter else [] for letter in "AB"]
        yield Finding(
            f"{side.letter} loses the inline assembly {place_text(place, pair.kernel_with(place))}",
            Severity.FAILURE.weight(),
            "inline assembly",
            *evidence_pair("ttir", *lines),
            subject=place_subject(place),
            changes=(lost_text(lost, side.variant),),
        )
