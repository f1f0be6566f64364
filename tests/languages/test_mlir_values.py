"""The values of a module: their types and their Python variables."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from irscope.languages.mlir.parser import parse
from irscope.languages.mlir.value_types import operand_types, shaped_values

TEXT = """#blocked = #ttg.blocked<{order = [0]}>
module {
  tt.func public @f(%n: i32) {
    %p = tt.splat %n : i32 -> tensor<64x!tt.ptr<f16>, #blocked> loc(#loc3)
    %m = arith.cmpi slt, %i, %j : tensor<64xi32, #blocked> loc(#loc4)
    %x = tt.load %p, %m : tensor<64x!tt.ptr<f16>, #blocked> loc(#loc5)
    %s = arith.select %m, %x, %x : tensor<64xi1, #blocked>, tensor<64xf16, #blocked> loc(#loc3)
    %r:3 = scf.for %k = %a to %b step %c iter_args(%x_1 = %x, %q = %n, %acc = %s) \
-> (tensor<64xf16, #blocked>, i32, tensor<64xf16, #ttg.slice<{dim = 0, parent = #blocked}>>)  : i32 {
      scf.yield %x_1, %q, %acc : tensor<64xf16, #blocked>, i32, tensor<64xf16, #blocked> loc(#loc3)
    } loc(#loc5)
    %t = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%l: f16, %h: f16):
      tt.reduce.return %l : f16 loc(#loc3)
    }) : (tensor<64xf16, #blocked>) -> tensor<32xf16, #blocked> loc(#loc5)
    %token = ttg.async_copy_global_to_local %p, %d : tensor<64x!tt.ptr<f16>, #blocked> -> <64xf16, #shared>
    tt.store %p, %x : tensor<64x!tt.ptr<f16>, #blocked> loc(#loc3)
  }
}
#loc1 = loc("f.py":3:1)
#loc3 = loc("pointers"(#loc1))
#loc4 = loc(callsite(#loc3 at #loc1))
#loc5 = loc("x"(#loc1))
"""


def test_each_tensor_has_its_type_and_its_variable():
    found = [(v.name, v.python, v.type.element, "x".join(v.type.shape)) for v in shaped_values(parse(TEXT))]
    assert found == [
        ("%p", "pointers", "!tt.ptr<f16>", "64"),
        ("%m", "pointers", "i1", "64"),
        ("%x", "x", "f16", "64"),
        ("%s", "pointers", "f16", "64"),
        ("%x_1", "x", "f16", "64"),
        ("%r#0", "x", "f16", "64"),
        ("%acc", "", "f16", "64"),
        ("%r#2", "", "f16", "64"),
        ("%t", "x", "f16", "32"),
    ]


def test_operand_types_are_all_printed_types():
    line = "ttg.local_store %a, %b : tensor<4x8xf16, #l> -> !ttg.memdesc<4x8xf16, #s, #smem> loc(#loc)"
    assert [(one.kind, one.encoding) for one in operand_types(line)] == [
        ("tensor", "#l"),
        ("!ttg.memdesc", "#s"),
    ]


@given(st.text(alphabet='%abx:0123<>(){}[]-=," #tensormdc.!\n', max_size=300))
def test_any_text_has_values_or_none(text: str):
    for value in shaped_values(parse(text)):
        assert value.name
