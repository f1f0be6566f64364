"""The ELF container of a cubin or a code object, and the machine code in it.

Read with struct: the few headers needed here do not earn the import time of a general ELF library.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr

_NOBITS = 8  # SHT_NOBITS: a section that takes no room in the file


# The parts of a cubin or code object that a device loads: the instructions, constants and initialized data,
# the kernel descriptor (.rodata of a code object) and the size of static shared memory. Excluded are debug
# information and line tables, which change with a path; symbols, notes and .nv.info, which repeat
# names; what .nv.info says of a launch (registers, stack) is compared as facts.
_LOADED = (".text", ".rodata", ".data", ".nv.constant", ".nv.global", ".nv.shared")


class ElfSection(NamedTuple):
    """One section: `data` is its content, empty for one that takes no room in the file."""

    name: str
    kind: int
    flags: int
    size: int
    data: memoryview


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
        ElfSection(_text(names, header[0]), header[1], header[2], header[5], _data(view, header))
        for header in headers
    ]


def code_digest(content: bytes) -> str:
    """The sha256 (hex) of the machine code in a cubin or code object: equal for equal instructions.

    Names are left out, so a renamed kernel has an equal digest. Raises ValueError if `content` is not
    a valid ELF file.
    """
    import hashlib  # here, because listing a capture needs the backends and not this

    digest = hashlib.sha256()
    for section in sections(content):
        prefix = next((prefix for prefix in _LOADED if section.name.startswith(prefix)), None)
        if prefix is not None:
            digest.update(f"{prefix} {section.size}\n".encode())
            digest.update(section.data)
    return digest.hexdigest()


def _data(content: memoryview, header: tuple[int, ...]) -> memoryview:
    return content[:0] if header[1] == _NOBITS else content[header[4] : header[4] + header[5]]


def _text(names: bytes, offset: int) -> str:
    end = names.find(b"\0", offset)
    return names[offset : end if end >= 0 else len(names)].decode("utf-8", "replace")
