"""The source lines of SASS; LLVM and ptxas count the lines of inline assembly as lines of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import irscope
from irscope.compiling.toolchain.triton_layouts import installed_triton
from irscope.facts.source.map import in_lines_of_ptx
from irscope.languages.language import parse
from irscope.layouts.convert import triton_version
from irscope.targets.elf import ptx_line_table
from irscope.workspace import Workspace

FILE = Path(__file__).with_name("inline_asm_kernels.py")
SIGNATURE = "*fp32:16, *fp32:16, *fp32:16, i32:16"


def line_of(start: str) -> int:
    lines = FILE.read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(start))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[Workspace]:
    pytest.importorskip("triton")
    from tests.findings.inline_asm_kernels import two_loads

    path = tmp_path_factory.mktemp("inline") / "two_loads.irscope"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        found = irscope.compile(two_loads, path, SIGNATURE, config={"BLOCK": [1024]}, jobs=1)
    with found:
        yield found


def test_loads_of_sass_have_the_line_of_their_statement(capture):
    variant = capture.variants[0]
    document = capture.document(variant, "sass")
    places = {
        opcode: sorted({one.location.line for one in document.operations if one.opcode.startswith(opcode)})
        for opcode in ("LDG", "STG")
    }
    assert places == {"LDG": [line_of("x ="), line_of("y =")], "STG": [line_of("tl.store")]}


def test_no_instruction_is_below_the_kernel(capture):
    """With Triton 3.8 and later, nvdisasm itself prints lines that the file does not have."""
    variant = capture.variants[0]
    last = line_of("tl.store")
    printed = parse(capture.text(variant, "sass"), "sass")
    below = max(one.location.line for one in printed.operations if one.location) > last
    assert below == (triton_version(installed_triton() or "") >= (3, 8))
    lines = [one.location.line for one in capture.document(variant, "sass").operations if one.location]
    assert max(lines) == last
    assert {value.lines[0].line for value in capture.registers(variant).values} <= {0, *range(1, last + 1)}


def test_a_cubin_without_a_line_table_changes_nothing(capture):
    variant = capture.variants[0]
    printed, ptx = (parse(capture.text(variant, stage), stage) for stage in ("sass", "ptx"))
    assert in_lines_of_ptx(printed, ptx, ptx_line_table(b"no ELF file")) is printed
    cubin = capture.content(variant, "cubin")
    damaged = cubin.replace(b".nv_debug_line_sass", b".nv_debug_line_none")
    assert ptx_line_table(cubin) and ptx_line_table(damaged) == []
