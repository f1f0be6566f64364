"""Recounts the finding about the instruction that multiplies matrices, from the text of TTIR and assembly."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.truth.recount import Side

Check = tuple[str, str]

# How the assembly shows each instruction, and the operation of TTGIR that becomes it.
_OPCODES = {
    "wgmma": r"\bwgmma\.mma_async\b",
    "mma.sync": r"(?<!w)(?<!g)\bmma\.sync\b",
    "tcgen05": r"\btcgen05\.mma\b",
    "MFMA": r"\bv_mfma_|\bv_smfmac_",
    "WMMA": r"\bv_s?wmma",
}
_SHAPES = {"wgmma": r"wgmma\.mma_async\S*\.{}\.", "MFMA": r"v_mfma_\w*?{}", "tcgen05": r""}
_PATH = re.compile(
    r"(?:(?P<products>\d) x )?(?P<scaled>scaled )?(?P<name>wgmma|mma\.sync|tcgen05|MFMA|WMMA|FMA)"
)
_CONDITIONS = {
    "is not a multiple of": lambda number, limit: number % limit != 0,
    "is below": lambda number, limit: number < limit,
}


def matrix_path(text: str, a: Side, b: Side) -> Iterator[Check]:
    """The parts of `tl.dot of line 19 (...): wgmma -> mma.sync, because M = 32 is not a multiple of 64`."""
    what, _, change = text.rpartition("): ") if "): " in text else text.partition(": ")
    yield from _lines(what, b)
    effect, *reasons = re.split(r", because |; in A, |; (?=[AB] converts)", change)
    before, arrow, after = effect.partition(" -> ")
    first, second = _PATH.match(before), _PATH.match(after)
    for side, path in ((a, first), (b, second or first)):
        yield path["name"] if path else effect, _instruction(side)
    if arrow and not second:
        shapes = before.rpartition(" ")[2], after
        for side, shape in zip((a, b), shapes, strict=True):
            yield shape, shape if _has_shape(side, _instruction(side), shape) else "not in the assembly"
    for side, path in ((a, first), (b, second)):
        if path and path["products"]:
            count = len(
                re.findall(r" (?:tt\.dot|ttng\.warp_group_dot|ttng\.tc_gen5_mma) ", side.text("ttgir"))
            )
            yield path["products"], path["products"] if count % int(path["products"]) == 0 else str(count)
    worse = a if "; in A, " in change else b
    for reason in reasons:
        yield from _reason(reason, worse)


def _lines(what: str, b: Side) -> Iterator[Check]:
    """The lines have a product in their Python, if they are in the kernel itself."""
    source = b.source.split("\n")
    for number in re.findall(r"\d+", what.partition(" (")[0]):
        at = int(number) - b.first_line
        if 0 <= at < len(source):
            yield "tl.dot", "tl.dot" if "tl.dot" in "".join(source[at : at + 8]) else source[at]


def _instruction(side: Side) -> str:
    text = "\n".join(side.assembly)
    return next((name for name, opcode in _OPCODES.items() if re.search(opcode, text)), "FMA")


def _has_shape(side: Side, name: str, shape: str) -> bool:
    if name == "tcgen05":
        m, n = re.findall(r"\d+", shape)
        return f"blockM = {m}, blockN = {n}" in side.text("ttgir")
    return re.search(_SHAPES[name].format(re.escape(shape)), "\n".join(side.assembly)) is not None


def _reason(reason: str, side: Side) -> Iterator[Check]:
    """The numbers of a cause are those of the product or the options, and the condition holds."""
    for name, number, condition, limit in re.findall(
        r"(\w+) = ([\d,]+) (is not a multiple of|is below) (\d+)", reason
    ):
        value = int(number.replace(",", ""))
        known = {int(side.metadata.get("num_warps", 0))} if name == "num_warps" else _sizes(side)
        yield number, number if value in known else f"one of {sorted(known)}"
        yield reason, reason if _CONDITIONS[condition](value, int(limit)) else "the condition does not hold"
    for precision in re.findall(r'input_precision="(\w+)"', reason):
        found = re.search(r"tt\.dot .*inputPrecision = (\w+)", side.text("ttir"))
        yield precision, found[1] if found else "ieee"


def _sizes(side: Side) -> set[int]:
    """The sizes of all products of TTIR."""
    dots = re.findall(r"tt\.dot(?:_scaled)? .*", side.text("ttir"))
    return {
        int(size) for dot in dots for shape in re.findall(r"<([\dx]+)x", dot) for size in shape.split("x")
    }
