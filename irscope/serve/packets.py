"""The packets between the server and an app: a type, four bytes of length (big endian), the content.

Textual's WebDriver defines them: JSON in packets of type M, terminal data in those of type D. Packets of
type F have the content of saved files. The app's output begins with a line, PRELUDE.
"""

from __future__ import annotations

import json
from asyncio import StreamReader

DATA, META, FILE = b"D", b"M", b"F"
PRELUDE = b"__GANGLION__\n"
# The app sends a screen at a time, and files in pieces.
_MAX_CONTENT = 64 << 20


def packet(kind: bytes, content: bytes) -> bytes:
    """Return a packet as it is sent."""
    return kind + len(content).to_bytes(4, "big") + content


def meta(**values: object) -> bytes:
    """Return a packet of type M, which has JSON."""
    return packet(META, json.dumps(values).encode())


async def read_packet(stream: StreamReader) -> tuple[bytes, bytes]:
    """Read the next packet's type and content.

    Raises IncompleteReadError at the end, ValueError if the packet is too long.
    """
    head = await stream.readexactly(5)
    length = int.from_bytes(head[1:], "big")
    if length > _MAX_CONTENT:
        raise ValueError(f"a packet of {length} bytes")
    return head[:1], await stream.readexactly(length)
