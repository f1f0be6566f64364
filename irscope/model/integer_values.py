"""The integers in a launch's small tensors, such as ids and lengths: they decide what its programs do.

A capture has them as text, `int32 9216 eJzt...`: the type, the number of elements, and the differences of
neighbors, compressed by zlib, in base64. The elements are those of the tensor's memory, first to last.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
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


def encoded_integers(type_: str, values: Sequence[int] | NDArray[Any]) -> str:
    """Return the values of a tensor as text; "" if they are too many, or of a type that is not kept."""
    import numpy as np

    numbers = np.asarray(values, np.int64).ravel()
    if not 0 < numbers.size * INTEGER_TYPES.get(type_, MOST_BYTES) <= MOST_BYTES:
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
