"""Types and constexprs guessed from a kernel's text."""

from __future__ import annotations

import ast

import pytest

from irscope.compiling.guess import Guess, guess
from irscope.model import parse_value

HELPERS = """
def row_of(ptr, row, stride):
    return tl.load(ptr + row * stride + tl.arange(0, 16))
"""


def guessed(text: str) -> Guess:
    functions = {
        node.name: node for node in ast.parse(HELPERS + text).body if isinstance(node, ast.FunctionDef)
    }
    return guess(
        functions["kernel"], lambda node: functions.get(node.id) if isinstance(node, ast.Name) else None
    )


def test_pointers_are_followed_through_sums_names_and_calls() -> None:
    found = guessed("""
def kernel(X, w, Out, n, eps, stride_xm, stride_xk, BLOCK: tl.constexpr):
    base = X + tl.program_id(0) * stride_xm
    pointers = base[:, None] + tl.arange(0, BLOCK) * stride_xk
    pointers += stride_xm
    value = tl.load(pointers, mask=tl.arange(0, BLOCK) < n) + row_of(w, 0, n)
    tl.store(Out + tl.arange(0, BLOCK), value / (n + eps))
""")
    assert found.types == {
        "X": "*fp16:16", "w": "*fp16:16", "Out": "*fp16:16",
        "n": "i32:16", "eps": "fp32", "stride_xm": "i32:16", "stride_xk": "1",
    }  # fmt: skip
    assert found.constants == {"BLOCK": "1024"}


def test_a_pointer_whose_values_are_addresses_bits_or_bounds_is_one_to_integers() -> None:
    found = guessed("""
def kernel(values, rows, bounds, packed, total, out):
    row = tl.load(rows + tl.program_id(0))
    end = tl.load(bounds)
    for i in range(0, end):
        bits = tl.load(packed + i)
        tl.store(out + i, tl.load(values + row * 4 + i) * ((bits >> 4) & 15))
    tl.atomic_cas(total, 0, 1)
""")
    assert {name for name, type_ in found.types.items() if type_ == "*i32:16"} == {
        "rows", "bounds", "packed", "total",
    }  # fmt: skip
    assert found.types["values"] == found.types["out"] == "*fp16:16"


def test_constexprs_by_their_use() -> None:
    found = guessed("""
def kernel(x, y_desc, p, M: tl.constexpr, N: "tl.constexpr", DTYPE: tl.constexpr, ACT: tl.constexpr,
           HAS_BIAS: tl.constexpr, F: tl.constexpr, eps: tl.constexpr, G: tl.constexpr = 8):
    tile = tl.zeros([M, N], dtype=DTYPE)
    tile += y_desc.load([0, 0])
    if HAS_BIAS:
        tile = F(tile, eps)
    if ACT == "silu":
        tile = tile * p
    tl.store(x + tl.arange(0, M)[:, None], tile.to(x.dtype.element_ty))
""")
    assert found.types == {"x": "*fp16:16", "y_desc": "tensordesc<fp16[64, 64]>", "p": "fp32"}
    assert found.constants == {
        "M": "64", "N": "64", "DTYPE": "tl.float16", "ACT": '"silu"', "HAS_BIAS": "False", "eps": "1e-06",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parameter", "type_"),
    [("n=1.5", "fp32"), ("n: int", "i32:16"), ("scale", "fp32"), ("seed", "i32"), ("flag=True", "i32")],
)
def test_numbers_by_default_annotation_and_name(parameter: str, type_: str) -> None:
    assert list(guessed(f"def kernel({parameter}): pass").types.values()) == [type_]


def test_a_guessed_string_is_a_python_literal() -> None:
    found = guessed("""
def kernel(MODE: tl.constexpr):
    if MODE == 'say "no"':
        pass
""")
    assert parse_value(found.constants["MODE"]) == 'say "no"'


def test_a_stride_of_programs_is_not_guessed_to_be_1():
    source = """
def kernel(Q, Out, stride_qt, stride_qh, D, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    head = tl.program_id(1).to(tl.int64)
    cols = tl.arange(0, 64)
    x = tl.load(Q + rows[:, None] * stride_qt + head * stride_qh + cols[None, :])
"""
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    types = guess(function, lambda _: None).types
    assert (types["stride_qt"], types["stride_qh"]) == ("i32:16", "i32:16")
