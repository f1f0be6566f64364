"""Constexpr values that are objects: how they are written, compared and stored."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from irscope.model import (
    Config,
    Dtype,
    Expression,
    ListValue,
    NamedValue,
    ObjectValue,
    Value,
    format_value,
    parse_argument,
    parse_value,
)
from irscope.model.config import changed_parameters
from irscope.model.records import distinct_values, varying_keys
from irscope.store.encoding import config_from_json, config_to_json, value_from_json


def blocked(size: int, *order: int) -> ObjectValue:
    lists = [("size_per_thread", [1, size]), ("threads_per_warp", [32, 1]), ("order", order or [1, 0])]
    return ObjectValue("gl.BlockedLayout", tuple((name, ListValue(tuple(items))) for name, items in lists))


SLICE = ObjectValue("gl.SliceLayout", (("dim", 1), ("parent", blocked(4))))
SHARED = ObjectValue(
    "gl.NVMMASharedLayout",
    (("swizzle_byte_width", 128), ("element_bitwidth", 16)),
    (("transposed", True), ("cga_layout", ListValue((ListValue((1, 0)),)))),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (blocked(4), "gl.BlockedLayout([1, 4], [32, 1], [1, 0])"),
        (SLICE, "gl.SliceLayout(1, gl.BlockedLayout([1, 4], [32, 1], [1, 0]))"),
        (SHARED, "gl.NVMMASharedLayout(128, 16, transposed=True, cga_layout=[[1, 0]])"),
        ((16, "a"), "(16, 'a')"),
        ((1,), "(1,)"),
        (NamedValue("Mode.FAST"), "Mode.FAST"),
        (ObjectValue("Scales", (("first", 0.5),), (("name", "x"),)), "Scales(0.5, name='x')"),
        ((Dtype("fp16"), None, True), "(tl.fp16, None, True)"),
    ],
)
def test_a_value_is_written_as_the_call_that_makes_it_and_stored(value: Value, text: str):
    assert format_value(value) == text
    config = Config((("X", value),))
    assert str(config) == f"X={text}"
    assert config_from_json(config_to_json(config)) == config


DAMAGED: list[Any] = [{}, {"object": 1}, {"named": None}, {"list": {}}, [1], {"tuple": [{}]}]
DEEP = reduce(lambda inner, _: {"list": [inner]}, range(500), DAMAGED[0])


@pytest.mark.parametrize("damaged", [*DAMAGED, DEEP])
def test_a_damaged_value_is_rejected(damaged: object):
    with pytest.raises(ValueError, match="not a constexpr value"):
        value_from_json(damaged)


def test_changed_parameters_are_named_with_their_paths():
    assert changed_parameters(blocked(4), blocked(8)) == [("size_per_thread", "[1, 4]", "[1, 8]")]
    other = ObjectValue("gl.SliceLayout", (("dim", 0), ("parent", blocked(4, 0, 1))))
    assert changed_parameters(SLICE, other) == [("dim", "1", "0"), ("parent.order", "[1, 0]", "[0, 1]")]
    plain = ObjectValue(SHARED.type, SHARED.arguments)
    assert changed_parameters(plain, SHARED)[0] == ("transposed", "default", "True")
    assert changed_parameters(SLICE, blocked(4)) == changed_parameters(1, 2) == []


def test_functions_are_one_value_only_if_their_source_is():
    assert NamedValue("relu", "a1") != NamedValue("relu", "b2")
    # Variants are matched across captures by text.
    assert repr(NamedValue("relu", "a1")) == repr(NamedValue("relu", "b2"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64", 64),
        ("None", None),
        ("(1, 2.5)", (1, 2.5)),
        ("[1, (2,)]", ListValue((1, (2,)))),
        ("torch.float16", Dtype("fp16")),
        ('"ieee"', "ieee"),
        (" ieee", Expression("ieee")),
        ("gl.AutoLayout()", Expression("gl.AutoLayout()")),
    ],
)
def test_what_is_not_a_literal_is_left_to_the_kernels_file(text: str, value: Value | Expression):
    assert parse_argument(text) == value
    if not isinstance(value, Expression):
        assert parse_value(text) == value


def test_only_differing_values_vary():
    rows = [{"a": 1, "b": 2, "c": "x"}, {"a": 1, "b": 3, "c": "x"}]
    assert varying_keys(rows) == ["b"]
    assert varying_keys(rows[:1]) == varying_keys([]) == []


def test_a_missing_key_is_a_value_and_true_is_not_one():
    assert varying_keys([{"a": 1}, {}, {"b": 2}]) == ["a", "b"]
    assert distinct_values([{"a": 1}, {"a": True}, {}]) == {"a": 3}
