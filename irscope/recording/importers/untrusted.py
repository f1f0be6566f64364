"""Reads untrusted files: regular files of bounded size, without following links, and JSON objects."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from irscope.store.encoding import loads

# Stages stay below 200 MB; metadata takes about 2 kB, an irscope.json with its ptxas log seldom 100 kB.
MAX_STAGE_BYTES = 256 << 20
MAX_JSON_BYTES = 16 << 20
# A mangled kernel name has hundreds of characters; a file system allows 255 in a file name.
MAX_NAME = 4096


class BadEntryError(Exception):
    """An entry that cannot be imported, with the reason in a few words. The other entries still can."""


def read_file(path: Path, limit: int, follow_links: bool = False) -> bytes:
    """Read a regular file of at most `limit` bytes. Raises BadEntryError otherwise."""
    # A named pipe would block, and a link may lead anywhere.
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise BadEntryError(f"{path.name} is not a regular file")
            content = file.read(min(state.st_size, limit) + 1)
    except OSError as error:
        raise BadEntryError(f"{path.name} cannot be read: {error.strerror}") from error
    if len(content) > limit:
        raise BadEntryError(f"{path.name} exceeds {limit:,} bytes")
    return content


def parse_object(content: bytes | str, what: str) -> dict[str, Any]:
    """Parse the JSON object in `content`.

    Raises BadEntryError, which calls the content `what`, if it is not one.
    """
    try:
        value = loads(content if isinstance(content, str) else content.decode())
    except (ValueError, RecursionError) as error:
        raise BadEntryError(f"{what} is not JSON") from error
    if not isinstance(value, dict):
        raise BadEntryError(f"{what} is not a JSON object")
    return value


def clean(text: str) -> str:
    """`text` as valid UTF-8. Raises BadEntryError if it is too long for a name."""
    if len(text) > MAX_NAME:
        raise BadEntryError(f"a name has {len(text):,} characters")
    return text.encode("utf-8", "replace").decode()
