"""Corrects the source lines of SASS by the PTX lines that its instructions were assembled from.

LLVM counts the lines of inline assembly on from the source line (Triton 3.8 and later); ptxas copies that:

    line 13: tl.load      .loc 1 17 15; ld.global.v4.b32      //## File "kernel.py", line 17; LDG.E.128

The parser of PTX takes such lines back. The line table of the cubin has the PTX line of each instruction of
SASS, so the location of that PTX instruction is the right one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from irscope.languages.document import Document, Operation

_ADDRESS = re.compile(r"\s*/\*([0-9a-f]+)\*/")


def in_lines_of_ptx(sass: Document, ptx: Document, table: Sequence[tuple[int, int]]) -> Document:
    """The SASS with the locations of the PTX that its instructions were assembled from.

    `table` has the PTX line (from 1) from each address on, as `ptx_line_table` returns it. An instruction
    whose PTX has no location has none: nvdisasm prints the one before it. In a text with several sections
    of code, addresses are ambiguous, and all keep their own.
    """
    if not table or len(sass.functions) != 1:
        return sass
    addresses = [address for address, _ in table]
    locations = {operation.line: operation.location for operation in ptx.operations}

    def relocated(operation: Operation) -> Operation:
        match = _ADDRESS.match(sass.lines[operation.line])
        row = bisect_right(addresses, int(match[1], 16)) - 1 if match else -1
        return replace(operation, location=locations.get(table[row][1] - 1)) if row >= 0 else operation

    return replace(sass, operations=[relocated(operation) for operation in sass.operations])
