"""Binaries of kernels that anybody may have written: damaged ones, and ELF files made of hostile parts."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from irscope.estimating.latency import Replay, ReplayInput
from irscope.estimating.machine_code import machine_instructions, machine_runs
from irscope.model import UserError
from irscope.targets.cuda import kernel_info
from irscope.targets.elf import code_digest, ptx_line_table, sections

_DATA = Path(__file__).parents[1] / "data"
_SECTION = struct.Struct("<IIQQQQIIQQ")
_BRANCH = 0x947
Section = tuple[str, int, bytes]


def elf_file(parts: Sequence[Section], repeated: int = 1) -> bytes:
    """Return an ELF file with sections (name, kind, content); each has `repeated` headers."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in parts) + b".shstrtab\0"
    body, headers, name_at = b"", [bytes(64)], 1
    for name, kind, content in parts:
        header = _SECTION.pack(name_at, kind, 0, 0, 64 + len(body), len(content), 1, 0, 1, 0)
        headers += [header] * repeated
        name_at += len(name.encode()) + 1
        body += content
    headers.append(_SECTION.pack(name_at, 3, 0, 0, 64 + len(body), len(names), 0, 0, 1, 0))
    body += names
    end = 64 + len(body)
    last = len(headers) - 1
    start = struct.pack(
        "<4sBBB9xHHIQQQIHHHHHH",
        b"\x7fELF",
        2,
        1,
        1,
        2,
        190,
        1,
        0,
        0,
        end,
        0,
        64,
        0,
        0,
        64,
        len(headers),
        last,
    )
    return start + body + b"".join(headers)


def line_program(program: bytes) -> bytes:
    """Return a line table as ptxas writes it, with this line number program."""
    lengths = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    after_header_length = bytes([1, 1, 0xF6, 14, 13]) + lengths + b"\0\0"
    content = struct.pack("<HI", 2, len(after_header_length)) + after_header_length + program
    return struct.pack("<I", len(content)) + content


def nested_loops(levels: int, between: int = 1) -> bytes:
    """Return machine code of loops in each other: `between` instructions, then a branch back per level."""
    starts = levels * between
    code = [(0x7918 | 0x7000, 0)] * starts  # NOP
    for level in range(levels):
        at = starts + level
        words = ((levels - 1 - level) * between - at - 1) * 4
        low = _BRANCH | 7 << 12 | (words & 0xFF) << 16 | (words >> 8 & 0x3FFFFFFF) << 34
        code.append((low & (1 << 64) - 1, (words >> 38 & 0x3FFFF) | 7 << 46 | 7 << 49 | 1 << 41))
    code.append((0x94D | 7 << 12, 7 << 46 | 7 << 49))  # EXIT
    return b"".join(struct.pack("<QQ", *instruction) for instruction in code)


def decode(content: bytes, kernel: str) -> None:
    """Ask every decoder of irscope about a binary: each may refuse it with ValueError or UserError."""
    for decoder in (sections, code_digest, lambda binary: kernel_info(binary, kernel), ptx_line_table):
        with suppress(ValueError):
            decoder(content)
    code = machine_instructions(content, kernel, 90)
    if code is None:
        return
    runs = machine_runs(code, 3.0 ** np.minimum(np.arange(1000), 300))
    with suppress(UserError, ArithmeticError, LookupError):  # an estimate that is refused
        Replay(code, runs, ReplayInput({})).cycles(700.0, 800.0)


@cache
def _real() -> list[tuple[str, bytes]]:
    files = sorted([*_DATA.rglob("*.cubin"), *_DATA.rglob("*.hsaco")])
    files += sorted((Path(__file__).parents[1] / "findings").rglob("*.cubin"))
    return [(file.name.partition(".")[0], file.read_bytes()) for file in files]


def decoded(rng: random.Random, folder: Path) -> None:
    """Decodes a damaged binary, or one made of hostile parts."""
    if rng.random() < 0.7 and _real():
        kernel, content = rng.choice(_real())
        decode(_damaged(rng, content), kernel)
    else:
        decode(_made(rng), "k")


def _damaged(rng: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    match rng.randrange(5):
        case 0:
            del damaged[rng.randrange(len(damaged)) :]
        case 1:
            for _ in range(rng.choice((1, 3, 50))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        case 2:  # a field of a header
            (start,) = struct.unpack_from("<Q", damaged, 40)
            at = rng.choice((rng.randrange(64), min(start, len(damaged) - 64) + rng.randrange(64)))
            damaged[at : at + 8] = struct.pack(
                "<Q", rng.choice((0, 1, 2**63, 2**64 - 1, rng.randrange(2**20)))
            )
        case 3:  # the line table
            at = damaged.find(b"\x02\x00\x10\x00")
            damaged[at : at + 300] = rng.randbytes(300)
        case _:
            at = rng.randrange(len(damaged))
            damaged[at : at + 4000] = bytes([rng.choice((0, 0x80, 0xFF, 1))]) * rng.randrange(4000)
    return bytes(damaged)


def _made(rng: random.Random) -> bytes:
    size = rng.choice((10, 1000, 8000, 200_000))
    symbols = rng.randbytes(size // 24 * 24)
    parts: list[Section] = [
        (".text.k", 1, _code(rng, size)),
        (".nv_debug_line_sass", 1, line_program(_program(rng, size))),
        (".nv.info", 1, rng.choice((rng.randbytes(size), b"\x04\x2f\x08\0" + bytes(8)))),
        (".nv.info.k", 1, rng.randbytes(rng.randrange(100))),
        (".symtab", 2, symbols),
        (".strtab", 3, rng.choice((b"\0k\0", b"k" * size))),
        (".rodata", 1, rng.randbytes(rng.randrange(size))),
    ]
    rng.shuffle(parts)
    return elf_file(parts[: rng.randrange(1, 8)], rng.choice((1, 1, 2, 100, 9000)))


def _code(rng: random.Random, size: int) -> bytes:
    kind = rng.randrange(3)
    if kind == 0:
        return rng.randbytes(size // 16 * 16)
    if kind == 1:
        return nested_loops(rng.choice((2, 20, 33, 500)), rng.randrange(1, 5))
    words = [
        (_BRANCH | rng.randrange(1 << 56) << 16 & (1 << 64) - 1, rng.getrandbits(64))
        for _ in range(size // 16)
    ]
    return b"".join(struct.pack("<QQ", *word) for word in words)


# Moves to the next instruction of 16 bytes and the next line: address + 16, line + 1.
_NEXT = bytes([13 + 14 * 16 + 11])


def _program(rng: random.Random, size: int) -> bytes:
    match rng.randrange(8):
        case 6 | 7:
            return _NEXT * (size // 16)
        case 0:
            return b"\x02" + b"\xff" * size  # a number without an end
        case 1:
            return b"\x03" + b"\xff" * rng.randrange(8, 12) + b"\x7f" + b"\x01" * size
        case 2:
            return bytes([rng.randrange(13, 256)]) * size
        case 3:
            return b"\x00\xff\xff\xff\x7f\x02" * (size // 6)
        case 4:
            return (b"\x02" + b"\xff" * 9 + b"\x01\x01") * (size // 12)
        case _:
            return rng.randbytes(size)
