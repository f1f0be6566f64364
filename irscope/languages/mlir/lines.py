"""Reads single lines of Triton's MLIR, for readers that do not need the whole module parsed."""

from __future__ import annotations

import re

_OPERATION = re.compile(r"\s*(?:%[\w#:]{1,99}(?:, %[\w#:]{1,99}){0,99} = )?\"?([a-z_]+\.[a-z_0-9.]+)\"?")
_WARPS = re.compile(r"\"?ttg\.num-warps\"? = (\d{1,9})")


def opcode_of(line: str) -> str:
    """The opcode of the operation on a line; "" if there is none."""
    match = _OPERATION.match(line)
    return match[1] if match else ""


def module_warps(text: str) -> int | None:
    """The warps per block in the attributes of a TTGIR module; None if it does not have them."""
    match = _WARPS.search(text)
    return int(match[1]) if match else None
