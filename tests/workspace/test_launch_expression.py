"""Launches that a user writes for `irscope pick --launch`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from irscope.model import (
    Argument,
    Config,
    Kernel,
    Launch,
    SourceFunction,
    Target,
    Toolchain,
    UserError,
    Variant,
)
from irscope.model.integer_values import decoded_integers
from irscope.workspace.launch_expression import launched, parse_launch

SOURCE = SourceFunction("mm", "mm.py", 1, "@triton.jit\ndef mm(a, M, K, s, one, BM: tl.constexpr): pass\n")
VARIANT = Variant(
    1,
    Kernel(1, "mm", SOURCE, (), ("a", "M", "K", "s", "one", "BM")),
    Target("cuda", "90", 32),
    (
        Argument("a", "*fp16", "D"),
        Argument("M", "i32", "D"),
        Argument("K", "i32", ""),
        Argument("s", "fp32"),
        Argument("one", "constexpr", None, 1),
    ),
    Config((("BM", 64), ("num_warps", 4))),
    Toolchain(1, {"triton": "3.9.0"}, ""),
)


ROUTED = replace(
    VARIANT, specialization=(*VARIANT.specialization, Argument("ids", "*i32"), Argument("more", "*i64")),
    kernel=replace(VARIANT.kernel, parameters=(*VARIANT.kernel.parameters, "ids", "more")),
)  # fmt: skip


def integers(text: str) -> list[int]:
    """The integers of `ids` in a launch."""
    found = parse_launch(f"M=16, K=1, s=1.0, grid=(len(ids),), {text}").launch_of(ROUTED)
    values = decoded_integers(dict(found.values)["ids"])
    assert values is not None and found.grid == (len(values), 1, 1)
    assert dict(found.arguments)["ids"] == f"int32[{len(values)}]"
    return values.tolist()


def test_a_function_makes_the_integers_of_a_tensor():
    assert integers("ids=values(512, BM // 2, -7)") == [512, 32, -7]
    assert integers("ids=starts(3, 4, M)") == [0, 3, 7, 23]
    assert integers("ids=range(4)") == [0, 1, 2, 3]
    assert integers("routing=values(3, 1), ids=routing") == [3, 1]  # made under another name
    drawn = integers("ids=random(n, 8), n=1000, more=range(3)")
    assert sorted(set(drawn)) == list(range(8)) and drawn == integers("ids=random(1000, 8)")


def test_the_slots_of_experts_are_sorted_and_padded_to_blocks():
    slots, owners = integers("ids=moe_slots(100, 8, 2, BM)"), integers("ids=moe_experts(100, 8, 2, BM)")
    (padded,) = integers("ids=moe_padded(100, 8, 2, BM)")
    assert sorted(slot for slot in slots if slot < 200) == list(range(200))
    assert len(slots) == 64 * len(owners) and padded % 64 == 0 and set(slots[padded:]) == {200}
    assert owners[: padded // 64] == sorted(owners[: padded // 64])
    of_token = {(slot // 2, owners[place // 64]) for place, slot in enumerate(slots) if slot < 200}
    assert len(of_token) == 200  # both experts of a token differ


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ids=random(5)", "random takes 2 integers, not 1"),
        ("ids=range(10**9)", "range makes at most 131,072 integers"),
        ("ids=range(0)", "range takes integers above 0"),
        ("ids=moe_slots(4, 2, 3, 16)", "too many tokens, experts or slots"),
        ("ids=values(0.5)", "write its integers one after the other"),
        ("ids=range(131072)", "'ids' is *i32; only tensors of at most 256 KiB"),
        ("a=range(4)", "'a' is *fp16; only tensors of at most 256 KiB of int16, int32, uint32, int64"),
    ],
)
def test_integers_that_cannot_be_made(text: str, message: str):
    with pytest.raises(UserError) as caught:
        parse_launch(f"M=16, K=1, grid=1, {text}").launch_of(ROUTED)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_the_integers_of_a_tensor_come_from_a_file(tmp_path: Path):
    path = tmp_path / "block tables.npy"
    np.save(path, np.array([[3, 1], [2, -1], [7, 5]], np.int64))
    found = parse_launch(f"M=16, K=1, ids=@{path}, grid=(len(ids), 2)").launch_of(ROUTED)
    values = decoded_integers(dict(found.values)["ids"])
    assert values is not None and values.tolist() == [3, 1, 2, -1, 7, 5]
    assert found.grid == (6, 2, 1) and dict(found.arguments)["ids"] == "int32[3, 2]"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file '{path}'"),
        (b"", "'{path}' is not a file that numpy.save wrote"),
        (b"1 2 3\n", "'{path}' is not a file that numpy.save wrote"),
        (np.array([{}]), "'{path}' is not a file that numpy.save wrote"),
        (np.zeros(4, np.float32), "'{path}' has values of type float32, not integers"),
        (np.zeros(4, np.uint64), "'{path}' has values of type uint64, not integers"),
        (np.zeros((0, 4), np.int32), "'{path}' has 0 integers, not 1 to 131,072"),
        (np.zeros(200_000, np.int32), "'{path}' has 200,000 integers, not 1 to 131,072"),
        (np.zeros(70_000, np.int32), "'ids' is *i32; only tensors of at most 256 KiB"),
        (np.array([2**31]), "'ids' has integers that are not int32, as its tensor has"),
    ],
)
def test_a_file_without_the_integers_of_a_tensor(
    tmp_path: Path, content: bytes | NDArray[Any] | None, message: str
):
    path = tmp_path / "ids.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content, allow_pickle=True)
    with pytest.raises(UserError) as caught:
        parse_launch(f"M=16, K=1, grid=1, ids=@{path}").launch_of(ROUTED)
    assert str(caught.value).startswith(f"--launch: {message.format(path=path)}")
    assert "\n" not in str(caught.value)


def launch(text: str) -> Launch:
    return parse_launch(text).launch_of(VARIANT)


@pytest.mark.parametrize(
    "text",
    [
        "grid=(cdiv(M, BM), 2), M=4096, K=M // 4",
        "K=M//4, M=rows*16, rows=256, grid=(triton.cdiv(M, BM), 2, 1)",
        'grid=lambda META: (triton.cdiv(M, META["BM"]), 2), M=4096, K=max(1024, BM)',
        "grid=[next_power_of_2(M) // BM, min(2, num_warps)], M=4096, K=1024",
    ],
)
def test_values_are_expressions_of_each_other_and_of_the_config(text: str):
    found = launch(text)
    assert found.grid == (64, 2, 1)
    assert dict(found.arguments) == {"a": "float16", "M": "4096", "K": "1024", "s": "1.0", "one": "1"}


def test_tensors_may_have_shapes_and_floats_values():
    found = dict(launch("grid=1, M=16, K=3, s=0.5, a=[M, K]").arguments)
    assert found["a"] == "float16[16, 3]" and found["s"] == "0.5"


@pytest.mark.parametrize(
    ("type_", "text"),
    [("*u1", "bool"), ("*i1", "bool"), ("*ku8", "uint8"), ("*fp8e4nv", "float8_e4m3fn"),
     ("tensordesc<bf16[64, 32]>", "tensordesc bfloat16[16, 3] in blocks of [64, 32]")],
)  # fmt: skip
def test_tensors_have_the_types_that_torch_names(type_: str, text: str):
    one, *others = VARIANT.specialization
    variant = replace(VARIANT, specialization=(replace(one, type=type_), *others))
    found = dict(parse_launch("grid=1, M=16, K=3, s=0.5, a=[M, K]").launch_of(variant).arguments)
    assert found["a"] == (text if " " in text else f"{text}[16, 3]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M=16", "there is no grid"),
        ("grid=(1,), M=16", "give the value of K, for example K=4096"),
        (
            "grid=(cdiv(M, BLOCK),), M=16, K=1",
            "'BLOCK' in '(cdiv(M, BLOCK),)' has no value; known: BM, K, ",
        ),
        ("grid=(0,), M=16, K=1", "the grid is (0,); it must have 1 to 3 integers"),
        ("grid=(1, 1, 1, 1), M=16, K=1", "it must have 1 to 3 integers"),
        ("grid=(1,), M=17, K=1", "M=17, but it was compiled for multiples of 16 (i32:16)"),
        ("grid=(1,), M=16, K=1, one=2", "one=2, but it was compiled for one=1"),
        ("grid=(1,), M=16, K=[1, 2]", "'K' is a number (i32), not a tensor"),
        ("grid=(1,), M=N, N=M, K=1", "has no value"),
        ("grid=(1,), M=16, M=32", "'M' has two values"),
        ("grid=(1, M=16", "is not an expression"),
        ("grid", "'grid' is not NAME=VALUE"),
        ("grid=M/0, M=16, K=1", "'M/0' is not a number"),
        ("grid=__import__('os').system('true'), M=16, K=1", "'__import__'"),
        ("grid=9**9**9, M=16, K=1", "is not a number"),
        ("grid=1, M=" + "-" * 1500 + "1, K=1", "is not a"),
        ("x" * 3000, "longer than 2,000 characters"),
    ],
)
def test_errors_are_one_line_that_names_the_part(text: str, message: str):
    with pytest.raises(UserError) as error:
        launch(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value) and str(error.value).startswith("--launch: ")


@given(st.text(alphabet="gridMK=(),[]{}'\"+-*/% 0123456789.:lambdacv_", max_size=80))
def test_any_text_is_a_launch_or_an_error(text: str):
    try:
        found = launch(f"grid=(1,), K=1, M=16, {text}")
    except UserError:
        return
    assert len(found.grid) == 3


def test_names_of_either_side_of_a_pair_are_known() -> None:
    """OLD and NEW of a diff may have other parameters, but a value that neither has says nothing."""
    text = "grid=1, M=16, K=1, s=1.0, more=[8]"
    with pytest.raises(UserError, match="no parameter or expression uses 'more'"):
        launched([VARIANT], [text])
    for sides in (([VARIANT], [ROUTED]), ([ROUTED], [VARIANT])):
        (variant,), refusals = launched(sides[0], [text], sides[1])
        assert variant.launches[0].grid == (1, 1, 1) and not refusals
    with pytest.raises(UserError, match="uses 'mor'; did you mean more"):
        launched([VARIANT], [text.replace("more", "mor")], [ROUTED])
