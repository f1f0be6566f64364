"""Which of a target's units and techniques a variant uses: less of them is worse, whatever it saves.

A loop that is no longer pipelined needs less shared memory and fewer registers: by these facts alone, that
would be "only better".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irscope.facts.fact import FactKind, Facts, FactValue, value_of
from irscope.facts.registry import ASYNC_COPIES, MATRIX, PIPELINE_DEPTH, WARP_SPECIALIZATION
from irscope.model.records import frozen

_NONE = "none"
# How much of a block's work one matrix instruction does: that of a block, of four warps, of one warp.
_MATRIX_LEVELS = (("tcgen05", 3), ("wgmma", 2))


@frozen
class HardwareUse:
    """A fact whose text says whether a variant uses a unit or a technique, and how important that is.

    `levels` maps a value to a number per independent use, such as loads and stores; 0 means not used.
    """

    kind: FactKind
    weight: float
    levels: Callable[[FactValue], tuple[int, ...]]


def hardware_use_changes(facts_a: Facts, facts_b: Facts) -> Iterator[tuple[HardwareUse, bool]]:
    """Yield what B uses less or more of than A, with True if it lost something."""
    for use in _USES:
        a, b = value_of(facts_a, use.kind), value_of(facts_b, use.kind)
        if a is None or b is None or a == b:
            continue
        levels_a, levels_b = use.levels(a), use.levels(b)
        if any(after < before for before, after in zip(levels_a, levels_b, strict=True)):
            yield use, True
        elif levels_a != levels_b:
            yield use, False


def _names(value: FactValue) -> list[str]:
    """Return the names in `8 x wgmma.m64n128k16, 2 x mma.sync.m16n8k16`."""
    text = str(value)
    return [] if text == _NONE else [count.partition(" x ")[2] or count for count in text.split(", ")]


def _matrix_levels(value: FactValue) -> tuple[int, ...]:
    return (max(map(_matrix_level, _names(value)), default=0),)


def _matrix_level(name: str) -> int:
    return next((level for family, level in _MATRIX_LEVELS if name.startswith(family)), 1)


def _copy_levels(value: FactValue) -> tuple[int, ...]:
    """Return the level of loads and of stores: 2 for the TMA unit, 1 for copies by threads, 0 for none."""
    names = [name for name in _names(value) if "prefetch" not in name and not name.startswith("tcgen05")]
    stores = [name for name in names if "store" in name]
    loads = [name for name in names if "store" not in name]
    return _copy_level(loads), _copy_level(stores)


def _copy_level(names: list[str]) -> int:
    return max((2 if "bulk" in name or name.startswith("tensor_") else 1 for name in names), default=0)


def _pipeline_levels(value: FactValue) -> tuple[int, ...]:
    return (int(isinstance(value, int | float) and value > 1),)


def _specialization_levels(value: FactValue) -> tuple[int, ...]:
    return (int(value != _NONE),)


_USES = (
    HardwareUse(MATRIX, 200.0, _matrix_levels),
    HardwareUse(WARP_SPECIALIZATION, 60.0, _specialization_levels),
    HardwareUse(PIPELINE_DEPTH, 50.0, _pipeline_levels),
    HardwareUse(ASYNC_COPIES, 40.0, _copy_levels),
)
