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

from irscope.diff.def_use import definitions
from irscope.facts.fact import Evidence
from irscope.facts.instruction_mix import (
    OPCODE,
    KernelPlace,
    LostAssembly,
    lost_assembly,
    lost_text,
    place_subject,
    place_text,
)
from irscope.facts.source.map import kernel_place
from irscope.findings.finding import Finding, PairContext, Severity, ValueChange, assembly_diff
from irscope.languages.document import Document

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
    diff = assembly_diff(pair)
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
                note=_meaning(a, b),
            )
    if _add_as_many_products(pair):
        yield from _fusion(diff.stage, _products(diff.left), _products(diff.right))


def _add_as_many_products(pair: PairContext) -> bool:
    """Check that both sides have the same number of sums of products: only those can be fused."""
    diff = pair.diffs.get("ttir") or pair.diffs.get("ttgir")
    return diff is not None and 0 < _sums_of_products(diff.left) == _sums_of_products(diff.right)


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


def _fusion(stage: str, a: tuple[_Lines, _Lines], b: tuple[_Lines, _Lines]) -> Iterator[Finding]:
    """Yield the finding if one side fuses products and sums, and the other only multiplies more."""
    for (x, fused, other), (y, unfused, products) in (
        (("A", *a), ("B", *b)),
        (("B", *b), ("A", *a)),
    ):
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


def _meaning(a: _Lines, b: _Lines) -> str:
    """Return what the modifiers of only one side do."""
    notes = []
    for side, own, other in (("A", a, b), ("B", b, a)):
        modifiers, others = _modifiers(own), _modifiers(other)
        if "ftz" in modifiers - others:
            notes.append(f"{side} flushes subnormal numbers to zero")
        if modifiers & _APPROXIMATING and not others & _APPROXIMATING:
            notes.append(f"{side} approximates")
    return "".join(f"; {note}" for note in notes)


def _modifiers(lines: _Lines) -> set[str]:
    return {modifier for opcode in lines for modifier in opcode.split(".")[1:]}


def _evidence(stage: str, a: _Lines, b: _Lines) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    left, right = (
        tuple(Evidence(stage, line) for lines in side.values() for line in lines) for side in (a, b)
    )
    return left, right


def inline_assembly(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each side and line whose inline assembly the compiler lost."""
    ttir, assembly = pair.diffs.get("ttir"), assembly_diff(pair)
    if ttir is None or "llir" not in pair.diffs:
        return
    for letter, variant, document, machine in (
        ("A", pair.a, ttir.left, assembly.left if assembly else None),
        ("B", pair.b, ttir.right, assembly.right if assembly else None),
    ):
        if not any(operation.opcode == OPCODE for operation in document.operations):
            continue
        # The diff of LLVM IR takes long, so it is made only for such kernels.
        llir = pair.diffs["llir"]
        llvm_ir = (llir.left if letter == "A" else llir.right).text
        found: dict[tuple[KernelPlace, str], LostAssembly] = {}
        for lost in lost_assembly(variant, document, llvm_ir, machine.text if machine else None):
            found.setdefault((kernel_place(lost.operation.location), lost.instruction), lost)
        for (place, _), lost in found.items():
            kernel = pair.a.kernel if place is not None and place.removed else pair.b.kernel
            evidence = (Evidence("ttir", lost.operation.line),)
            yield Finding(
                f"{letter} loses the inline assembly {place_text(place, kernel)}",
                Severity.FAILURE.weight(),
                "inline assembly",
                evidence if letter == "A" else (),
                evidence if letter == "B" else (),
                subject=place_subject(place),
                changes=(lost_text(lost, variant),),
            )
