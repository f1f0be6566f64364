"""Classifies PTX instructions: memory accesses, atomics, matrix instructions and copies.

Classifies SASS instructions: memory accesses and matrix instructions.
"""

from __future__ import annotations

import re
from functools import lru_cache

from irscope.targets.instructions import InstructionKind, InstructionSet

# An instruction after an opening brace and a predicate, if any. Labels end in a colon.
_INSTRUCTION = re.compile(r"[ \t{]*(?:@!?%?\w+[ \t]+)?([a-z][\w.:]*)(?<!:)(?=[ \t;]|$)")
_TYPE = re.compile(r"\.([busf]|bf)(\d{1,3})(x2)?$")
_VECTOR = re.compile(r"\.v([248])\.")
_SHAPE = re.compile(r"\.(m\d+n\d+k\d+)")
_MATRIX = {"mma": "mma.sync", "wmma": "wmma", "wgmma": "wgmma"}
_COPY_SIZE = re.compile(r"\], *(0x[0-9a-fA-F]{1,4}|\d{1,4})\b")
# PTX ISA, ".sem" and ".scope" of atomics. Without them, an atomic is relaxed and has the scope gpu.
_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_ATOMIC_OPERATIONS = frozenset(["add", "and", "or", "xor", "cas", "exch", "min", "max", "inc", "dec", "popc"])
# Registers of 4 bytes per thread and matrix of ldmatrix and stmatrix, by shape (PTX ISA, "ldmatrix").
_MATRIX_REGISTERS = {"m8n8": 1, "m16n16": 2, "m8n16": 1, "m16n8": 1}
# Registers of 4 bytes per thread and repetition of tcgen05.ld and .st (PTX ISA, "tcgen05.ld", table of
# vector lengths).
_TENSOR_REGISTERS = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}


def _kinds(opcode: str, line: str) -> tuple[InstructionKind, ...]:
    size = _COPY_SIZE.search(line) if opcode.startswith("cp.async.ca.") else None
    return _of_opcode(opcode, int(size[1], 0) if size else 0)


@lru_cache(maxsize=4096)
def _of_opcode(opcode: str, size: int) -> tuple[InstructionKind, ...]:
    """Classify a PTX opcode.

    PTX ISA, chapters 9.7.9 (data movement), 9.7.13 (atomics), 9.7.14 to 9.7.16 (matrix
    instructions).
    """
    parts = opcode.split(".")
    if parts[0] == "cp":
        return _copy(opcode, parts, size)
    return _READERS.get(parts[0], _matrix)(opcode, parts)


def _matrix(opcode: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """Classify `mma.sync.aligned.m16n8k16...`."""
    shape = _SHAPE.search(opcode)
    if shape is None or parts[0] not in _MATRIX:
        return ()
    return (InstructionKind("matrix", f"{_MATRIX[parts[0]]}.{shape[1]}"),)


def _matrix_access(_: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """Classify `ldmatrix.sync.aligned.m8n8.x4.shared.b16`: four 8 x 8 matrices, 16 bytes per thread."""
    registers = next((_MATRIX_REGISTERS[part] for part in parts if part in _MATRIX_REGISTERS), 0)
    number = next((int(part[1:]) for part in parts if part in ("x1", "x2", "x4")), 0)
    direction = "load" if parts[0] == "ldmatrix" else "store"
    return (InstructionKind(f"shared {direction}", parts[0], 4 * registers * number),)


def _tensor_memory(_: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """Classify `tcgen05.mma`, whose shape is in a descriptor, not the opcode; `.ld`, `.st` and `.cp`."""
    match parts[1] if len(parts) > 1 else "":
        case "mma":
            kinds = [part for part in parts if part.startswith("kind::")]
            sparse = ["sp"] if "sp" in parts else []
            return (InstructionKind("matrix", ".".join(["tcgen05.mma", *sparse, *kinds])),)
        case "ld" | "st" as direction:
            registers = next((_TENSOR_REGISTERS[part] for part in parts if part in _TENSOR_REGISTERS), 0)
            number = next((int(part[1:]) for part in parts if re.fullmatch(r"x\d{1,3}", part)), 0)
            kind = f"tensor memory {'load' if direction == 'ld' else 'store'}"
            return (InstructionKind(kind, width=4 * registers * number),)
        case "cp":
            return (InstructionKind("async copy", "tcgen05.cp"),)
    return ()


def _access(opcode: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """Classify `ld.global.v4.b32`: 4 x 4 bytes."""
    space = _space(parts, ("global", "shared", "local"))
    width = _width(opcode)
    if space is None or width is None:
        return ()
    name = "st.async" if parts[:2] == ["st", "async"] else ""
    if not name and "shared::cluster" in parts:
        name = f"{parts[0]}.shared::cluster"
    return (InstructionKind(f"{space} {'load' if parts[0] == 'ld' else 'store'}", name, width),)


def _atomic(opcode: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """Classify `red.global.gpu.relaxed.add.v4.f32`: "red.add.f32", 16 bytes.

    The parts come in any order. An address without a state space is generic; Triton makes none,
    and such addresses are global unless they were converted from shared ones.
    """
    if parts[1:2] == ["async"]:  # adds to the shared memory of another block of the cluster
        return (_reduction("shared", "red.async", parts, _width(opcode) or 0, "cluster"),)
    operation = next((part for part in parts if part in _ATOMIC_OPERATIONS), None)
    width = _width(opcode)
    if operation is None or width is None:
        return ()
    return (_reduction(_space(parts, ("global", "shared")) or "global", parts[0], parts, width, "gpu"),)


def _reduction(space: str, unit: str, parts: list[str], width: int, scope: str) -> InstructionKind:
    """Return an atomic of the unit `unit`, with the operation, type, scope and order in `parts`."""
    operation = [part for part in parts if part in _ATOMIC_OPERATIONS][:1]
    return InstructionKind(
        f"{space} atomic",
        ".".join([unit, *operation, *([parts[-1]] if _TYPE.match(f".{parts[-1]}") else [])]),
        width,
        next((part for part in parts if part in _SCOPES), scope),
        next((part for part in parts if part in _ORDERS), "relaxed"),
    )


def _multimem(opcode: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """Classify accesses to one address of several GPUs: `multimem.ld_reduce`, `.st` and `.red`."""
    width = _width(opcode) or 0
    match parts[1] if len(parts) > 1 else "":
        case "red":
            return (_reduction("global", "multimem.red", parts, width, "sys"),)
        case "ld_reduce" | "st" as access:
            direction = "load" if access == "ld_reduce" else "store"
            return (InstructionKind(f"global {direction}", f"multimem.{access}", width),)
    return ()


def _copy(opcode: str, parts: list[str], size: int) -> tuple[InstructionKind, ...]:
    """Classify async copies.

    `cp.async.cg` always copies 16 bytes, `.ca` names a size; bulk copies are made by the TMA unit.
    """
    if opcode.startswith("cp.async.cg."):
        return InstructionKind("async copy", "cp.async"), InstructionKind("global load", width=16)
    if opcode.startswith("cp.async.ca."):
        return InstructionKind("async copy", "cp.async"), InstructionKind("global load", width=size)
    moved = [part for part in parts if part.partition("::")[0] in ("shared", "global")]
    if "bulk" not in parts or not moved:
        return ()
    unit = "cp.async.bulk.tensor" if "tensor" in parts else "cp.async.bulk"
    if "prefetch" in parts:
        return (InstructionKind("async copy", f"{unit} prefetch"),)
    if "reduce" in parts:
        # Each of its reductions is relaxed and has the scope gpu (PTX ISA, "cp.reduce.async.bulk").
        unit = unit.replace("cp.", "cp.reduce.")
        space = moved[0].partition("::")[0]
        copy = InstructionKind("async copy", f"{unit} {'store' if space == 'global' else 'load'}")
        return copy, _reduction(space, unit, parts, 0, "gpu")
    return (InstructionKind("async copy", f"{unit} {'store' if moved[0] == 'global' else 'load'}"),)


def _space(parts: list[str], spaces: tuple[str, ...]) -> str | None:
    """Return the state space among the parts of an opcode, or None for a generic address."""
    spaces_in_parts = [part.partition("::")[0] for part in parts]
    return next((space for space in spaces if space in spaces_in_parts), None)


def _width(opcode: str) -> int | None:
    """Return the bytes that one thread accesses: `.v4.b32` is 16, `.f16x2` 4; None without a type."""
    kind = _TYPE.search(opcode)
    if kind is None:
        return None
    vector = _VECTOR.search(opcode)
    return int(kind[2]) * (2 if kind[3] else 1) * (int(vector[1]) if vector else 1) // 8


_READERS = {
    "ld": _access,
    "st": _access,
    "atom": _atomic,
    "red": _atomic,
    "multimem": _multimem,
    "ldmatrix": _matrix_access,
    "stmatrix": _matrix_access,
    "tcgen05": _tensor_memory,
}
PTX = InstructionSet(_INSTRUCTION, _kinds)


_SASS_INSTRUCTION = re.compile(r"[ \t]*/\*[0-9a-f]+\*/[ \t]+(?:@!?\w+[ \t]+)?([A-Z][\w.]*)(?=[ ;]|$)")
# LDGSTS copies from global to shared memory (cp.async).
_ACCESSES = {
    "LDG": "global load",
    "LDGSTS": "global load",
    "STG": "global store",
    "LDL": "local load",
    "STL": "local store",
    "LDS": "shared load",
    "LDSM": "shared load",
    "STS": "shared store",
    "STSM": "shared store",
}
_SASS_MATRIX = re.compile(r"(?:[HIBDQO]+GMMA|[HIDBQ]MMA|UTC\w*MMA)$")
_WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


def _sass_kinds(opcode: str, line: str) -> tuple[InstructionKind, ...]:
    return _of_sass_opcode(opcode)


@lru_cache(maxsize=4096)
def _of_sass_opcode(opcode: str) -> tuple[InstructionKind, ...]:
    """Classify a SASS opcode: `LDG.E.128` has 16 bytes; without a size, an access has 4.

    See CUDA Binary Utilities, "Instruction Sets".
    """
    mnemonic, *suffixes = opcode.split(".")
    if kind := _ACCESSES.get(mnemonic):
        width = next((_WIDTHS[suffix] for suffix in suffixes if suffix in _WIDTHS), 4)
        return (InstructionKind(kind, width=width),)
    return (InstructionKind("matrix", opcode),) if _SASS_MATRIX.match(mnemonic) else ()


SASS = InstructionSet(_SASS_INSTRUCTION, _sass_kinds)
