"""Types in an operation's text: shapes, element types, encodings."""

from hypothesis import given
from hypothesis import strategies as st

from irscope.languages.mlir.value_types import ShapedType, split_types


def test_split_types() -> None:
    rest, types = split_types(
        "% = ttg.async_copy_global_to_local %, % {contiguity = 8 : i32} : "
        "tensor<128x1x!tt.ptr<f16>, #ttg.slice<{dim = 0, parent = #ttg.blocked}>> -> "
        "<3x64xf16, #ttg.nvmma_shared, #ttg.shared_memory, mutable, 128x64>, "
        "!tt.tensordesc<tensor<64x64xf16, #shared>>, tensor<f32>, i32"
    )
    assert rest == (
        "% = ttg.async_copy_global_to_local %, % {contiguity = 8 : i32} : "
        "tensor<> -> <>, !tt.tensordesc<tensor<>>, tensor<f32>, i32"
    )
    assert types == [
        ShapedType("tensor", ("128", "1"), "!tt.ptr<f16>", ("#ttg.slice<{dim = 0, parent = #ttg.blocked}>",)),
        ShapedType("", ("3", "64"), "f16", ("#ttg.nvmma_shared", "#ttg.shared_memory", "mutable", "128x64")),
        ShapedType("tensor", ("64", "64"), "f16", ("#shared",)),
    ]
    assert types[0].encoding == "#ttg.slice<{dim = 0, parent = #ttg.blocked}>"


def test_numbers_are_not_shapes() -> None:
    text = "% = arith.constant dense<0xFF800000> : i32"
    assert split_types(text) == (text, [])


def test_unclosed_type() -> None:
    assert split_types("x : tensor<8x4xf32, #a") == (
        "x : tensor<>",
        [ShapedType("tensor", ("8", "4"), "f32", ("#a",))],
    )


@given(st.text(st.sampled_from('<>64x?f, #a{}()[]="\\->!t.')))
def test_any_text_is_read(text: str) -> None:
    rest, types = split_types(text)
    assert rest.count("<>") >= len(types)
