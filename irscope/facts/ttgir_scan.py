"""What TTGIR text says of layouts, conversions between them and the buffers of the software pipeline."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_ALIAS = re.compile(r"^#\w+ = #(\w+)\.(\w+)<", re.M)
_CONVERSION = "ttg.convert_layout"
# One buffer taken out of several: the type of what it is taken out of, its leading dimension first.
_BUFFER_OF = re.compile(
    r"ttg\.memdesc_index [^:\n]{0,999}: !ttg\.memdesc<"
    r"(?P<copies>\d{1,9})x[\dx]{1,99}x(?P<element>\w{1,99}), (?P<encoding>[^\n]{0,999}?) ->"
)


@dataclass(frozen=True, slots=True)
class Tensors:
    """What was found, with the lines (index from 0) that show it.

    `layouts` counts the layouts by kind ("blocked", "nvidia_mma"). `conversions` are the lines of
    `ttg.convert_layout`. `buffers` is the most copies of one tile that shared memory holds at once, 0
    where no tile is held more than once.
    """

    layouts: dict[str, int]
    layout_lines: list[int]
    conversions: list[int]
    buffers: int
    buffer_lines: list[int]


def tensors(text: str) -> Tensors:
    """What the TTGIR `text` says."""
    lines = text.split("\n")
    layouts: Counter[str] = Counter()
    layout_lines, conversions = [], []
    found: dict[int, list[int]] = {}
    for index, line in enumerate(lines):
        if line.startswith("#") and (alias := _ALIAS.match(line)):
            layouts[alias[2]] += 1
            layout_lines.append(index)
        elif _CONVERSION in line:
            conversions.append(index)
        elif "ttg.memdesc_index" in line and (copies := _copies(line)):
            found.setdefault(copies, []).append(index)
    buffers = max(found, default=0)
    return Tensors(dict(layouts), layout_lines, conversions, buffers, found.get(buffers, []))


def _copies(line: str) -> int:
    """How many copies of a tile the operand of a `ttg.memdesc_index` holds; 0 for anything else.

    Arrays of mbarriers (i64) and tiles in tensor memory are indexed too, but are no pipeline buffers; one
    copy is no pipeline either.
    """
    match = _BUFFER_OF.search(line)
    if match is None or match["element"] == "i64":
        return 0
    if "#smem" not in match["encoding"] and "shared_memory" not in match["encoding"]:
        return 0
    copies = int(match["copies"])
    return copies if copies > 1 else 0
