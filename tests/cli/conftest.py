"""A small capture made of plain text, and irscope run on it as a user runs it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from irscope.cli.main import main
from irscope.model import Argument, Config, Failure, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target

VERSIONS = {"triton": "3.9.0", "python": "3.11.0"}
KERNEL = SourceFunction(
    "add_kernel", "add.py", 3, "@triton.jit\ndef add_kernel(x, BLOCK: tl.constexpr):\n    pass\n"
)
HELPER = SourceFunction("twice", "helpers.py", 9, "@triton.jit\ndef twice(x):\n    return x + x\n")

TTGIR = """#blocked = #ttg.blocked<{{sizePerThread = [{per}], threadsPerWarp = [32], warpsPerCTA = [4]}}>
#loc = loc("add.py":3:0)
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}} {{
  tt.func public @add_kernel(%x: !tt.ptr<f32> {{tt.divisibility = 16 : i32}} loc("x"(#loc))) {{
    %c = arith.constant {block} : i32 loc(#loc1)
    %pid = tt.get_program_id x : i32 loc(#loc2)
    %start = arith.muli %pid, %c : i32 loc(#loc2)
    %range = tt.make_range {{end = {block} : i32, start = 0 : i32}} : tensor<{block}xi32, #blocked> loc(#loc2)
    %base = tt.splat %x : !tt.ptr<f32> -> tensor<{block}x!tt.ptr<f32>, #blocked> loc(#loc2)
    %ptrs = tt.addptr %base, %range : tensor<{block}x!tt.ptr<f32>, #blocked>, tensor<{block}xi32> loc(#loc2)
    %v = tt.load %ptrs : tensor<{block}x!tt.ptr<f32>, #blocked> loc(#loc3)
    tt.store %ptrs, %v : tensor<{block}x!tt.ptr<f32>, #blocked> loc(#loc3)
    tt.return loc(#loc3)
  }} loc(#loc)
}} loc(#loc)
#loc1 = loc(unknown)
#loc2 = loc("add.py":4:9)
#loc3 = loc(callsite(#loc1 at #loc2))
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def specialization(block: int) -> tuple[Argument, ...]:
    return (Argument("x", "*fp32", "D"), Argument("BLOCK", "constexpr", None, block))


def write_capture(path: Path) -> Path:
    """Four variants of add_kernel: #1 and #2 differ in BLOCK, #3 equals #2 but for its name, #4 failed."""
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain(VERSIONS, "irscope compile add.py")
        kernel = writer.add_kernel(KERNEL, (HELPER,), ("x", "BLOCK"))
        for block, stages, per in ((64, 3, 1), (128, 3, 2), (128, 4, 2)):
            ttgir = TTGIR.format(block=block, per=per).encode()
            new = NewVariant(
                parse_target("cuda:90"),
                specialization(block),
                Config((("BLOCK", block), ("num_stages", stages))),
                metadata={"shared": 0, "num_warps": 4},
                seconds={"ttgir": 0.25},
                log=f"ptxas info    : Used {block // 4} registers\n",
                artifacts={"ttgir": ttgir, "cubin": b"\x7fELF not really \x00\xff"},
            )
            writer.add_variant(kernel, toolchain, "3.9.0", new)
        failure = Failure("CompilationError", "arange's range \x1b[31mbad", "at 14:9:\n  tl.arange(0, 3)\n")
        config = Config((("BLOCK", 96), ("num_stages", 3)))
        broken = NewVariant(parse_target("cuda:90"), specialization(96), config, failure=failure)
        writer.add_variant(kernel, toolchain, "3.9.0", broken)
    return path


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_capture(tmp_path / "add.irscope")


@pytest.fixture
def irscope(tmp_path: Path) -> Run:
    """Runs irscope in `tmp_path`; text output unless text=False is given.

    In this process, which saves a start of Python per call; process=True starts one, as a user does.
    """

    def run(
        *words: object, text: bool = True, process: bool = False, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80", **environment}
        arguments = list(map(str, words))
        if process:
            command = [sys.executable, "-m", "irscope", *arguments]
            return subprocess.run(
                command, capture_output=True, text=text, cwd=tmp_path, env=env, timeout=60, check=False
            )
        return run_in_process(arguments, tmp_path, env, text)

    return run


def run_in_process(
    arguments: list[str], folder: Path, environment: dict[str, str], text: bool
) -> subprocess.CompletedProcess[str]:
    """Runs main() in `folder` with `environment`, and what it prints as of a process with pipes."""
    encoding = environment["PYTHONIOENCODING"]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding, write_through=True) for _ in range(2)]
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "stdin", io.StringIO()),
        mock.patch.object(sys, "stdout", streams[0]),
        mock.patch.object(sys, "stderr", streams[1]),
    ):
        before = Path.cwd()
        os.chdir(folder)
        try:
            code = main(arguments)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        finally:
            os.chdir(before)
    printed: list[Any] = [stream.buffer.getvalue() for stream in streams]  # type: ignore[attr-defined]
    if text:
        printed = [content.decode(encoding) for content in printed]
    return subprocess.CompletedProcess(arguments, code, *printed)
