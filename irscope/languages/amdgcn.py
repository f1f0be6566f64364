"""AMDGCN: one operation per instruction, located by the `.loc` directives before it.

The vector registers that AMDGCN instructions read and write: architectural (v) and accumulation (a).

    v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15] -> writes a0 to a15; reads v0 to v3, a0 to a15

Scalar registers are per wave and not counted. Lanes that are switched off keep their old values, but as LLVM
does, a write counts as a write of the whole register (AMD's ISA documents; LLVM, SIInstrInfo.td).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from operator import itemgetter
from sys import intern
from typing import TYPE_CHECKING, ClassVar

from irscope.languages.assembly import SourceLines, strip_debug
from irscope.languages.branches import Branches, Jump, Labels
from irscope.languages.branches import branches as resolve
from irscope.languages.document import OPAQUE, Document, Location, Operation, each_line
from irscope.languages.language import Language
from irscope.languages.registers import NO_ACCESS, RegisterAccess, RegisterFile, RegisterUse, StackAccess

if TYPE_CHECKING:
    from pygments.lexer import Lexer


_INSTRUCTION = re.compile(r"([a-z]\w*)(?: (.*))?")
_LABEL = re.compile(r"([\w.$]+):")
# A directive, a debug label, or a line of the metadata in YAML at the end; not the label of a block.
_DIRECTIVE = re.compile(r"\s*(?:- )?(?:\.(?!LBB|L__)[A-Za-z]|amdhsa\.|\d+$|$)|---|\.\.\.")
_FUNCTION_TYPE = re.compile(r"\.type\s+([\w.$]+),@function")

# Vector, scalar, accumulation and trap registers, single (`v4`) or in a range (`s[2:3]`), and the named ones.
_REGISTER = re.compile(r"(?<![\w.$])(?:(?:[vsa]|ttmp)(?:\d+|\[\d+(?::\d+)?\])|vcc|exec|m0)(?!\w)")
_SINGLE = re.compile(r"(?<![\w.$])([vsa]|ttmp)\d+(?!\w)")
# The replacement of a register: its class. Before Python 3.12, faster than a template.
_CLASS: Callable[[re.Match[str]], str] = itemgetter(1)
_RANGE = re.compile(r"(?<![\w.$])([vsa]|ttmp)\[(\d{1,5}):(\d{1,5})\]")
_LABEL_NUMBER = re.compile(r"(\.L[A-Za-z_]+)\d[\d_]*")

# Stores, compares into scc, branches and waits have no result.
_WRITES_NOTHING = re.compile(
    r"(?:global|buffer|flat|scratch|tbuffer|image|ds)_(?:store|write)"
    r"|s_(?:c?branch|cmpk?_|bitcmp|wait|barrier|set|send|trap)"
)
# Arithmetic whose second operand receives a carry or a condition.
_TWO_RESULTS = re.compile(r"v_(?:\w+_co_|div_scale|mad_[iu]64)")


def parse(text: str) -> Document:
    """Parse an AMDGCN text.

    Directives, labels, comments and the metadata at the end are skipped. Any other line that is
    not an instruction is an OPAQUE operation. Never fails; takes time linear in the text.
    """
    reader = _AmdgcnReader(text)
    for index, line in enumerate(each_line(text)):
        reader.read(index, line.strip())
    return Document("amdgcn", text, reader.operations, reader.functions)


class _AmdgcnReader:
    """Reads AMDGCN line by line and tracks the current function and location."""

    def __init__(self, text: str) -> None:
        self.operations: list[Operation] = []
        self.functions: list[str] = []
        self._source_lines = SourceLines(text)
        self._function_names: set[str] = set()
        self._location: Location | None = None
        self._function = -1
        self._in_metadata = False

    def read(self, index: int, line: str) -> None:
        """Read one line, given without the blanks around it."""
        kind = line[:1]
        if self._in_metadata:
            self._in_metadata = not line.startswith(".end_amdgpu_metadata")
        elif kind == ".":
            self._directive(line)
        elif kind not in ";":
            code = " ".join(line.partition(";")[0].split())
            if match := _LABEL.fullmatch(code):
                self._label(match[1])
            else:
                self.operations.append(_operation(index, code, self._location, self._function))

    def _directive(self, line: str) -> None:
        if line.startswith(".loc"):
            self._location = self._source_lines.location(line)
        elif line.startswith(".Lfunc_end"):
            self._function = -1
        elif line.startswith(".amdgpu_metadata"):
            self._in_metadata = True
        elif match := _FUNCTION_TYPE.match(line):
            self._function_names.add(match[1])

    def _label(self, name: str) -> None:
        if name in self._function_names:
            self._function, self._location = len(self.functions), None
            self.functions.append(name)


def _operation(index: int, code: str, location: Location | None, function: int) -> Operation:
    normalized = intern(_normalize(code))  # most repeat
    match = _INSTRUCTION.fullmatch(code)
    if match is None:
        return Operation(index, index + 1, OPAQUE, normalized, (), (), location, -1, function)
    results, operands = _dataflow(match[1], match[2] or "")
    return Operation(
        index, index + 1, intern(match[1]), normalized, results, operands, location, -1, function
    )


def _dataflow(opcode: str, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the registers that an instruction writes, and the ones that it reads."""
    registers = [_REGISTER.findall(operand) for operand in text.split(", ")]
    result_count = 0 if _WRITES_NOTHING.match(opcode) else 2 if _TWO_RESULTS.match(opcode) else 1
    results = tuple([intern(name) for names in registers[:result_count] for name in names])
    return results, tuple([intern(name) for names in registers[result_count:] for name in names])


def _normalize(code: str) -> str:
    """Register as class and width (`v[0:3]` -> `v[4]`), labels without their number."""
    normalized = _SINGLE.sub(_CLASS, code)
    if "[" in normalized:
        normalized = _RANGE.sub(lambda m: f"{m[1]}[{int(m[3]) - int(m[2]) + 1}]", normalized)
    return _LABEL_NUMBER.sub(r"\1", normalized) if ".L" in normalized else normalized


_LABELS = re.compile(r"^([\w.$]+):", re.MULTILINE)
# The return address of a call, which a function jumps back to.
_RETURN = "s_setpc_b64 s[30:31]"


def branches(document: Document) -> Branches:
    """Find the branches of an AMDGCN text; calls return to the next operation.

    A jump to an address in registers is unknown, except for a function's return.
    """

    def jump(operation: Operation) -> Jump | None:
        opcode = operation.opcode
        if opcode.startswith("s_endpgm"):
            return Jump()
        if opcode == "s_branch" or opcode.startswith("s_cbranch_"):
            target = document.lines[operation.line].partition(";")[0].split()[-1]
            return Jump((target,), falls_through=opcode != "s_branch")
        if opcode == "s_setpc_b64":
            code = " ".join(document.lines[operation.line].partition(";")[0].split())
            return Jump((), known=code == _RETURN)
        return None

    return resolve(document.operations, jump, Labels(document, _LABELS).place)


@cache
def lexer() -> type[Lexer]:
    """Return the Pygments lexer for AMDGCN as LLVM prints it."""
    from pygments.lexer import RegexLexer
    from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Whitespace

    class AmdgcnLexer(RegexLexer):
        """LLVM's assembly for AMD GPUs, and the metadata at its end."""

        name = "AMDGCN"
        url = "https://llvm.org/docs/AMDGPUUsage.html"
        aliases: ClassVar[list[str]] = ["amdgcn"]
        filenames: ClassVar[list[str]] = ["*.amdgcn"]

        tokens: ClassVar = {
            "root": [
                (r"\s+", Whitespace),
                (r";[^\n]*", Comment.Single),
                (r"^[\w.$]+:", Name.Label),
                (r"\.L\w+", Name.Label),
                (r"\.[A-Za-z_]\w*", Keyword.Pseudo),
                (r'"[^"\n]*"', String),
                (r"(?:[vsa]|ttmp)(?:\d+\b|\[\d+(?::\d+)?\])", Name.Variable),
                (r"(?:vcc|exec|m0|scc|flat_scratch|src_\w+)(?:_lo|_hi)?\b", Name.Builtin),
                (r"(?:v|s|ds|global|buffer|flat|scratch|tensor|image|exp|tbuffer)_\w+", Keyword),
                (r"[A-Za-z_]\w*(?=[:(])", Name.Attribute),
                (r"0x[0-9a-fA-F]+\b|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b", Number),
                (r"[A-Za-z_$]\w*|\d\w*", Name),
                (r"[-+~|!,:()\[\]{}<>=*/&@%.]", Punctuation),
            ],
        }

    return AmdgcnLexer


_OPERAND_REGISTER = re.compile(r"(?<![\w.$])([va])(?:(\d{1,3})(?!\w)|\[(\d{1,3})(?::(\d{1,3}))?\])")
_NUMBER = 512  # of each kind; gfx90a and later have 512 in all, gfx10 and later 256 v
_STORE = re.compile(r"(?:global|buffer|flat|scratch|tbuffer|image)_store|ds_(?:write|store)|exp\b")
_ATOMIC = re.compile(r"(?:global|buffer|flat|image)_atomic_")
_RETURNS = re.compile(r"\b(?:glc|sc0|th:TH_ATOMIC_RETURN\w*)\b")
# LDS instructions with a result; the other ones are atomic operations without one.
_LDS_RESULT = re.compile(
    r"ds_(?:read|load|bpermute|permute|swizzle|consume|append|ordered|bvh|condxchg)|ds_\w+_rtn"
)
# Instructions whose result is also an operand: accumulation in place, writes of a part of a register.
_IN_PLACE = re.compile(
    r"v_(?:pk_)?(?:fmac|mac|dot\w*c|fmaak|fmamk)_|v_writelane|v_swap|v_movrel|\w+_d16(?:_hi)?\b"
)

VECTOR_REGISTERS = RegisterFile((((1 << (2 * _NUMBER)) - 1, 1),))


_COPY = re.compile(r"v_(?:mov_b32_e32|accvgpr_(?:read|write|mov)_b32(?:_e32)?)\s+[va]\d+, [va]\d+\s*(?:;|$)")
_LOCAL = re.compile(r"(?:scratch|buffer)_(store|load)_dword(?:x(\d))?\b")
_OFFSET = re.compile(r"\boffset:(\d{1,7})\b")


def register_use(document: Document) -> RegisterUse:
    """Return the vector registers that each operation of an AMDGCN text reads and writes."""
    accesses = []
    copies = {}
    stack: list[StackAccess] = []
    for index, operation in enumerate(document.operations):
        opcode, line = operation.opcode, document.lines[operation.line]
        access = NO_ACCESS
        if opcode != OPAQUE and not opcode.startswith("s_"):
            access = _access(opcode, line.partition(";")[0])
        accesses.append(access)
        if opcode.startswith("v_") and _COPY.match(line.strip()):
            copies[index] = access.reads
        elif opcode.startswith(("scratch_", "buffer_")):
            stack += _stack_access(index, line, access.reads)
    return RegisterUse(accesses, VECTOR_REGISTERS, copies, stack)


def _stack_access(index: int, line: str, reads: int) -> Iterator[StackAccess]:
    """LLVM's comment (`4-byte Folded Spill`) says which accesses to scratch are spills."""
    code, _, comment = line.partition(";")
    match = _LOCAL.search(code)
    spill = "Folded" in comment
    if match is None or (not spill and "scratch_" not in code):
        return
    offset = _OFFSET.search(code)
    first = int(offset[1] if offset else 0)
    slots = range(first, first + 4 * int(match[2] or 1), 4) if spill else ()
    stores = match[1] == "store"
    yield StackAccess(index, stores, reads if stores and spill else 0, tuple(slots))


def _access(opcode: str, line: str) -> RegisterAccess:
    operands = line.strip().partition(" ")[2] if "\t" not in line.strip() else line.split(None, 1)[-1]
    first, _, rest = operands.partition(",")
    if not _writes(opcode, line):
        return RegisterAccess(_mask(operands))
    writes = _mask(first)
    reads = _mask(rest)
    if _IN_PLACE.match(opcode) or "UNUSED_PRESERVE" in rest:
        reads |= writes
    if opcode.startswith("v_swap"):
        writes |= reads
    return RegisterAccess(reads, writes)


def _writes(opcode: str, line: str) -> bool:
    """Return True if the first operand is a result."""
    if _STORE.match(opcode) or " lds" in line or "_lds_" in opcode:
        return False
    if _ATOMIC.match(opcode):
        return _RETURNS.search(line) is not None
    if opcode.startswith("ds_"):
        return _LDS_RESULT.match(opcode) is not None
    return True


def _mask(text: str) -> int:
    mask = 0
    for kind, single, start, end in _OPERAND_REGISTER.findall(text):
        first = int(single or start)
        last = int(end or first)
        if first <= last < _NUMBER:
            mask |= ((1 << (last - first + 1)) - 1) << (first + (_NUMBER if kind == "a" else 0))
    return mask


LANGUAGE = Language(
    name="amdgcn",
    parse=parse,
    lexer=lexer,
    strip_debug=strip_debug,
    directive=_DIRECTIVE,
    branches=branches,
    registers=register_use,
    polls=re.compile(r"^s_sleep"),
    names_are_values=False,
    symbol=re.compile(r"(?<![\w.$])([A-Za-z_$][\w$.]*)(?=@)"),
    register=r"\b(?:[vsa]|ttmp)(?:\d+|\[\d+(?::\d+)?\])(?!\w)",
    register_classes=frozenset(["v", "s", "a", "ttmp", "vcc", "exec", "m0"]),
    comment=";",
    header=re.compile(
        r"\.amdhsa_|\.amdgcn_target|\.(?:group_segment_fixed_size|private_segment_fixed_size"
        r"|kernarg_segment_size|max_flat_workgroup_size|[sv]gpr_(?:count|spill_count)|agpr_count"
        r"|wavefront_size):"
    ),
    modifiers=frozenset(["e32", "e64", "dpp", "sdwa", "lo", "hi"]),
    heavy=re.compile(r"v_mfma|v_wmma|global_|buffer_|ds_|flat_|scratch_"),
)
