"""Liveness of registers: against a naive search of paths, against nvdisasm, and on lines written by hand."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.compiling.processes.disassembler import find_nvdisasm
from irscope.facts.registers.live_values import peak_operation
from irscope.facts.registers.liveness import Definitions, MachineCode, bits, machine_code
from irscope.languages.amdgcn import register_use as amdgcn_use
from irscope.languages.control_flow import control_flow, find_loops
from irscope.languages.document import Document
from irscope.languages.language import parse
from irscope.languages.registers import RegisterAccess
from irscope.languages.sass_registers import instruction_access
from irscope.workspace import Workspace
from tests.conftest import Irscope
from tests.findings.builders import DATA, stored


def analyzed(text: str, language: str) -> MachineCode:
    code = machine_code(parse(text, language))
    assert code is not None
    return code


def numbers(mask: int) -> str:
    """A mask as the data file has it: `4-7 12`."""
    found: list[list[int]] = []
    for bit in bits(mask):
        if found and found[-1][1] == bit - 1:
            found[-1][1] = bit
        else:
            found.append([bit, bit])
    return " ".join(f"{first}-{last}" if first != last else str(first) for first, last in found)


def sass_examples() -> list[tuple[str, str, str]]:
    lines = (DATA / "registers" / "sass_operands.tsv").read_text().splitlines()[1:]
    return [tuple(line.split("\t")) for line in lines]  # type: ignore[misc]


def test_sass_operands_are_those_that_nvdisasm_marks():
    examples = sass_examples()
    assert len(examples) > 150
    wrong = []
    for code, written, read in examples:
        predicate, _, rest = code.partition(" ") if code.startswith("@") else ("", "", code)
        opcode, _, operands = rest.removesuffix(" ;").partition(" ")
        access = instruction_access(opcode, operands, f"{predicate} " if predicate else "")
        if (numbers(access.writes), numbers(access.reads)) != (written, read):
            wrong.append((code, numbers(access.writes), written, numbers(access.reads), read))
    assert not wrong


@pytest.mark.parametrize(
    ("line", "written", "read"),
    [
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", "512-527", "0-3 512-527"),
        ("v_fmac_f32_e32 v1, v2, v3", "1", "1-3"),
        ("global_load_dwordx4 v[4:7], v[0:1], off", "4-7", "0-1"),
        ("global_store_dwordx2 v[0:1], v[4:5], off", "", "0-1 4-5"),
        ("global_atomic_add_f32 v0, v1, s[0:1]", "", "0-1"),
        ("global_atomic_add v2, v0, v1, s[0:1] sc0", "2", "0-1"),
        ("ds_read_b64 v[2:3], v4 offset:8", "2-3", "4"),
        ("ds_add_u32 v4, v5", "", "4-5"),
        ("ds_add_rtn_u32 v6, v4, v5", "6", "4-5"),
        ("buffer_load_dwordx4 v1, s[0:3], s4 offen lds", "", "1"),
        ("v_cmp_gt_i32_e32 vcc, s3, v9", "", "9"),
        ("s_add_i32 s2, s3, s4", "", ""),
        ("scratch_store_dword off, v7, off offset:40 ; 4-byte Folded Spill", "", "7"),
    ],
)
def test_amdgcn_operands(line: str, written: str, read: str):
    (access,) = amdgcn_use(parse(f"\t{line}\n", "amdgcn")).accesses
    assert (numbers(access.writes), numbers(access.reads)) == (written, read)


PTX = """.visible .entry k()
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<3>;
	mov.b32 %r1, 0;
	ld.param.u64 %rd1, [k_param_0];
$L__BB0_1:
	ld.global.b32 %r2, [%rd1];
	add.s32 %r1, %r1, %r2;
	setp.lt.s32 %p1, %r1, 100;
	@%p1 bra $L__BB0_1;
	st.global.b32 [%rd1], %r1;
	ret;
}
"""


def test_a_loop_keeps_what_its_next_iteration_reads():
    code = analyzed(PTX, "ptx")
    # r1; r1 + rd1 (2); + r2; r1 + rd1; ...; the predicate does not count.
    assert code.liveness.pressure == [1, 3, 4, 4, 3, 3, 3, 0]
    assert code.document.operations[peak_operation(code, find_loops(code.document))].opcode == "ld.global.b32"


def test_sass_counts_operands_and_results_together():
    text = """.text.k:
        /*0000*/ S2R R2, SR_TID.X ;
        /*0010*/ IMAD.WIDE R4, R2, 0x4, R2 ;
        /*0020*/ @P0 MOV R6, R2 ;
        /*0030*/ STG.E.64 [R4.64], R6 ;
        /*0040*/ EXIT ;
"""
    # R1 is the stack pointer. R6 may not be written by the predicated move, so it is live from the start,
    # as is R3, the upper half of the wide addend, and R7, the upper half of what is stored.
    assert analyzed(text, "sass").liveness.pressure == [5, 7, 6, 5, 1]


def naive_live(document: Document, accesses: Sequence[RegisterAccess], at: int, register: int) -> bool:
    """Whether a path from operation `at` reads `register` before a certain write, by walking all paths."""
    graph = control_flow(document)
    last = {block.end - 1: block for block in graph.blocks}
    seen, stack = set(), [at]
    while stack:
        operation = stack.pop()
        if operation in seen:
            continue
        seen.add(operation)
        access = accesses[operation]
        if access.reads >> register & 1:
            return True
        if access.certain and access.writes >> register & 1:
            continue
        if operation in last:
            stack += [graph.blocks[following].start for following in last[operation].successors]
        else:
            stack.append(operation + 1)
    return False


@st.composite
def programs(draw: st.DrawFn) -> str:
    """PTX with branches to any instruction; every register may be read before it is written."""
    size = draw(st.integers(1, 14))
    register = st.integers(0, 4)
    lines = [".visible .entry k()", "{", ".reg .b32 %r<9>;", ".reg .b64 %rd<9>;"]
    for at in range(size):
        lines.append(f"$L{at}:")
        a, b, c = (f"%r{draw(register)}" for _ in range(3))
        wide = f"%rd{draw(register)}"
        target = f"$L{draw(st.integers(0, size - 1))}"
        statements = [
            f"add.s32 {a}, {b}, {c};",
            f"@%p1 mov.b32 {a}, {b};",
            f"cvt.u64.u32 {wide}, {a};",
            f"st.global.b32 [{wide}], {a};",
            f"@%p1 bra {target};",
            f"bra {target};",
            "ret;",
        ]
        lines.append(draw(st.sampled_from(statements)))
    return "\n".join([*lines, "ret;", "}"])


@given(programs())
def test_pressure_equals_a_search_of_all_paths(text: str):
    code = analyzed(text, "ptx")
    live, use = code.liveness, code.use
    registers = range(max(access.reads | access.writes for access in use.accesses).bit_length())
    for at, access in enumerate(use.accesses):
        before = sum(1 << r for r in registers if naive_live(code.document, use.accesses, at, r))
        assert live.before(at) == before
        assert live.pressure[at] >= max(use.file.count(before), use.file.count(access.writes))
        assert live.pressure[at] == use.file.count(live.occupied(at))


@given(programs(), st.integers(0, 14))
def test_definitions_are_the_writes_that_reach_a_point(text: str, point: int):
    """The brute force follows every write forward until it is overwritten."""
    code = analyzed(text, "ptx")
    graph, accesses = code.liveness.graph, code.use.accesses
    at = min(point, len(accesses) - 1)
    every = sum(mask for mask, _ in code.use.file.weights)
    found = Definitions(graph, accesses).before(at, every)
    last = {block.end - 1: block for block in graph.blocks}
    for register, definitions in found.items():
        expected = set()
        for start, access in enumerate(accesses):
            if not access.writes >> register & 1:
                continue
            seen: set[int] = set()
            stack = [start]
            while stack:
                operation = stack.pop()
                following = (
                    [graph.blocks[one].start for one in last[operation].successors]
                    if operation in last
                    else [operation + 1]
                )
                for after in following:
                    if after == at:
                        expected.add(start)
                    killed = accesses[after].certain and accesses[after].writes >> register & 1
                    if after not in seen and not killed:
                        seen.add(after)
                        stack.append(after)
        assert definitions == expected


@pytest.mark.parametrize(
    ("name", "stage", "highest"),
    [
        ("matmul_kernel.cuda-90.BLOCK_M=64", ".sass", 62),
        ("softmax_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0", ".sass", 20),
        ("matmul_kernel.hip-gfx942", ".amdgcn", 61),
        ("softmax_kernel.hip-gfx942.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0", ".amdgcn", 23),
    ],
)
def test_the_pressure_of_committed_stages_is_near_the_highest_register(name: str, stage: str, highest: int):
    code = analyzed(stored(name, stage), stage[1:])
    assert 0.8 * highest <= max(code.liveness.pressure) <= highest


def test_a_text_that_is_too_large_is_unknown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("irscope.facts.registers.liveness._MAX_BITS", 5)
    assert machine_code(parse(PTX, "ptx")) is None


def life_ranges(cubin: Path) -> list[int]:
    """The live general registers at each instruction as nvdisasm counts them."""
    program = find_nvdisasm()
    assert program is not None
    done = subprocess.run([program, "-c", "-plr", cubin], capture_output=True, text=True, check=True)
    counts = []
    for line in done.stdout.split("\n"):
        code, bar, ranges = line.partition("// |")
        if bar and "/*" in code and ";" in code:
            words = ranges.partition("|")[0].split()
            counts.append(int(words[0]) if words and words[0].isdecimal() else 0)
    return counts


KERNEL = """
import triton, triton.language as tl

@triton.jit
def dots(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, i, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, n, BK):
        x = tl.load(a + m[:, None] * n + start + k[None, :], mask=(start + k)[None, :] < n)
        y = tl.load(b + (start + k)[:, None] * BN + i[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * BN + i[None, :], tl.exp(acc) / tl.sum(acc, axis=1)[:, None])
"""


@pytest.mark.slow
@pytest.mark.parametrize("n", ["i32", "i32:16"])
def test_pressure_equals_that_of_nvdisasm(irscope: Irscope, tmp_path: Path, n: str):
    """At every instruction, for mma.sync (BM=16) and wgmma. nvdisasm rejects kernels with 255 registers."""
    (tmp_path / "k.py").write_text(KERNEL)
    words = ("--config", "BM=16,64", "--config", "BN=64", "--config", "BK=32", "-o", "m.irscope")
    done = irscope("compile", "k.py", "--signature", f"*fp16:16, *fp16:16, *fp32:16, {n}", *words)
    assert done.returncode == 0, done.stderr
    compared = 0
    with Workspace(tmp_path / "m.irscope") as workspace:
        for variant in workspace.variants:
            report = workspace.registers(variant)
            assert report.peak is not None and report.allocated is not None
            assert 0.6 * report.allocated < report.peak <= report.allocated
            assert sum(value.registers for value in report.values) == report.peak
            if report.allocated < 255:
                (tmp_path / "k.cubin").write_bytes(workspace.content(variant, "cubin"))
                counts = life_ranges(tmp_path / "k.cubin")
                ours = analyzed(workspace.text(variant, "sass"), "sass").liveness.pressure
                # SASS ends with a jump to itself and padding, which nvdisasm counts differently.
                end = len(counts) - 1
                assert [int(number) for number in ours[:end]] == counts[:end]
                compared += 1
    assert compared >= 2
