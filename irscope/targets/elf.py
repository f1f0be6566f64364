"""The ELF container of a cubin or a code object, and the machine code in it.

Read with struct: the few headers needed here do not earn the import time of a general ELF library.

Anybody may have written the file, so what is read has limits, far above real binaries of kernels: on bytes,
sections, symbols and names. Sections may share bytes, as some of ptxas do, but a few thousand headers may not
name the same megabytes.

The line table .nv_debug_line_sass of a cubin, which names the PTX line of each machine instruction.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from typing import NamedTuple

_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym

_NOBITS = 8  # SHT_NOBITS: a section that takes no room in the file
_SYMBOL_TABLE = 2  # SHT_SYMTAB

# The kernel descriptor of a code object, and the part of it that is the distance to the kernel's code, which
# depends on the length of the symbols between them (LLVM AMDGPU Usage, "Kernel Descriptor").
_DESCRIPTOR_SUFFIX, _DESCRIPTOR_SIZE = b".kd\0", 64
_ENTRY_OFFSET = slice(16, 24)
_MOST_BYTES, _MOST_SECTIONS, _MOST_SYMBOLS = 64 << 20, 10_000, 200_000
# The size of all sections, as a multiple of the file's.
_MOST_SHARED = 4
# The longest name of a section or symbol that is looked at.
LONGEST_NAME = 4096

# The parts of a cubin or code object that a device loads: the instructions, constants and initialized data,
# the kernel descriptor (.rodata of a code object) and the size of static shared memory. Excluded are debug
# information and line tables, which change with a path; symbols, notes and .nv.info, which repeat
# names; what .nv.info says of a launch (registers, stack) is compared as facts.
_LOADED = (".text", ".rodata", ".data", ".nv.constant", ".nv.global", ".nv.shared")


class ElfSection(NamedTuple):
    """One section: `data` is its content, empty for one that takes no room in the file.

    `address` is its load address, `link` the index of a related section: of a symbol table, its strings.
    """

    name: str
    kind: int
    flags: int
    size: int
    data: memoryview
    address: int = 0
    link: int = 0


def sections(content: bytes) -> list[ElfSection]:
    """Return the sections of a 64-bit little-endian ELF file. Raises ValueError for anything else."""
    if len(content) < 64 or content[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    if len(content) > _MOST_BYTES:
        raise ValueError(f"an ELF file of {len(content):,} bytes is larger than binaries of kernels are")
    (offset,) = struct.unpack_from("<Q", content, 40)
    size, number, names_index = struct.unpack_from("<3H", content, 58)
    if size != _SECTION.size or offset + size * number > len(content) or names_index >= number:
        raise ValueError("the section headers of the ELF file are damaged")
    if number > _MOST_SECTIONS:
        raise ValueError(f"the ELF file has more than {_MOST_SECTIONS:,} sections")
    view = memoryview(content)
    headers = list(_SECTION.iter_unpack(view[offset : offset + size * number]))
    if sum(len(_data(view, header)) for header in headers) > _MOST_SHARED * len(content):
        raise ValueError("the sections of the ELF file overlap")
    names = bytes(_data(view, headers[names_index]))
    return [
        ElfSection(
            _text(names, header[0]),
            header[1],
            header[2],
            header[5],
            _data(view, header),
            header[3],
            header[6],
        )
        for header in headers
    ]


def bounded(section: ElfSection | None, most: int) -> bytes:
    """Return the content of a section, empty without one.

    Raises ValueError if it has more than `most` bytes.
    """
    if section is not None and len(section.data) > most:
        raise ValueError(f"the section {section.name} of the ELF file has more than {most:,} bytes")
    return bytes(section.data) if section else b""


def symbols(table: ElfSection) -> list[tuple[int, ...]]:
    """Return the entries of a symbol table, as in Elf64_Sym. Raises ValueError if there are too many."""
    whole = len(table.data) // _SYMBOL.size
    if whole > _MOST_SYMBOLS:
        raise ValueError(f"the ELF file has more than {_MOST_SYMBOLS:,} symbols")
    return list(_SYMBOL.iter_unpack(table.data[: whole * _SYMBOL.size]))


def code_digest(content: bytes) -> str:
    """Return the sha256 (hex) of the machine code in a cubin or code object: equal for equal code.

    Names are left out, so a renamed kernel has an equal digest. Raises ValueError if `content` is
    not a valid ELF file.
    """
    import hashlib  # here, because listing a capture needs the backends and not this

    digest = hashlib.sha256()
    elf_sections = sections(content)
    descriptors = _descriptor_addresses(elf_sections)
    for section in elf_sections:
        prefix = next((prefix for prefix in _LOADED if section.name.startswith(prefix)), None)
        if prefix is not None:
            digest.update(f"{prefix} {section.size}\n".encode())
            digest.update(_without_entry_offsets(section, descriptors))
    return digest.hexdigest()


def _descriptor_addresses(found: list[ElfSection]) -> list[int]:
    """Return the addresses of the kernel descriptors in a code object, in order; none in a cubin."""
    # An ELF file has at most one symbol table of this kind (System V ABI, "Sections").
    table = next((table for table in found if table.kind == _SYMBOL_TABLE), None)
    if table is None or table.link >= len(found):
        return []
    names, addresses = bytes(found[table.link].data), set()
    for name, _, _, _, address, size in symbols(table):
        if size != _DESCRIPTOR_SIZE:
            continue
        end = names.find(b"\0", name, name + LONGEST_NAME) + 1
        if names.endswith(_DESCRIPTOR_SUFFIX, name, end):
            addresses.add(address)
    return sorted(addresses)


def _without_entry_offsets(section: ElfSection, descriptors: list[int]) -> bytes | memoryview:
    """Return the section's content with zeros for the distances in its kernel descriptors.

    Takes those descriptors out of the list: no other section has them.
    """
    first = bisect_left(descriptors, section.address)
    last = bisect_right(descriptors, section.address + len(section.data) - _DESCRIPTOR_SIZE, lo=first)
    if first >= last:
        return section.data
    content = bytearray(section.data)
    for address in descriptors[first:last]:
        start = address - section.address
        content[start + _ENTRY_OFFSET.start : start + _ENTRY_OFFSET.stop] = bytes(8)
    del descriptors[first:last]
    return bytes(content)


def _data(content: memoryview, header: tuple[int, ...]) -> memoryview:
    return content[:0] if header[1] == _NOBITS else content[header[4] : header[4] + header[5]]


def _text(names: bytes, offset: int) -> str:
    most = offset + LONGEST_NAME
    end = names.find(b"\0", offset, most)
    return names[offset : end if end >= 0 else most].decode("utf-8", "replace")


_LINE_SECTION = ".nv_debug_line_sass"
# A table of ptxas has 1.5 to 3 bytes per instruction: this is one of a kernel with 300,000 of them.
_MOST_LINE_BYTES = 1 << 20
# The bytes of a LEB128 number of 64 bits.
_LONGEST_NUMBER = 10
# No address or line in a cubin is larger.
_LARGEST = 1 << 40


def ptx_line_table(cubin: bytes) -> list[tuple[int, int]]:
    """Return the (address, PTX line from 1) rows of the first function.

    An instruction has the row before it. Empty if the cubin is damaged or was made without line
    numbers.
    """
    try:
        line_section = next((section for section in sections(cubin) if section.name == _LINE_SECTION), None)
    except ValueError:
        return []
    return line_rows(line_section)


def line_rows(section: ElfSection | None) -> list[tuple[int, int]]:
    """Return the (address, line) rows of a line number program; none if damaged.

    The format is that of DWARF 2.0.0, section 6.2.
    """
    if section is None:
        return []
    try:
        return _line_rows(bounded(section, _MOST_LINE_BYTES))
    except (IndexError, ValueError, ZeroDivisionError, struct.error):
        return []


def _line_rows(data: bytes) -> list[tuple[int, int]]:
    """Return the (address, line) rows of the first sequence of a line number program."""
    length, _, header = struct.unpack_from("<IHI", data)
    minimum, _, base, span, first = struct.unpack_from("<BBbBB", data, 10)
    lengths = data[15 : 15 + first - 1]
    offset, end = 10 + header, min(4 + length, len(data))
    address, line, rows = 0, 1, []
    while offset < end:
        code, offset = data[offset], offset + 1
        if code >= first:
            address += (code - first) // span * minimum
            line += base + (code - first) % span
            rows.append((address, line))
        elif code == 0:
            size, offset = _unsigned(data, offset)
            if data[offset] == 1:
                return rows
            offset += size
        elif code == 1:
            rows.append((address, line))
        elif code == 2:
            step, offset = _unsigned(data, offset)
            address += step * minimum
        elif code == 3:
            step, offset = _signed(data, offset)
            line += step
        elif code == 8:
            address += (255 - first) // span * minimum
        elif code == 9:
            address, offset = address + struct.unpack_from("<H", data, offset)[0], offset + 2
        else:
            for _ in range(lengths[code - 1]):
                _, offset = _unsigned(data, offset)
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
