"""Names from a capture as parts of file paths: readable if harmless, and never outside of a folder."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

# Everything but ASCII letters, digits and the punctuation of configs, which are kept.
_UNSAFE = re.compile(r"[^A-Za-z0-9_.,=+@#()\[\]-]|^[.-]|\.$")
# File systems allow 255 bytes per part; this leaves room for an extension and a number.
MAX_BYTES = 150
_HASH_DIGITS = 8
# Names that Windows reserves for devices, with any extension, and the name of the dump's own index.
_RESERVED = re.compile(r"(?i:(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)|index\.json$)")


def path_part(text: str) -> str:
    """`text` as one part of a path: no separator, no control character, no "..", at most MAX_BYTES.

    A changed name keeps its readable characters and gets a short hash, so different names stay different.
    """
    part = _UNSAFE.sub("_", unicodedata.normalize("NFC", text))
    if part == text and 0 < len(part) <= MAX_BYTES and not _RESERVED.match(part):
        return part
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    lead = "_" if _RESERVED.match(part) else ""
    return f"{lead}{part[: MAX_BYTES - _HASH_DIGITS - 2]}~{digest}"


def unique_paths(paths: Iterable[tuple[int, str]]) -> dict[int, str]:
    """(number, path) pairs as number -> path, unique on a file system that ignores case.

    The first keeps its path, later ones get their number: `a`, `A,#7`.
    """
    taken: set[str] = set()
    result: dict[int, str] = {}
    for number, path in paths:
        unique = path
        while unique.casefold() in taken:
            unique += f",#{number}"
        taken.add(unique.casefold())
        result[number] = unique
    return result
