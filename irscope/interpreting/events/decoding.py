"""Decodes PTX, and LLVM IR for AMD, as far as integers, branches, barriers and shared memory matter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from irscope.languages.document import Document

_GLOBAL = r"(?:getelementptr [\w ]*\(i8, ptr addrspace\(3\) @[\w.$]+, i\d+ (-?\d+)\)|@[\w.$]+)"
_PTX = re.compile(r"\s*(?:@(!?)(%\w+)\s+)?([a-z_][\w.:]*)\s*(.*?);")
_PTX_ARGUMENT = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+")
_LLVM = re.compile(r"\s*(?:(%[\w.\"-]+) = )?(?:tail |musttail )?([a-z_]+)\b(.*)")
_LLVM_VALUE = re.compile(r"%[\w.\"-]+|" + _GLOBAL + r"|(?<![\w.(])-?\d+(?![\w.])|\btrue\b|\bfalse\b")
_WIDTH = re.compile(r"<(\d+) x (\w+)>|\b(i\d+|half|bfloat|float|double|ptr)\b")
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}
_MATRIX_ROW = 16
_SIMPLE = frozenset(
    ("add", "sub", "mul", "div", "rem", "and", "or", "xor", "not", "neg", "shl", "shr", "min", "max", "bfe")
)
_PTX_NAMES = {"mad": "multiply-add", "cvt": "move", "cvta": "move"}
_PTX_UNSIGNED = {"lo": "lt", "hi": "gt", "ls": "le", "hs": "ge"}
_PTX_KINDS = _SIMPLE | {
    "move", "select", "multiply-add", "eq", "ne", "lt", "le", "gt", "ge", "elect", "number", "first lane",
}  # fmt: skip


@dataclass(slots=True)
class LoweredInstruction:
    """`kind` says what to do, `name` is how the text calls it; `arguments` are registers and numbers."""

    kind: str
    name: str
    result: str
    arguments: list[str]
    line: int
    guard: str = ""
    negated: bool = False
    size: int = 0
    targets: list[int] = field(default_factory=list)


# PTX.


def decode_ptx(document: Document) -> list[LoweredInstruction]:
    """Return the instructions of PTX that matter here."""
    code: list[LoweredInstruction] = []
    labels: dict[str, int] = {}
    for number, line in enumerate(document.lines):
        label = re.match(r"(\$L\w+):", line)
        if label:
            labels[label[1]] = len(code)
        match = _PTX.match(line)
        if match is None:
            continue
        negated, guard, name, rest = match.groups()
        instruction = _ptx_instruction(name, _PTX_ARGUMENT.findall(rest), number)
        if instruction is not None:
            instruction.guard, instruction.negated = guard or "", bool(negated)
            code.append(instruction)
    for instruction in code:
        if instruction.kind == "branch":
            instruction.targets = [labels.get(instruction.arguments[0], len(code))]
    return code


def _ptx_instruction(name: str, arguments: list[str], line: int) -> LoweredInstruction | None:
    base, _, modifiers = name.partition(".")
    if base in ("bra", "ret", "exit"):
        if arguments and not arguments[0].startswith("$"):
            return None  # inline assembly that waits for a barrier
        return LoweredInstruction("branch" if base == "bra" else "exit", name, "", arguments, line)
    memory = _ptx_waits(name, base, arguments, line) or _ptx_memory(name, base, arguments, line)
    if memory is not None or not arguments or re.search("f32|f64|f16", modifiers):
        return memory
    result, *rest = arguments
    if base == "mov":
        return _ptx_move(name, result, rest, line)
    kind = base
    if base == "elect":
        kind, result, rest = "elect", result.partition("|")[2], []
    elif base == "ld" and modifiers.startswith("param") and modifiers.endswith(("32", "b16")):
        kind, rest = "number", []
    elif base == "shfl" and ".idx." in name and rest[1:2] == ["0"]:
        kind, result, rest = "first lane", result.partition("|")[0], rest[:1]
    elif base == "setp":
        relation = modifiers.split(".")[0]
        kind = _PTX_UNSIGNED.get(relation, relation)
    elif base == "selp":
        kind, rest = "select", [rest[2], rest[0], rest[1]]
    elif base == "not" and "pred" not in modifiers:
        kind, rest = "xor", [*rest, "-1"]
    else:
        kind = _PTX_NAMES.get(base, base)
    return LoweredInstruction(kind, name, result, rest, line) if kind in _PTX_KINDS else None


def _ptx_move(name: str, result: str, rest: list[str], line: int) -> LoweredInstruction:
    if rest[0].startswith("{"):
        return LoweredInstruction("pack", name, result, _PTX_ARGUMENT.findall(rest[0][1:-1]), line)
    if rest[0].startswith("%tid.x"):
        return LoweredInstruction("thread", name, result, [], line)
    special = re.match(r"%(n?)(?:ctaid|tid|clusterid)", rest[0])
    return LoweredInstruction(
        "move", name, result, [("1" if special[1] else "0") if special else rest[0]], line
    )


def _ptx_waits(name: str, base: str, arguments: list[str], line: int) -> LoweredInstruction | None:
    kind, size = "", 0
    if base in ("bar", "barrier") and not name.startswith("bar.warp"):
        kind = "barrier"
    elif name.startswith("cp.async.commit_group"):
        kind = "commit"
    elif name.startswith(("cp.async.wait", "cp.async.bulk.wait_group")):
        kind, size = ("wait stores" if "bulk" in name else "wait"), int(arguments[0], 0) if arguments else 0
    elif name.startswith(("wgmma.mma_async", "tcgen05.mma")):
        descriptors = [item for item in arguments if item.startswith("%rd")]
        return LoweredInstruction("sample", name, "", descriptors, line, size=_MATRIX_ROW)
    return LoweredInstruction(kind, name, "", [], line, size=size) if kind else None


def _ptx_memory(name: str, base: str, arguments: list[str], line: int) -> LoweredInstruction | None:
    addresses = [item for item in arguments if item.startswith("[")]
    if not addresses or "shared" not in name:
        return None
    place = 0
    if name.startswith("cp.async.bulk.tensor"):
        place = 1 if ".global.shared" in name else 0
        kind, size = ("store" if place else "overwrite"), _MATRIX_ROW
    elif name.startswith("cp.async."):
        sizes = [item for item in arguments if not item.startswith(("[", "%"))]
        kind, size = "copy", int(sizes[0], 0) if sizes else 4
    elif base == "mbarrier":
        kind, size = ("write" if ".in" in name else "read"), 8
    elif base in ("ldmatrix", "stmatrix"):
        kind, size = ("read" if base == "ldmatrix" else "write"), _MATRIX_ROW
    elif base in ("ld", "st"):
        width = re.search(r"\.(?:v(\d)\.)?[bfus](\d+)$", name)
        size = int(width[1] or 1) * int(width[2]) // 8 if width else 4
        kind = "read" if base == "ld" else "write"
    else:
        return None
    return _memory(kind, name, addresses[place], line, size)


def _memory(kind: str, name: str, address: str, line: int, size: int) -> LoweredInstruction:
    parts = [part.strip() for part in address[1:-1].replace("-", "+-").split("+")]
    return LoweredInstruction(kind, name, "", [part for part in parts if part], line, size=size)


# LLVM IR.

_LLVM_NAMES = {
    "lshr": "shr", "ashr": "shr", "udiv": "div", "sdiv": "div", "urem": "rem", "srem": "rem",
    **dict.fromkeys(("zext", "sext", "trunc", "freeze", "bitcast", "ptrtoint", "inttoptr"), "move"),
    **{name: name for name in ("add", "sub", "mul", "and", "or", "xor", "shl", "select")},
}  # fmt: skip
_INTRINSICS = {"umin": "min", "smin": "min", "umax": "max", "smax": "max"}


def decode_llvm(document: Document) -> list[LoweredInstruction]:
    """Return the instructions of LLVM IR that matter here."""
    code: list[LoweredInstruction] = []
    labels: dict[str, int] = {}
    ends: dict[str, int] = {}
    block = ""
    for number, line in enumerate(document.lines):
        label = re.match(r"([\w.\"-]+):", line)
        if label:
            block = f"%{label[1]}"
            labels[block] = len(code)
        match = _LLVM.match(line)
        if match is None or not line.startswith(" "):
            if line.startswith("define"):
                code += [
                    LoweredInstruction("number", "argument", name, [], number)
                    for name in re.findall(r"i(?:16|32|64) (?:\w+ )*(%[\w.]+)", line)
                ]
            continue
        result, name, rest = match.groups()
        instruction = _llvm_instruction(name, result or "", re.sub(r", !.*| #\d+.*", "", rest), number)
        if instruction is not None:
            if name == "phi" and code and code[-1].kind == "phi":
                instruction.size = code[-1].size + 1
            code.append(instruction)
            if name == "br":
                ends[block] = len(code) - 1
    for instruction in code:
        if instruction.kind == "branch":
            instruction.targets = [labels.get(name, len(code)) for name in instruction.arguments]
        elif instruction.kind == "phi":
            pairs = zip(instruction.arguments[::2], instruction.arguments[1::2], strict=True)
            sources = {label: value for value, label in pairs}
            instruction.arguments = list(sources.values())
            instruction.targets = [ends.get(label, ends.get("", 0)) for label in sources]
    return code


def _llvm_instruction(name: str, result: str, text: str, line: int) -> LoweredInstruction | None:
    values = [match[0] for match in _LLVM_VALUE.finditer(text)]
    if name in ("load", "store", "getelementptr"):
        return _llvm_memory(name, result, text, line)
    if name == "call":
        return _llvm_call(result, text, line)
    kind, guard = _LLVM_NAMES.get(name, ""), ""
    if name == "br":
        kind, guard = "branch", values[0] if text.lstrip().startswith("i1") else ""
        values = re.findall(r"label (%[\w.\"-]+)", text)
    elif name == "ret":
        kind, values = "exit", []
    elif name == "phi":
        kind = "phi"
        values = [item for pair in re.findall(r"\[ (.+?), (%[\w.\"-]+) \]", text) for item in pair]
    elif name == "icmp":
        relation = text.replace("samesign ", "").split()[0]
        kind, values = (relation if relation in ("eq", "ne") else relation[1:]), values[-2:]
    elif "<" in text:
        return None
    return LoweredInstruction(kind, name, result, values, line, guard=guard) if kind else None


def _llvm_memory(name: str, result: str, text: str, line: int) -> LoweredInstruction | None:
    kind, _, rest = text.partition("ptr addrspace(3) ")
    if not rest:
        return None
    width = _WIDTH.search(kind)
    if width is None:
        return None
    count, element = (int(width[1]), width[2]) if width[1] else (1, width[3])
    size = count * (_BYTES.get(element) or max(1, int(element[1:]) // 8))
    values = [match[0] for match in _LLVM_VALUE.finditer(rest)]
    if name == "getelementptr":
        array = re.match(r".*?\[(\d+) x i8\]", kind)
        return LoweredInstruction(
            "address", name, result, [values[0], values[-1]], line, size=int(array[1]) if array else size
        )
    return LoweredInstruction("read" if name == "load" else "write", name, "", values[:1], line, size=size)


def _llvm_call(result: str, text: str, line: int) -> LoweredInstruction | None:
    match = re.search(r"@llvm\.([\w.]+)\((.*)\)|asm sideeffect \"([^\"]*)", text)
    if match is None:
        return None
    name, arguments, assembly = match[1] or "", match[2] or "", match[3] or ""
    operands = [item[0] for item in _LLVM_VALUE.finditer(arguments)]
    copies = _llvm_copies(name, arguments, operands, line)
    if copies is not None:
        return copies
    kind, used = _INTRINSICS.get(name.split(".")[0], ""), operands[:2]
    if "s_barrier" in assembly or name in ("amdgcn.s.barrier", "amdgcn.s.barrier.wait"):
        kind, used = "barrier", []
    elif name in ("amdgcn.workitem.id.x", "amdgcn.wave.id"):
        kind, used = ("warp" if "wave" in name else "thread"), []
    elif name.startswith("amdgcn.workgroup.id"):
        kind, used = "move", ["0"]
    elif name.startswith("amdgcn.readfirstlane"):
        kind, used = "first lane", operands[:1]
    return LoweredInstruction(kind, name, result, used, line) if kind else None


def _llvm_copies(name: str, arguments: str, operands: list[str], line: int) -> LoweredInstruction | None:
    """Return AMD's copies to shared memory, the wait for them, or its transposing loads."""
    shared = re.search(r"ptr addrspace\(3\) (?:\w+ )*?(%[\w.\"-]+|" + _GLOBAL + ")", arguments)
    kind, used, size = "", [shared[1]] if shared else [], 0
    if name.startswith(("amdgcn.wait.asyncmark", "amdgcn.s.wait.asynccnt")):
        kind, size = "wait", int(operands[-1])
    elif name == "amdgcn.asyncmark":
        kind = "commit"
    elif shared and name.startswith("amdgcn.global.load.async.to.lds"):
        kind, size = "copy", int(name.rpartition(".b")[2]) // 8
    elif shared and "buffer.load.async.lds" in name:
        width = re.search(r"i32 (\d+)", arguments[shared.end() :])
        kind, size = "copy", int(width[1]) if width else 4
    elif shared and name.startswith(("amdgcn.ds.read.tr", "amdgcn.ds.load.tr")):
        kind, size = "read", _MATRIX_ROW if ".b128" in name else 8
    return LoweredInstruction(kind, name, "", used, line, size=size) if kind else None
