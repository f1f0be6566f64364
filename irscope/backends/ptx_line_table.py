"""The line table .nv_debug_line_sass of a cubin, which names the PTX line of each machine instruction."""

from __future__ import annotations

import struct

from irscope.backends.elf import ElfSection, bounded, sections

_SECTION = ".nv_debug_line_sass"
# A table of ptxas has 1.5 to 3 bytes per instruction: this is one of a kernel with 300,000 of them.
_MOST_BYTES = 1 << 20
# The bytes of a LEB128 number of 64 bits.
_LONGEST_NUMBER = 10
# No address or line in a cubin is larger.
_LARGEST = 1 << 40


def ptx_line_table(cubin: bytes) -> list[tuple[int, int]]:
    """The (address, PTX line from 1) rows of the first function; an instruction has the row before it.

    Empty if the cubin is damaged or was made without line numbers.
    """
    try:
        found = next((section for section in sections(cubin) if section.name == _SECTION), None)
    except ValueError:
        return []
    return line_rows(found)


def line_rows(section: ElfSection | None) -> list[tuple[int, int]]:
    """The (address, line) rows of a line number program (DWARF 2.0.0, section 6.2); none if damaged."""
    if section is None:
        return []
    try:
        return _line_rows(bounded(section, _MOST_BYTES))
    except (IndexError, ValueError, ZeroDivisionError, struct.error):
        return []


def _line_rows(data: bytes) -> list[tuple[int, int]]:
    """The (address, line) rows of the first sequence of a line number program."""
    length, _, header = struct.unpack_from("<IHI", data)
    minimum, _, base, span, first = struct.unpack_from("<BBbBB", data, 10)
    lengths = data[15 : 15 + first - 1]
    at, end = 10 + header, min(4 + length, len(data))
    address, line, rows = 0, 1, []
    while at < end:
        code, at = data[at], at + 1
        if code >= first:
            address += (code - first) // span * minimum
            line += base + (code - first) % span
            rows.append((address, line))
        elif code == 0:
            size, at = _unsigned(data, at)
            if data[at] == 1:
                return rows
            at += size
        elif code == 1:
            rows.append((address, line))
        elif code == 2:
            step, at = _unsigned(data, at)
            address += step * minimum
        elif code == 3:
            step, at = _signed(data, at)
            line += step
        elif code == 8:
            address += (255 - first) // span * minimum
        elif code == 9:
            address, at = address + struct.unpack_from("<H", data, at)[0], at + 2
        else:
            for _ in range(lengths[code - 1]):
                _, at = _unsigned(data, at)
        if not -_LARGEST < line < _LARGEST or address > _LARGEST:
            raise ValueError("a number of the line table is too large")
    return rows


def _unsigned(data: bytes, start: int) -> tuple[int, int]:
    """Return an unsigned LEB128 number and the index after it. Raises ValueError if it is too long."""
    value = 0
    for count, byte in enumerate(data[start : start + _LONGEST_NUMBER]):
        value |= (byte & 127) << 7 * count
        if byte < 128:
            return value, start + count + 1
    raise ValueError("a number of the line table has no end")


def _signed(data: bytes, at: int) -> tuple[int, int]:
    value, end = _unsigned(data, at)
    bits = 7 * (end - at)
    return value - (1 << bits) if value >> (bits - 1) else value, end
