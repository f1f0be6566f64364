"""The integers in a launch's small tensors, such as ids and lengths: they decide what its programs do.

A capture has them as text, `int32 9216 eJzt...`: the type, the number of elements, and the differences of
neighbors, compressed by zlib, in base64. The elements are those of the tensor's memory, first to last.

The functions by which `--launch` makes them: `lengths=values(512, 33, 7)`, `ids=random(4096, 128)`.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The types whose values are kept: 8 bits are quantized data, not places or lengths.
INTEGER_TYPES = {"int16": 2, "int32": 4, "uint32": 4, "int64": 8}
# Bytes of a tensor that are kept, and of its compressed text: packed weights, say, compress little.
MOST_BYTES, _MOST_TEXT = 1 << 18, 1 << 17
_MOST_ELEMENTS = 1 << 17
# Tokens times experts that are routed.
_MOST_SCORES = 1 << 24


def encoded_integers(type_: str, values: Sequence[int] | NDArray[Any]) -> str:
    """Return the values of a tensor as text; "" if they are too many, or of a type that is not kept."""
    import numpy as np

    numbers = np.asarray(values, np.int64).ravel()
    if type_ not in INTEGER_TYPES or not 0 < numbers.size * INTEGER_TYPES[type_] <= MOST_BYTES:
        return ""
    differences = np.diff(numbers, prepend=np.int64(0)).astype("<i8")
    # All lowest bytes come first, then all second ones: most are equal, and compress to nothing.
    planes = np.ascontiguousarray(differences.view(np.uint8).reshape(-1, 8).T)
    text = base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode()
    return f"{type_} {numbers.size} {text}" if len(text) <= _MOST_TEXT else ""


@lru_cache(maxsize=64)
def decoded_integers(text: str) -> NDArray[np.int64] | None:
    """Return the values that `encoded_integers` wrote; None if the text is damaged."""
    import numpy as np

    type_, _, rest = text.partition(" ")
    count, _, data = rest.partition(" ")
    if type_ not in INTEGER_TYPES or not count.isdecimal() or not 0 < int(count[:9]) <= _MOST_ELEMENTS:
        return None
    size = 8 * int(count)
    try:
        planes = zlib.decompressobj().decompress(base64.b64decode(data, validate=True), size + 1)
    except (zlib.error, binascii.Error, ValueError):
        return None
    if len(planes) != size:
        return None
    differences = np.ascontiguousarray(np.frombuffer(planes, np.uint8).reshape(8, -1).T).view("<i8").ravel()
    with np.errstate(over="ignore"):
        values: NDArray[np.int64] = np.cumsum(differences, dtype=np.int64)
    values.flags.writeable = False
    return values


def _random(count: int, limit: int) -> NDArray[np.int64]:
    """Draw `count` integers from 0 to `limit` - 1, the same in every run."""
    import numpy as np

    return np.random.default_rng(0).integers(0, limit, count)


def _starts(*lengths: int) -> NDArray[np.int64]:
    """Return where the sequences of these lengths start, and where the last one ends."""
    import numpy as np

    return np.cumsum([0, *lengths])


def _range(count: int) -> NDArray[np.int64]:
    import numpy as np

    return np.arange(count)


def _values(*values: int) -> Sequence[int]:
    return values


@lru_cache(maxsize=64)
def _routed(tokens: int, experts: int, top: int, block: int) -> tuple[NDArray[np.int64], ...]:
    """Route tokens to experts at random, `top` different ones each; see `moe_slots`."""
    import numpy as np

    scores = np.random.default_rng(0).random((tokens, experts))
    owner = np.argsort(scores, axis=1)[:, :top].ravel()
    counts = np.bincount(owner, minlength=experts)
    blocks = -(-counts // block)
    longest = -(-min(owner.size + experts * (block - 1), owner.size * block) // block) * block
    slots = np.full(longest, owner.size)
    starts = np.repeat((np.cumsum(blocks) - blocks) * block, counts)
    slots[starts + np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)] = np.argsort(
        owner, kind="stable"
    )
    by_block = np.zeros(longest // block, np.int64)
    by_block[: blocks.sum()] = np.repeat(np.arange(experts), blocks)
    return slots, by_block, np.array([blocks.sum() * block])


def _moe_slots(tokens: int, experts: int, top: int, block: int) -> NDArray[np.int64]:
    """Sort the slots of a mixture of experts, `top` of each token, by expert.

    Those of each expert are padded to whole blocks, by the number of slots. The list is as long as
    the worst routing needs.
    """
    return _routed(tokens, experts, top, block)[0]


def _moe_experts(tokens: int, experts: int, top: int, block: int) -> NDArray[np.int64]:
    """Return the expert of each block of slots."""
    return _routed(tokens, experts, top, block)[1]


def _moe_padded(tokens: int, experts: int, top: int, block: int) -> NDArray[np.int64]:
    """Return the number of slots with their padding."""
    return _routed(tokens, experts, top, block)[2]


# The functions that make the integers of a tensor, with how many integers they take (None: any).
MAKERS: Mapping[str, tuple[Callable[..., Any], int | None]] = {
    "values": (_values, None), "range": (_range, 1), "random": (_random, 2), "starts": (_starts, None),
    "moe_slots": (_moe_slots, 4), "moe_experts": (_moe_experts, 4), "moe_padded": (_moe_padded, 4),
}  # fmt: skip


def made_integers(maker: str, arguments: Sequence[int]) -> NDArray[np.int64]:
    """Return the integers that a function of MAKERS makes.

    Raises ValueError, with the reason, for arguments that it does not take, or too many integers.
    """
    import numpy as np

    function, count = MAKERS[maker]
    if not arguments or (count is not None and len(arguments) != count):
        raise ValueError(f"{maker} takes {count or 'some'} integers, not {len(arguments)}")
    if maker not in ("values", "starts") and min(arguments) < 1:
        raise ValueError(f"{maker} takes integers above 0")
    if maker in ("range", "random") and arguments[0] > _MOST_ELEMENTS:
        raise ValueError(f"{maker} makes at most {_MOST_ELEMENTS:,} integers")
    if maker.startswith("moe"):
        tokens, experts, top, block = arguments
        if top > experts or tokens * experts > _MOST_SCORES or tokens * top * block > _MOST_SCORES * 8:
            raise ValueError(f"{maker}: too many tokens, experts or slots")
    return np.asarray(function(*arguments), np.int64)
