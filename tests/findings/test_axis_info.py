"""Axis info: against the compiler's own on real kernels, and rule by rule."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irscope.diff.def_use import Definition
from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.accesses.global_accesses import (
    global_accesses,
    match_decisions,
    parse_decisions,
)
from irscope.languages.language import parse
from tests.findings.builders import stored
from tests.findings.reason_data import NAMES, text, ttir


@pytest.mark.parametrize("name", NAMES)
def test_pointer_info_equals_the_compilers(name):
    document = ttir(name)
    flow = AxisFlow(document)
    decisions = match_decisions(parse_decisions(text(name, "reasons")), document)
    found = global_accesses(flow)
    assert len(decisions) == len(found) >= 2
    for access in found:
        info, reason = flow.infos()[access.pointer], decisions[access.index]
        assert tuple(zip(*info.axes, strict=True))[1:] == (
            reason.contiguity, reason.divisibility, reason.constancy,
        )  # fmt: skip
        assert access.limits(128).pointer == reason.pointer_limit


def last(*body, parameters="%n: i32, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}"):
    """The axis info of the last operation of a function."""
    lines = [f"tt.func public @f({parameters}) {{", *body, "tt.return", "}"]
    document = parse("\n".join(lines), "mlir")
    index = max(i for i, operation in enumerate(document.operations) if operation.results)
    return AxisFlow(document).infos()[Definition(index, False, 0)]


RANGE = "%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>"
SIXTEEN = "%c = arith.constant dense<16> : tensor<64xi32>"
HINT = "{tt.divisibility = dense<8> : tensor<1xi32>}"
SPLAT = "%s = tt.splat %n : i32 -> tensor<64xi32>"


@pytest.mark.parametrize(
    ("body", "contiguity", "divisibility", "constancy"),
    [
        ((RANGE, SIXTEEN, "%x = arith.addi %r, %c : tensor<64xi32>"), 64, 16, 1),
        ((RANGE, SIXTEEN, "%x = arith.muli %r, %c : tensor<64xi32>"), 1, 16, 1),
        ((RANGE, SIXTEEN, "%x = arith.divsi %r, %c : tensor<64xi32>"), 1, 1, 16),
        ((RANGE, SIXTEEN, "%x = arith.remsi %r, %c : tensor<64xi32>"), 16, 16, 1),
        ((RANGE, SPLAT, "%x = arith.addi %r, %s : tensor<64xi32>"), 64, 1, 1),
        ((RANGE, SPLAT, "%x = arith.subi %s, %r : tensor<64xi32>"), 1, 1, 1),
        ((RANGE, SPLAT, "%x = arith.cmpi slt, %r, %s : tensor<64xi32>"), 1, 1, 1),
        ((RANGE, SIXTEEN, "%x = arith.cmpi slt, %r, %c : tensor<64xi32>"), 1, 1, 16),
        ((RANGE, SIXTEEN, "%x = arith.cmpi sle, %r, %c : tensor<64xi32>"), 1, 1, 1),
        ((RANGE, SIXTEEN, "%x = arith.cmpi sgt, %c, %r : tensor<64xi32>"), 1, 1, 16),
        ((SPLAT, SIXTEEN, "%x = arith.cmpi eq, %c, %s : tensor<64xi32>"), 1, 1, 64),
        ((RANGE, "%x = tt.unheard_of %r : tensor<64xi32>"), 1, 1, 1),
        ((SPLAT, f"%x = arith.addi %s, %s {HINT} : tensor<64xi32>"), 1, 8, 64),
    ],
)  # fmt: skip
def test_rules_of_one_dimension(body, contiguity, divisibility, constancy):
    info = last(*body)
    assert tuple(zip(*info.axes, strict=True))[1:] == (
        (contiguity,), (divisibility,), (constancy,),
    )  # fmt: skip


def test_a_broadcast_dimension_is_constant_and_the_other_stays_contiguous():
    info = last(
        RANGE,
        "%e = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>",
        "%x = tt.broadcast %e : tensor<1x64xi32> -> tensor<32x64xi32>",
    )
    assert [(axis.contiguity, axis.constancy) for axis in info.axes] == [(1, 32), (64, 1)]


LOOP = (
    "%zero = arith.constant 0 : i32",
    "%one = arith.constant 1 : i32",
    "%step = arith.constant {step} : i32",
    "%x = scf.for %i = %zero to %n step %one iter_args(%a = %zero) -> (i32) : i32 {{",
    "%b = arith.addi %a, %step : i32",
    "scf.yield %b : i32",
    "}}",
    "%y = arith.addi %x, %zero : i32",
)


@pytest.mark.parametrize(("step", "divisibility"), [(32, 32), (24, 8), (1, 1)])
def test_loop_carried_values_have_the_info_that_holds_in_each_iteration(step, divisibility):
    assert last(*(line.format(step=step) for line in LOOP)).axes[0].divisibility == divisibility


@pytest.mark.parametrize(("other", "divisibility"), [("%c16", 16), ("%n", 1)])
def test_either_branch_may_be_taken(other, divisibility):
    info = last(
        "%c16 = arith.constant 16 : i32",
        "%c32 = arith.constant 32 : i32",
        "%yes = arith.cmpi slt, %n, %c16 : i32",
        "%x = scf.if %yes -> (i32) {",
        "scf.yield %c32 : i32",
        "} else {",
        f"scf.yield {other} : i32",
        "}",
        "%y = arith.addi %x, %c32 : i32",
    )
    assert info.axes[0].divisibility == divisibility


def test_an_unknown_initial_value_makes_a_loop_carried_value_unknown():
    info = last(*(line.format(step=32).replace("%a = %zero", "%a = %n") for line in LOOP))
    assert info.axes[0].divisibility == 1


@pytest.mark.parametrize(
    "text_", [text(NAMES[1], "ttir"), stored("matmul_kernel.cuda-90.BLOCK_M=64", ".ttir")]
)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_text_never_raises(text_, data):
    size = len(text_)
    for _ in range(data.draw(st.integers(1, 4))):
        a, b = sorted(data.draw(st.tuples(st.integers(0, size), st.integers(0, size))))
        other = data.draw(st.integers(0, size))
        text_ = (
            text_[:a]
            + data.draw(st.sampled_from(["", "0", "9" * 18, text_[other : other + 200]]))
            + text_[b:]
        )
        size = len(text_)
    document = parse(text_, "mlir")
    flow = AxisFlow(document)
    for access in global_accesses(flow):
        access.limits(128)
        access.blamed(128)
