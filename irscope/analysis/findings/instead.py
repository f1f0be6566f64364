"""The instructions that access memory instead, if one side of a line has no instructions of a kind.

"Shared memory stores: 4 x 16-byte -> none" is true of the threads, but `cp.async` still writes shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from irscope.analysis.instruction_mix import InstructionMix, KernelPlace

Key = tuple[str, KernelPlace]
Mixes = Mapping[Key, InstructionMix]


def instead(key: Key, a: Mixes, b: Mixes) -> str:
    """`; B writes shared memory by cp.async`: how a side without instructions of a kind does the same.

    "" if both sides have such instructions, or if nothing replaces them.
    """
    for side, own, other in (("A", a, b), ("B", b, a)):
        if key not in own and (way := _other_way(key, own, other)):
            return f"; {side} {way}"
    return ""


def _other_way(key: Key, own: Mixes, other: Mixes) -> str:
    kind, place = key
    copies = sorted(copy.name for copy in own.get(("async copy", place), InstructionMix()).counts)
    loads = [name.removesuffix(" load") for name in copies if "store" not in name]
    stores = [name.removesuffix(" store") for name in copies if "store" in name]
    if kind == "global load" and ("scalar load", place) in own:
        return "loads once per wave by s_load"
    if kind == "global load" and loads:
        return f"loads by {loads[0]}"
    if kind == "global store" and stores:
        return f"stores by {stores[0]}"
    if kind == "global store" and _has("global atomic", own) and not _has(kind, own):
        return "writes by atomics only"
    if kind == "shared store" and loads:
        return f"writes shared memory by {loads[0]}"
    direct = _direct(own)
    return (
        f"reads shared memory by {direct}" if kind == "shared load" and direct and not _direct(other) else ""
    )


def _has(kind: str, mixes: Mixes) -> bool:
    return any(own == kind for own, _ in mixes)


def _direct(mixes: Mixes) -> str:
    """The matrix instruction that reads shared memory itself; "" if there is none."""
    names = [own.name for (kind, _), mix in mixes.items() if kind == "matrix" for own in mix.counts]
    return next((name.partition(".")[0] for name in names if name.startswith(("wgmma", "tcgen05"))), "")
