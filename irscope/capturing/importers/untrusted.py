"""Reading what others wrote: regular files of bounded size, no links followed, JSON of the expected kind."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

# No stage seen is over 200 MB; metadata takes 2 kB, an irscope.json with its ptxas log seldom 100.
MAX_STAGE_BYTES = 256 << 20
MAX_JSON_BYTES = 16 << 20
# A mangled kernel name has hundreds of characters; a file system takes 255 of them in a file's name.
MAX_NAME = 4096


class BadEntryError(Exception):
    """One entry that cannot be imported, in a few words; the entries beside it can."""


def read_file(path: Path, limit: int, follow_links: bool = False) -> bytes:
    """The content of a regular file of at most `limit` bytes. Raises BadEntryError for any other."""
    # A named pipe would block, and a link may lead anywhere.
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise BadEntryError(f"{path.name} is no regular file")
            content = file.read(min(state.st_size, limit) + 1)
    except OSError as error:
        raise BadEntryError(f"{path.name} cannot be read: {error.strerror}") from error
    if len(content) > limit:
        raise BadEntryError(f"{path.name} is over {limit:,} bytes")
    return content


def parse_object(content: bytes | str, what: str) -> dict[str, Any]:
    """The JSON object in `content`. Raises BadEntryError, calling it `what`, for anything else."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadEntryError(f"{what} is not JSON") from error
    if not isinstance(value, dict):
        raise BadEntryError(f"{what} is no JSON object")
    return value


def clean(text: str) -> str:
    """`text` as UTF-8 can hold it. Raises BadEntryError where it is too long to be a name."""
    if len(text) > MAX_NAME:
        raise BadEntryError(f"a name of {len(text):,} characters")
    return text.encode("utf-8", "replace").decode()
