"""The user's line that a line of generated Triton came from, as Helion's comments say.

# src[matmul.py:14]: acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])
load = tl.load(x + (indices_0[:, None] * 1024 + indices_2[None, :] * 1), None)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# One per line of the user's statement, up to three (helion/_compiler/ast_extension.py).
_COMMENT = re.compile(r"\s*# src\[(?P<place>[^\]\n]{1,200}:\d{1,9})\]: (?P<code>.*)")


def user_line(lines: Sequence[str], index: int) -> str:
    """The user's line for the line at `index` (from 0) of a generated function: "matmul.py:14: acc = ...".

    "" if no comment above it says so.
    """
    above = range(min(index, len(lines) - 1), -1, -1)
    last = next((i for i in above if _COMMENT.match(lines[i])), None)
    if last is None:
        return ""
    while last and _COMMENT.match(lines[last - 1]):
        last -= 1
    match = _COMMENT.match(lines[last])
    return f"{match['place']}: {match['code'].strip()}" if match else ""
