"""A deliberately simple second count of what a variant's stages contain.

It shares nothing with irscope: a regular expression per line, from the PTX ISA, AMD's ISA documents, and
the text that Triton, ptxas and LLVM print. Registers and stack come from cuobjdump (AMD: from the comments
below the kernel), spills from the log of ptxas. It is slow and trusts its input.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

Places = Mapping[tuple[str, int | None], Counter[str]]

_DTYPE = r"\.(?:b|u|s|f|bf)(\d+)(x2)?$"
_REGISTERS = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}


def _bytes(opcode: str) -> int:
    """`ld.global.v4.b32`: 16."""
    found = re.search(_DTYPE, opcode)
    vector = re.search(r"\.v(\d)\.", opcode)
    assert found, opcode
    return int(found[1]) // 8 * (2 if found[2] else 1) * (int(vector[1]) if vector else 1)


def ptx_effects(opcode: str, line: str) -> list[tuple[str, str]]:
    """The kinds of accesses of one PTX instruction, and their text in a finding."""
    dotted = "." + opcode + "."
    if re.match(r"(ld|st)\.", opcode):
        for space in ("global", "shared", "local"):
            if re.search(rf"\.{space}(::\w+)?\.", dotted):
                kind = f"{space} {'load' if opcode.startswith('ld') else 'store'}"
                name = "st.async " if opcode.startswith("st.async") else ""
                if not name and "shared::cluster" in opcode:
                    name = f"{opcode[:2]}.shared::cluster "
                return [(kind, f"{name}{_bytes(opcode)}-byte")]
        return []
    if found := re.match(r"(ld|st)matrix\..*?(m8n8|m16n16|m8n16|m16n8)\.x([124])\.", opcode):
        size = 4 * int(found[3]) * (2 if found[2] == "m16n16" else 1)
        return [(f"shared {'load' if found[1] == 'ld' else 'store'}", f"{found[1]}matrix {size}-byte")]
    if found := re.match(r"(atom|red)\.", opcode):
        return [_ptx_atomic(found[1], opcode, dotted)]
    if opcode.startswith("cp.async.cg"):
        return [("async copy", "cp.async"), ("global load", "16-byte")]
    if opcode.startswith("cp.async.ca"):
        size = re.search(r"\], (0x[0-9a-f]+|\d+)", line)
        assert size, line
        return [("async copy", "cp.async"), ("global load", f"{int(size[1], 0)}-byte")]
    if re.match(r"cp\.async\.bulk\.(tensor\.\dd\.)?(shared|global)", opcode):
        unit = "cp.async.bulk.tensor" if ".tensor." in opcode else "cp.async.bulk"
        stores = re.search(r"\.(shared|global)", opcode)[1] == "global"  # type: ignore[index]
        return [("async copy", f"{unit} {'store' if stores else 'load'}")]
    if found := re.match(r"(mma|wgmma)\..*?\.(m\d+n\d+k\d+)\.", opcode):
        return [("matrix", f"{'mma.sync' if found[1] == 'mma' else 'wgmma'}.{found[2]}")]
    if opcode.startswith("tcgen05.mma"):
        kind = re.search(r"\.kind::\w+", opcode)
        return [("matrix", f"tcgen05.mma{'.sp' if '.sp.' in dotted else ''}{kind[0] if kind else ''}")]
    if found := re.match(r"tcgen05\.(ld|st)\.sync\.aligned\.(\w+)\.x(\d+)", opcode):
        size = 4 * _REGISTERS[found[2]] * int(found[3])
        return [(f"tensor memory {'load' if found[1] == 'ld' else 'store'}", f"{size}-byte")]
    return []


def _ptx_atomic(unit: str, opcode: str, dotted: str) -> tuple[str, str]:
    operation = re.search(r"\.(add|and|or|xor|cas|exch|min|max|inc|dec)\.", dotted)
    scope = re.search(r"\.(cta|cluster|gpu|sys)\.", dotted)
    order = re.search(r"\.(relaxed|acquire|release|acq_rel)\.", dotted)
    kind = "shared atomic" if ".shared" in opcode else "global atomic"
    name = f"{unit}.{operation[1] if operation else '?'}.{opcode.rpartition('.')[2]}"
    return (
        kind,
        f"{name} {_bytes(opcode)}-byte {scope[1] if scope else 'gpu'} {order[1] if order else 'relaxed'}",
    )


def amdgcn_effects(opcode: str, line: str) -> list[tuple[str, str]]:
    """The kinds of accesses of one AMDGCN instruction, and their text in a finding."""
    if re.match(r"v_(mfma|wmma|smfmac|swmmac)_", opcode):
        return [("matrix", opcode)]
    if found := re.match(r"ds_(read|write|load|store)(2\w*?|_2addr\w*?|)_(?:tr\d+_)?[bui](\d+)", opcode):
        size = int(found[3]) // 8 * (2 if found[2] else 1)
        name = f"{opcode} " if "_tr" in opcode else ""
        return [(f"shared {'load' if found[1] in ('read', 'load') else 'store'}", f"{name}{size}-byte")]
    if (
        opcode.startswith("ds_")
        and re.search(r"_[uifb]+\d+$", opcode)
        and not re.search("permute|swizzle", opcode)
    ):
        size = int(re.findall(r"\d+", opcode)[-1]) // 8 * (2 if "_pk_" in opcode else 1)
        return [("shared atomic", f"{opcode} {size}-byte")]
    if found := re.match(r"(?:global|buffer|flat)_atomic_(\w+)", opcode):
        number = re.search(r"[a-z](16|32|64)$", found[1])
        size = int(number[1]) // 8 if number else 8 if found[1].endswith("x2") else 4
        scope = re.search(r"scope:SCOPE_(\w+)", line)
        named = {"SE": " workgroup", "DEV": " agent", "SYS": " system"}[scope[1]] if scope else ""
        return [("global atomic", f"{opcode} {size * (2 if '_pk_' in opcode else 1)}-byte{named}")]
    if found := re.match(r"(global|buffer|flat|scratch)_(load|store)_(\w+)", opcode):
        return _amd_access(found, line)
    return []


def _amd_access(found: re.Match[str], line: str) -> list[tuple[str, str]]:
    suffix = found[3]
    if dwords := re.search(r"dword(?:x(\d))?$", suffix):
        size = 4 * int(dwords[1] or 1)
    elif bits := re.search(r"(?:^|_)[bui](\d+)$", suffix):
        size = int(bits[1]) // 8
    else:
        size = 1 if "byte" in suffix else 2
    local = found[1] == "scratch" or (found[1] == "buffer" and "Folded" in line)
    access = (f"{'local' if local else 'global'} {found[2]}", f"{size}-byte")
    to_lds = line.rstrip().endswith(" lds") or "_lds" in suffix or suffix.startswith("lds")
    return [("async copy", "load to LDS"), access] if to_lds else [access]


@dataclass
class Side:
    """One variant: its stages by name, Triton's metadata, and the log of ptxas."""

    target: str
    kernel: str
    metadata: Mapping[str, Any]
    stages: Mapping[str, bytes]
    log: str
    source: str = ""
    first_line: int = 1
    reasons: str = ""
    cache: dict[str, Any] = field(default_factory=dict)

    def text(self, stage: str) -> str:
        """The text of a stage; "" if it is missing."""
        return self.stages.get(stage, b"").decode("utf-8", "replace")

    @property
    def nvidia(self) -> bool:
        """Whether the target is one of NVIDIA's."""
        return self.target.startswith("cuda")

    @cached_property
    def assembly(self) -> list[str]:
        """The lines of PTX or AMDGCN."""
        return self.text("ptx" if self.nvidia else "amdgcn").split("\n")

    @cached_property
    def instructions(self) -> list[tuple[str, int | None, str]]:
        """(opcode, line of the kernel, text) of each instruction."""
        return list(_instructions(self.assembly, self.nvidia))

    @cached_property
    def def_line(self) -> int:
        """The line of the kernel's `def`."""
        lines = self.source.split("\n")
        return self.first_line + next(
            (at for at, line in enumerate(lines) if line.strip().startswith("def ")), 0
        )

    @cached_property
    def places(self) -> Places:
        """The accesses of each line of the kernel: text of an access and number, by kind and line."""
        found: dict[tuple[str, int | None], Counter[str]] = {}
        effects = ptx_effects if self.nvidia else amdgcn_effects
        moved = iter(self.moved_loads)
        for opcode, line, text in self.instructions:
            for kind, effect in effects(opcode, text):
                place = line
                if effect == "cp.async.bulk.tensor load" and line == self.def_line:
                    place = next(moved, None)
                found.setdefault((kind, place), Counter())[effect] += 1
        return found

    @cached_property
    def moved_loads(self) -> list[int | None]:
        """The lines of the loads that warp specialization moved to the line of `def`, by descriptor."""
        ttir, ttgir = self.text("ttir"), self.text("ttgir")
        numbers = dict(re.findall(r'^(#loc\d*) = loc\("[^"]*":(\d+):\d+\)', ttgir, re.M))
        named = dict(re.findall(r'^(#loc\d*) = loc\("[^"]*"\((#loc\d*)\)\)', ttgir, re.M))
        copies = re.findall(r"async_tma_copy_global_to_local %(\w+)\[.*loc\((#loc\d*)\)", ttgir)
        own = [name for name, loc in copies if numbers.get(named.get(loc, loc)) == str(self.def_line)]
        lines = [self._load_line(ttir, re.sub(r"(_\d+)+$", "", name)) for name in own]
        total = sum(
            1 for opcode, line, _ in self.instructions
            if line == self.def_line and re.match(r"cp\.async\.bulk\.tensor\.\dd\.shared", opcode)
        )  # fmt: skip
        each = total // len(lines) if lines and total % len(lines) == 0 else 0
        return [line for line in lines for _ in range(each)]

    def _load_line(self, ttir: str, name: str) -> int | None:
        numbers = dict(re.findall(r'^(#loc\d*) = loc\("[^"]*":(\d+):\d+\)', ttir, re.M))
        named = dict(re.findall(r'^(#loc\d*) = loc\("[^"]*"\((#loc\d*)\)\)', ttir, re.M))
        found = re.search(rf"descriptor_load %{name}\[.*loc\((#loc\d*)\)", ttir)
        number = numbers.get(named.get(found[1], found[1])) if found else None
        return int(number) if number else None

    @cached_property
    def resources(self) -> dict[str, int]:
        """Registers, stack, barriers, and bytes or registers of spills."""
        if self.nvidia:
            return _cuobjdump(self.stages["cubin"], self.kernel) | _ptxas(self.log)
        text = self.text("amdgcn")
        names = {
            "registers": r"; TotalNumVgprs: (\d+)|; NumVgprs: (\d+)",
            "stack": r"; ScratchSize: (\d+)",
            "scalar": r"; (?:TotalNumSgprs|NumSgprs): (\d+)",
            "vector spills": r"\.vgpr_spill_count: +(\d+)",
            "scalar spills": r"\.sgpr_spill_count: +(\d+)",
            "accumulation": r"; NumAgprs: (\d+)",
            "threads": r"\.max_flat_workgroup_size: +(\d+)",
        }
        found = {name: re.findall(pattern, text) for name, pattern in names.items()}
        return {name: max(_numbers(values)) for name, values in found.items() if values}

    @cached_property
    def threads(self) -> int:
        """Threads per block."""
        if not self.nvidia:
            return self.resources["threads"]
        found = re.search(r"^\.reqntid (\d+)", self.text("ptx"), re.M)
        assert found
        return int(found[1])

    @property
    def shared(self) -> int:
        """Bytes of shared memory per block: Triton's metadata repeats `ttg.shared` of LLVM's dialect."""
        return int(self.metadata["shared"])

    def layouts(self) -> list[tuple[str, str, dict[str, str]]]:
        """(alias, kind, fields) of each layout in TTGIR."""
        found = re.findall(r"^(#\w+) = #(\w+\.\w+)(?:<(.*)>)?$", self.text("ttgir"), re.M)
        return [(alias, kind, _fields(body)) for alias, kind, body in found]


def _fields(body: str) -> dict[str, str]:
    """`{vec = 8, order = [1, 0]}` as a dict; brackets are kept together."""
    return dict(re.findall(r"(\w+) = (\[\[.*?\]\]|\[[^\[\]]*\]|[^,{}\[\]]+)", body))


def _numbers(values: list[Any]) -> list[int]:
    flat = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    return [int(part) for part in flat if part]


def _cuobjdump(cubin: bytes, kernel: str) -> dict[str, int]:
    """The output of `cuobjdump -res-usage` from Triton's wheel."""
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(tool), "-res-usage", file.name]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(rf"Function {re.escape(kernel)}:\s+REG:(\d+) STACK:(\d+)", printed)
    assert found, printed
    return {"registers": int(found[1]), "stack": int(found[2])}


def _ptxas(log: str) -> dict[str, int]:
    spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
    barriers = re.search(r"used (\d+) barriers", log)
    found = {"barriers": int(barriers[1])} if barriers else {}
    return found | ({"spill stores": int(spills[1]), "spill loads": int(spills[2])} if spills else {})


def _instructions(lines: list[str], nvidia: bool) -> Iterator[tuple[str, int | None, str]]:
    """Each line that starts with a blank and an opcode, with the line that the last `.loc` names."""
    parents: dict[tuple[str, str, str], tuple[str, str, str] | None] = {}
    place: int | None = None
    seen = inline = metadata = False
    below = 0  # lines below the one that begins inline assembly
    pattern = r"[\s{]*(?:@!?%?\w+\s+)?([a-z][\w.:]*)(?=[\s;]|$)" if nvidia else r"\t([a-z]\w*)(?=\s|$)"
    for line in lines:
        code = line.split("//" if nvidia else ";", 1)[0].rstrip()
        below += 1
        if "begin inline asm" in line:
            inline, seen, below = True, False, 0
        elif "end inline asm" in line:
            inline = False
        elif line.strip().startswith(".loc"):
            if not (inline and seen and nvidia):
                # LLVM counts the lines of inline assembly on from the line of the statement.
                below -= 1
                place = _outermost(line, parents, below if inline and nvidia else 0)
            seen = True
        elif (line.startswith(".Lfunc_end") or re.match(r"\.section|\s+\.section", line)) and not nvidia:
            place = None
        if not nvidia:
            metadata = metadata or ".amdgpu_metadata" in line
        found = re.match(pattern, code)
        if found and not metadata and not code.endswith(":"):
            yield found[1], place, code if nvidia else line


def _outermost(line: str, parents: dict[Any, Any], below: int) -> int | None:
    """The line of the kernel itself that a `.loc` names: the last call of its inlining chain.

    `below` is how far the line is below its statement.
    """
    found = re.match(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)", line)
    assert found, line
    own: tuple[Any, ...] = (found[1], str(int(found[2]) - below), found[3])
    if calls := re.findall(r"@\[ [^\[\]]*?:(\d+):\d+", line):
        return int(calls[-1])
    caller = re.search(r"inlined_at (\d+) (\d+) (\d+)", line)
    if own[1] != "0":
        parents[own] = caller.groups() if caller else None
    at = caller.groups() if caller else own
    for _ in range(64):
        if at not in parents or parents[at] is None:
            break
        at = parents[at]
    return int(at[1]) or None
