"""The ELF container of a cubin or a code object, and the machine code in it.

Read with struct: the few headers needed here do not earn the import time of a general ELF library.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym

_NOBITS = 8  # SHT_NOBITS: a section that takes no room in the file
_SYMBOL_TABLE = 2  # SHT_SYMTAB

# The kernel descriptor of a code object, and the part of it that is the distance to the kernel's code, which
# depends on the length of the symbols between them (LLVM AMDGPU Usage, "Kernel Descriptor").
_DESCRIPTOR_SUFFIX, _DESCRIPTOR_SIZE = b".kd\0", 64
_ENTRY_OFFSET = slice(16, 24)
# The longest symbol that is looked at.
_LONGEST_NAME = 4096

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
    """The sections of a 64-bit little-endian ELF file. Raises ValueError for anything else."""
    if len(content) < 64 or content[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (offset,) = struct.unpack_from("<Q", content, 40)
    size, number, names_index = struct.unpack_from("<3H", content, 58)
    if size != _SECTION.size or offset + size * number > len(content) or names_index >= number:
        raise ValueError("the section headers of the ELF file are damaged")
    view = memoryview(content)
    headers = list(_SECTION.iter_unpack(view[offset : offset + size * number]))
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


def code_digest(content: bytes) -> str:
    """The sha256 (hex) of the machine code in a cubin or code object: equal for equal instructions.

    Names are left out, so a renamed kernel has an equal digest. Raises ValueError if `content` is not
    a valid ELF file.
    """
    import hashlib  # here, because listing a capture needs the backends and not this

    digest = hashlib.sha256()
    found = sections(content)
    descriptors = _descriptor_addresses(found)
    for section in found:
        prefix = next((prefix for prefix in _LOADED if section.name.startswith(prefix)), None)
        if prefix is not None:
            digest.update(f"{prefix} {section.size}\n".encode())
            digest.update(_without_entry_offsets(section, descriptors))
    return digest.hexdigest()


def _descriptor_addresses(found: list[ElfSection]) -> list[int]:
    """The addresses of the kernel descriptors in a code object; none in a cubin."""
    addresses = []
    for table in found:
        if table.kind != _SYMBOL_TABLE or table.link >= len(found):
            continue
        names = bytes(found[table.link].data)
        whole = len(table.data) // _SYMBOL.size * _SYMBOL.size
        for name, _, _, _, address, size in _SYMBOL.iter_unpack(table.data[:whole]):
            end = names.find(b"\0", name, name + _LONGEST_NAME) + 1
            if size == _DESCRIPTOR_SIZE and names.endswith(_DESCRIPTOR_SUFFIX, name, end):
                addresses.append(address)
    return addresses


def _without_entry_offsets(section: ElfSection, descriptors: list[int]) -> bytes | memoryview:
    """The section's content with zeros for the distances in its kernel descriptors."""
    starts = [
        address - section.address
        for address in descriptors
        if 0 <= address - section.address <= len(section.data) - _DESCRIPTOR_SIZE
    ]
    if not starts:
        return section.data
    content = bytearray(section.data)
    for start in starts:
        content[start + _ENTRY_OFFSET.start : start + _ENTRY_OFFSET.stop] = bytes(8)
    return bytes(content)


def _data(content: memoryview, header: tuple[int, ...]) -> memoryview:
    return content[:0] if header[1] == _NOBITS else content[header[4] : header[4] + header[5]]


def _text(names: bytes, offset: int) -> str:
    end = names.find(b"\0", offset)
    return names[offset : end if end >= 0 else len(names)].decode("utf-8", "replace")
