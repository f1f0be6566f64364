"""Decoders of binaries have budgets: no cubin or code object, however it is made, takes long."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from irscope.compiling.processes import disassembler
from irscope.estimating.latency import Replay, ReplayInput
from irscope.estimating.machine_code import machine_instructions, machine_runs
from irscope.model import UserError
from irscope.targets.cuda import kernel_info
from irscope.targets.elf import code_digest, ptx_line_table, sections
from tests.hardening.binaries import decode, elf_file, line_program, nested_loops

TABLE = ".nv_debug_line_sass"


def cubin(program: bytes) -> bytes:
    return elf_file([(".text.k", 1, nested_loops(2)), (TABLE, 1, line_program(program))])


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize("size", [8_000, 900_000])
def test_a_number_without_an_end_ends_a_line_table(size: int) -> None:
    endless = cubin(b"\x02" + b"\xff" * size)
    assert seconds(lambda: ptx_line_table(endless)) < 0.5
    assert ptx_line_table(endless) == []


def test_numbers_of_a_line_table_have_ten_bytes_and_fit_a_machine_word() -> None:
    assert ptx_line_table(cubin(b"\x02\x90\x80\0\x03\x85\x80\0\x01")) == [(16, 6)]
    assert ptx_line_table(cubin(b"\x02" + b"\xff" * 9 + b"\x01\x01")) == []
    code = machine_instructions(cubin(b"\x03" + b"\xff" * 8 + b"\0\x01"), "k", 90)
    assert code is not None
    assert set(code.ptx_line.tolist()) == {-1}


def test_many_headers_cannot_name_the_same_bytes() -> None:
    content = elf_file([(".text.k", 1, bytes(1 << 20))], repeated=9_000)
    with pytest.raises(ValueError, match="overlap"):
        code_digest(content)
    with pytest.raises(ValueError, match="sections"):
        sections(elf_file([("x", 1, b"")], repeated=20_000))


def test_long_names_and_long_information_are_refused_or_clipped() -> None:
    assert max(len(each.name) for each in sections(elf_file([("n" * 100_000, 1, b"code")]))) == 4096
    with pytest.raises(ValueError, match=r"\.nv\.info .* more than"):
        kernel_info(elf_file([(".text.k", 1, bytes(64)), (".nv.info", 1, bytes(2 << 20))]), "k")
    symbols = elf_file(
        [(".text.k", 1, bytes(64)), (".symtab", 2, bytes(24 * 300_000)), (".strtab", 3, b"\0")]
    )
    with pytest.raises(ValueError, match="symbols"):
        kernel_info(symbols, "k")


def test_deep_and_long_loops_are_not_replayed() -> None:
    """Three passes are replayed of each level: 3 ** 20 steps."""
    for levels, problem in ((20, "steps"), (400, "nests more than")):
        code = machine_instructions(elf_file([(".text.k", 1, nested_loops(levels))]), "k", 90)
        assert code is not None
        runs = machine_runs(code, np.ones(1))
        assert len(runs.loops) == levels
        for number, loop in enumerate(runs.loops):
            loop.passes = 8.0 ** min(number + 1, 300)
        with pytest.raises(UserError, match=problem):
            Replay(code, runs, ReplayInput({})).cycles(700.0, 800.0)


@pytest.mark.slow
def test_every_decoder_takes_a_large_binary_of_loops() -> None:
    content = elf_file(
        [(".text.k", 1, nested_loops(100_000)), (TABLE, 1, line_program(bytes([248]) * 200_000))]
    )
    assert seconds(lambda: decode(content, "k")) < 5


def test_the_disassembler_has_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    endless = tmp_path / "nvdisasm"
    endless.write_text("#!/bin/sh\nwhile :; do echo endless; done\n")
    endless.chmod(0o755)
    monkeypatch.setattr(disassembler, "find_nvdisasm", lambda: endless)
    monkeypatch.setattr(disassembler, "_LIMITS", disassembler.ToolLimits(memory=1 << 30, written=1 << 16))
    with pytest.raises(UserError, match="nvdisasm: failed"):
        disassembler.disassemble(b"")
    endless.write_text("#!/bin/sh\nsleep 60\n")
    monkeypatch.setattr(disassembler, "_SECONDS", 0.2)
    with pytest.raises(UserError, match="not done in"):
        disassembler.disassemble(b"")
