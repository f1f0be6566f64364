"""The rules about recorded launches, on TTIR of compiled kernels, each with a corrected form."""

from __future__ import annotations

from functools import cache

import pytest

from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.accesses.launch_values import launch_values
from irscope.languages.language import parse
from irscope.lint.compiled import CompiledKernel
from irscope.lint.linter import lint_compiled
from irscope.lint.rules import CAPTURE_RULES
from irscope.model import Config, Launch, SourceFunction, Target
from tests.findings.builders import variant

RULES = frozenset(rule.name for rule in CAPTURE_RULES)
OUT, OVERFLOW, STRIDED, IDLE = "out-of-bounds", "launch-overflow", "strided-access", "idle-threads"
HALF = 2**31


@cache
def compiled(name, block):
    from tests.lint import launched

    kernel = getattr(launched, name)
    return launched.ttir(kernel, block), kernel.raw_src, kernel.starting_line_number


def lint(name, grid, block=64, warps=1, target=("cuda", "90", 32), **arguments):
    """The diagnostics of one launch, of warps so few that none is idle."""
    text, lines, first = compiled(name, block)
    launch = Launch(grid, tuple((key, str(value)) for key, value in arguments.items()))
    source = SourceFunction(name, "launched.py", first, "".join(lines))
    one = variant(id_=1, name=name, source=source, launches=(launch,), metadata={"num_warps": warps})
    object.__setattr__(one, "config", Config((("BLOCK", block),)))
    object.__setattr__(one, "target", Target(*target))
    names, facts = {1: f"BLOCK={block}"}, {1: {}}
    kernel = CompiledKernel([one], names, facts, lambda *_: text.encode(), lambda *_: parse(text, "mlir"))
    return lint_compiled([kernel], RULES)


def names(*given, **arguments):
    return [diagnostic.rule.name for diagnostic in lint(*given, **arguments)]


def sized(n, **others):
    return {"x_ptr": f"float32[{n}]", "y_ptr": f"float32[{n}]", "n": n} | others


@pytest.mark.parametrize(
    ("kernel", "n", "block", "found"),
    [
        ("unmasked", 1088, 64, []),
        ("unmasked", 1088, 256, [OUT]),
        ("unmasked", 1087, 64, [OUT]),
        ("masked", 1087, 64, []),
        ("masked", 1088, 256, []),
        ("wrapped", 1087, 64, []),
        ("guarded", 1087, 64, []),
        ("gathered", 64, 64, [OUT, STRIDED]),  # its store: 16 floats apart
    ],
)
def test_accesses_past_the_end(kernel, n, block, found):
    assert names(kernel, (-(-n // block), 1, 1), block, **sized(n)) == found


def test_the_message_names_line_tensor_element_and_config():
    (diagnostic,) = lint("unmasked", (5, 1, 1), 256, **sized(1088))
    _, lines, first = compiled("unmasked", 256)
    assert "tl.load" in lines[diagnostic.line - first]
    assert diagnostic.message == (
        f"line {diagnostic.line} of unmasked reads element 1,279 of x_ptr, which has 1,088, without a mask "
        "with grid (5, 1, 1), in 1 of 1 variants: #1 BLOCK=256"
    )


def test_tensors_that_are_not_contiguous_and_unknown_arguments_are_not_reported():
    assert names("unmasked", (5, 1, 1), 256, **sized(1088, x_ptr="float32[1088] strides [2]")) == []
    assert names("unmasked", (5, 1, 1), 256, n=1088) == []


@pytest.mark.parametrize("kernel", ["row_sums", "row_sums_by_pointer"])
def test_loops(kernel):
    tensors = {"x_ptr": "float32[8, 1000]", "y_ptr": "float32[8]", "stride": 1000}
    (diagnostic,) = lint(kernel, (8, 1, 1), **tensors, n=1000)
    assert "reads element 8,023 of x_ptr, which has 8,000" in diagnostic.message
    assert names(kernel, (8, 1, 1), **tensors, n=960) == []
    assert names(kernel, (8, 1, 1), **tensors) == []  # how often it runs is unknown
    assert names(kernel, (8, 1, 1), **tensors, n=0) == []


@pytest.mark.parametrize(("kernel", "found"), [("row_sums", [OVERFLOW]), ("row_sums_by_pointer", [])])
def test_offsets_that_do_not_fit_in_32_bits(kernel, found):
    rows = 70_000
    tensors = {"x_ptr": f"float32[{rows}, 32768]", "y_ptr": f"float32[{rows}]", "stride": 32768, "n": 32768}
    assert names(kernel, (rows, 1, 1), **tensors) == found
    assert names(kernel, (65_536, 1, 1), **tensors) == []
    assert names(kernel, (65_537, 1, 1), **tensors) == found


def test_an_overflow_of_some_elements_is_reported_if_the_tensor_is_that_large():
    grid, strides = (1, 1, 1), {"stride_0": HALF // 62, "stride_1": 1}
    for elements, found in ((HALF * 2, [OVERFLOW]), (HALF - 64, [OUT])):
        assert names("tile", grid, x_ptr=f"float32[{elements}]", **strides) == found
    assert OVERFLOW not in names("tile", grid, x_ptr="float32[64, 64]", stride_0=64, stride_1=1)


@pytest.mark.parametrize(
    ("strides", "found"),
    [((64, 1), []), ((1, 64), []), ((64, 4), []), ((4096, 64), [STRIDED]), ((8, 512), [STRIDED])],
)
def test_strided_accesses(strides, found):
    given = dict(zip(("stride_0", "stride_1"), strides, strict=True))
    assert names("tile", (1, 1, 1), x_ptr="float32[1048576]", **given) == found
    assert names("tile", (1, 1, 1), x_ptr="float32[1048576]") == []


@pytest.mark.parametrize(
    ("warps", "target", "found"),
    [
        (2, ("cuda", "90", 32), []),
        (4, ("cuda", "90", 32), [IDLE]),
        (1, ("hip", "gfx942", 64), []),
        (2, ("hip", "gfx942", 64), [IDLE]),
        (2, ("hip", "gfx1100", 32), []),
    ],
)
def test_more_threads_than_elements(warps, target, found):
    assert names("masked", (1, 1, 1), warps=warps, target=target, **sized(64)) == found


def test_values_of_the_last_program():
    flow = AxisFlow(parse(compiled("tile", 64)[0], "mlir"))
    launch = Launch((3, 1, 1), (("x_ptr", "float32[9]"), ("stride_0", "100"), ("stride_1", "2")))
    stores = [index for index, one in enumerate(flow.operations) if one.opcode == "tt.store"]
    value = launch_values(flow, launch)[flow.sources[stores[0]][0]]
    assert (value.low, value.high, value.exact) == (12_800, 191 * 100 + 126, True)
    assert (value.steps, value.base) == ((100, 2), "x_ptr")


@pytest.mark.parametrize(
    "text", ["", "tt.func @f(", "%a = arith.constant 99999999999999999999999 : i32", "scf.for"]
)
def test_any_text_has_values(text):
    assert launch_values(AxisFlow(parse(text, "mlir")), Launch((1,), (("n", "9" * 40),))) is not None
