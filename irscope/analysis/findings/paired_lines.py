"""Pairs the accesses of A's lines that B does not have with those of B's new lines: the same work, elsewhere.

    A, line 9:  b = tl.load(y + offs, mask=m)        B, line 8:  b = fetch(y, offs, n)

Counted line by line, 8 loads of y would have disappeared and 8 others appeared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from irscope.analysis.instruction_mix import InstructionMix, KernelPlace
from irscope.analysis.vectorization import MemoryUse

Key = tuple[str, KernelPlace]
Mixes = Mapping[Key, InstructionMix]


def paired_lines(a: Mixes, b: Mixes, use_a: MemoryUse, use_b: MemoryUse) -> tuple[Mixes, MemoryUse]:
    """Return A's instructions and memory use with its removed lines as the lines of B that do the same.

    Lines correspond if they have instructions of one kind, access the same arguments, and each side has
    equally many of them. Without arguments, only lines that B does not have are the same work elsewhere; with
    them, those of the other branch of a condition are too.
    """
    gone = _by_work((key for key in a if key not in b and _can_move(key, use_a)), use_a)
    new = _by_work((key for key in b if key not in a and key[1] is not None), use_b)
    keys: dict[Key, Key] = {}
    for work, own in gone.items():
        others = new.get(work, [])
        if len(own) == len(others):
            keys.update(zip(own, others, strict=True))
    if not keys:
        return a, use_a
    moved = {keys.get(key, key): mix for key, mix in a.items()}
    pointers = {keys.get(key, key): text for key, text in use_a.pointers.items()}
    narrow = {keys.get(key, key): text for key, text in use_a.narrow.items()}
    return moved, MemoryUse(pointers, narrow)


def _can_move(key: Key, use: MemoryUse) -> bool:
    return key[1] is not None and (key[1].removed or bool(use.pointers.get(key)))


def _line(key: Key) -> tuple[str, int]:
    return (key[1].file, key[1].line) if key[1] else ("", 0)


def _by_work(keys: Iterable[Key], use: MemoryUse) -> dict[tuple[str, str], list[Key]]:
    """Return the keys by kind and pointers, in the order of their lines."""
    found: dict[tuple[str, str], list[Key]] = {}
    for key in sorted(keys, key=_line):
        found.setdefault((key[0], use.pointers.get(key, "")), []).append(key)
    return found
