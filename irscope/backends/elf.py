"""The ELF container of a cubin or a code object, and what ptxas notes in it about each kernel.

Read with struct: the few headers needed here do not earn the import time of a general ELF library.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_SYMBOL = struct.Struct("<IB19x")  # the name and kind of an Elf64_Sym
_FUNC = 2  # STT_FUNC
_NOBITS = 8  # SHT_NOBITS: a section that takes no room in the file

# Attributes of .nv.info sections by NVIDIA's names, which `cuobjdump -elf` prints: a format byte, the
# attribute, then two bytes that are the value itself or, in format 4 (SVAL), the size of what follows.
_SVAL, _BVAL = 4, 2
_REGCOUNT, _FRAME_SIZE, _MIN_STACK_SIZE, _NUM_BARRIERS = 0x2F, 0x11, 0x12, 0x4C

# What a device loads of a cubin or code object: the instructions, constants and initialised data, the
# kernel descriptor (.rodata of a code object) and how much static shared memory there is. Not debug
# information and line tables, which change with a path; not symbols, notes and .nv.info, which repeat
# names; what .nv.info says of a launch (registers, stack) is compared as facts.
_LOADED = (".text", ".rodata", ".data", ".nv.constant", ".nv.global", ".nv.shared")


class ElfSection(NamedTuple):
    """One section: `data` is its content, empty for one that takes no room in the file."""

    name: str
    kind: int
    flags: int
    size: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """What a cubin says of one kernel: registers and stack bytes a thread, barriers a block.

    None where the cubin does not say.
    """

    registers: int | None
    stack: int | None
    barriers: int | None


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

    Names are left out, so a renamed kernel has an equal digest. Raises ValueError where `content` is no
    sound ELF file.
    """
    digest = hashlib.sha256()
    for section in sections(content):
        prefix = next((prefix for prefix in _LOADED if section.name.startswith(prefix)), None)
        if prefix is not None:
            digest.update(f"{prefix} {section.size}\n".encode())
            digest.update(section.data)
    return digest.hexdigest()


def kernel_info(content: bytes, kernel: str) -> KernelInfo:
    """What the cubin `content` says of the kernel named `kernel`. Raises ValueError for a damaged one."""
    by_name = {section.name: section for section in sections(content)}
    code = by_name.get(f".text.{kernel}")
    if code is None:
        return KernelInfo(None, None, None)
    symbol = _symbol_index(by_name, kernel)
    registers = stack = barriers = None
    for attribute, data in _attributes(by_name.get(".nv.info")):
        if len(data) == 8 and symbol is not None:
            owner, value = struct.unpack("<II", data)
            if owner == symbol and attribute == _REGCOUNT:
                registers = value
            elif owner == symbol and attribute in (_FRAME_SIZE, _MIN_STACK_SIZE):
                stack = max(value, stack or 0)
    for attribute, data in _attributes(by_name.get(f".nv.info.{kernel}")):
        if attribute == _NUM_BARRIERS and data:
            barriers = data[0]
    if barriers is None:
        barriers = code.flags >> 20 & 0x7F  # where ptxas kept it before it wrote the attribute
    return KernelInfo(registers, stack, barriers)


def _attributes(section: ElfSection | None) -> Iterator[tuple[int, bytes]]:
    """The (attribute, value) pairs of a .nv.info section."""
    data = bytes(section.data) if section else b""
    at = 0
    while at + 4 <= len(data):
        form, attribute = data[at], data[at + 1]
        (size,) = struct.unpack_from("<H", data, at + 2)
        if form == _SVAL:
            yield attribute, data[at + 4 : at + 4 + size]
            at += 4 + size
        else:
            yield attribute, data[at + 2 : at + (3 if form == _BVAL else 4)]
            at += 4


def _symbol_index(by_name: dict[str, ElfSection], kernel: str) -> int | None:
    """The index of the function `kernel` in the symbol table; .nv.info names functions by it."""
    symbols, names = by_name.get(".symtab"), by_name.get(".strtab")
    if symbols is None or names is None:
        return None
    wanted = kernel.encode() + b"\0"
    whole = symbols.data[: len(symbols.data) // _SYMBOL.size * _SYMBOL.size]
    for index, (name, kind) in enumerate(_SYMBOL.iter_unpack(whole)):
        if kind & 0xF == _FUNC and names.data[name : name + len(wanted)] == wanted:
            return index
    return None


def _data(content: memoryview, header: tuple[int, ...]) -> memoryview:
    return content[:0] if header[1] == _NOBITS else content[header[4] : header[4] + header[5]]


def _text(names: bytes, offset: int) -> str:
    end = names.find(b"\0", offset)
    return names[offset : end if end >= 0 else len(names)].decode("utf-8", "replace")
