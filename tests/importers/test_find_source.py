"""Kernel headers in real stages of two Triton versions and in arbitrary text, and the Python they match."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.model import Argument, Config
from irscope.recording.importers.compilation import RawCompilation, assemble
from irscope.recording.importers.find_source import (
    PythonFiles,
    SourcePosition,
    functions_in,
    range_constants,
    read_header,
)
from irscope.recording.importers.untrusted import BadEntryError
from irscope.store import NewVariant
from irscope.targets import parse_target
from tests.importers.entries import STAGES

MODULE = """#loc = loc("/k/f.py":{line}:{column})
#loc1 = loc("desc"(#loc))
module {{
  tt.func public @k({arguments}) attributes {{noinline = false}} {{
    %a = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32> loc(#loc9)
    tt.return loc(#loc)
  }} loc(#loc)
}} loc(#loc)
#loc9 = loc("offsets"(#loc8))
#loc8 = loc("/k/f.py":{range_line}:{range_column})
"""


@pytest.mark.parametrize("version", ["3.6.0", "3.9.0"])
@pytest.mark.parametrize("stage", ["source", "ttir", "ttgir"])
def test_real_stages(version: str, stage: str):
    path = STAGES / f"add_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-{version}.{stage}"
    header = read_header(path.read_text())
    pointers = [Argument(name, "*fp32", "D") for name in ("x_ptr", "y_ptr", "out_ptr")]
    assert header.arguments == (*pointers, Argument("n", "i32", "D"))
    assert header.place and (header.place.line, header.named) == (7, True)
    assert header.place.file.endswith("kernels.py")
    assert [end for end, _ in header.ranges] == [1024]


@pytest.mark.parametrize(
    ("written", "argument"),
    [
        ("%x: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}", ("x", "*fp16", "DS")),
        ("%x: !tt.ptr<bf16>", ("x", "*bf16", "")),
        ("%x: !tt.ptr<f8E4M3FN, 1>", ("x", "*fp8e4nv", "")),
        ("%x: f32", ("x", "fp32", None)),
        ("%x: i1", ("x", "i1", None)),
        ("%x: i64 {tt.divisibility = 16 : i32}", ("x", "i64", "D")),
        ("%d: !tt.tensordesc<128x64xf16, #shared>", ("d", "tensordesc<fp16[128, 64]>", None)),
        ("%d: !tt.tensordesc<tensor<16xf32>>", ("d", "tensordesc<fp32[16]>", None)),
    ],
)
def test_types(written: str, argument: tuple[str, str, str | None]):
    line = f'{written} loc("x"(#loc)), %d.shape.0: i32 loc("d.shape.0"(#loc))'
    header = read_header(MODULE.format(arguments=line, line=7, column=1, range_line=9, range_column=1))
    assert header.arguments[0] == Argument(*argument)
    # The shape and strides of a descriptor are not arguments of the Python function.
    assert len(header.arguments) == (1 if written.startswith("%d") else 2)


def test_unnamed_arguments_get_the_names_of_the_python_function():
    # The form that Triton used before 3.5.
    line = (
        '%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("/k/f.py":7:0), %arg1: i32 loc("/k/f.py":7:0)'
    )
    text = MODULE.format(arguments=line, line=7, column=0, range_line=9, range_column=0)
    header = read_header(text)
    assert (header.named, header.place) == (False, SourcePosition("/k/f.py", 7, 0))
    python = "@triton.jit\ndef k(x_ptr, B: tl.constexpr, n):\n    pass\n"
    new = NewVariant(parse_target("cuda:90"), (), Config(), artifacts={"ttir": text.encode()})
    remains = RawCompilation("key", "k", new, function=functions_in(python, "/k/f.py", 6)[0])
    imported = assemble(remains, PythonFiles())
    assert imported.new.specialization == (Argument("x_ptr", "*fp32", "D"), Argument("n", "i32", ""))
    assert imported.source.line == 6


@pytest.mark.parametrize("base", [0, 1])
def test_ranges_reveal_constexprs_only_if_the_place_fits(base: int):
    python = (
        "@triton.jit\n"
        "def k(x, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):\n"
        "    C = C * 2\n"
        "    a = tl.arange(0, B) + tl.arange(0, C) + tl.arange(0, D // 2)\n"
    )
    (function,) = functions_in(python, "/k/f.py", 6)

    def constants(name: str) -> dict[str, int]:
        column = python.splitlines()[3].index(name) + base
        text = MODULE.format(arguments="%x: i32", line=7, column=base, range_line=9, range_column=column)
        header = read_header(text)
        assert header.place == SourcePosition("/k/f.py", 7, base)
        return range_constants(function, header)

    assert constants("tl.arange(0, B)") == constants("B)") == {"B": 64}
    assert constants("tl.arange(0, C)") == {}, "C is assigned to: the range is not of the parameter"
    assert constants("tl.arange(0, D") == {}


@given(st.text(max_size=400))
def test_arbitrary_text_is_at_worst_rejected(noise: str):
    text = MODULE.format(arguments="%x: i32 " + noise, line=7, column=1, range_line=9, range_column=1)
    for hostile in (noise, text, text + noise, "tt.func public @k(" + noise):
        with contextlib.suppress(BadEntryError):
            read_header(hostile)
