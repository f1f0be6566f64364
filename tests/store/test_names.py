"""Short names: unique, descriptive, and found by any part that matches only one variant."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.model import Argument, Config, Kernel, SourceFunction, Toolchain, UserError, Value, Variant
from irscope.store import find_variant, variant_names
from irscope.targets import parse_target

KERNEL = Kernel(1, "matmul", SourceFunction("matmul", "m.py", 1, ""), (), ())
TOOLS = Toolchain(1, {"triton": "3.9.0"}, "")


def variant(id_: int, target: str = "cuda:90", n: str = "i32", **config: Value) -> Variant:
    return Variant(
        id_, KERNEL, parse_target(target), (Argument("n", n),), Config(tuple(config.items())), TOOLS
    )


def test_a_name_has_the_values_that_distinguish_the_variant():
    variants = [variant(1, BLOCK=64, num_warps=4, G=8), variant(2, BLOCK=128, num_warps=4, G=8)]
    assert variant_names(variants) == {1: "BLOCK=64", 2: "BLOCK=128"}
    variants.append(variant(3, target="cuda:80", BLOCK=64, num_warps=4, G=8))
    assert variant_names(variants)[3] == "BLOCK=64,target=cuda:80"


def test_a_single_variant_is_named_by_its_whole_config():
    assert variant_names([variant(1, BLOCK=64, num_warps=4)]) == {1: "BLOCK=64,num_warps=4"}


def test_indistinguishable_variants_get_their_number():
    assert variant_names([variant(1, B=1), variant(2, B=1)]) == {1: "B=1", 2: "B=1,#2"}


def test_a_descriptor_whose_type_follows_from_the_config_is_not_in_names():
    blocks = {64: "tensordesc<fp16[64, 64]>", 128: "tensordesc<fp16[128, 64]>"}
    variants = [variant(id_, n=blocks[block], BLOCK=block) for id_, block in enumerate(blocks, 1)]
    assert variant_names(variants) == {1: "BLOCK=64", 2: "BLOCK=128"}
    variants.append(variant(3, n="tensordesc<fp32[64, 64]>", BLOCK=64))
    assert variant_names(variants)[3] == "BLOCK=64,n=tensordesc<fp32[64, 64]>"
    assert find_variant(variants, blocks[128]).id == 2


def test_a_capture_without_variants_says_so():
    with pytest.raises(UserError, match="no variant #1; the capture has no variants yet"):
        find_variant([], "#1")


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("#2", 2),
        ("2", 2),
        ("BLOCK=128,num_warps=8", 4),
        ("num_warps=8 BLOCK=64", 3),
        ("BLOCK=128,num_warps=4", 2),
    ],
)
def test_a_variant_is_found_by_any_unique_part(text: str, id_: int):
    variants = [
        variant(i + 1, BLOCK=b, num_warps=w)
        for i, (w, b) in enumerate((w, b) for w in (4, 8) for b in (64, 128))
    ]
    assert find_variant(variants, text).id == id_


@pytest.mark.parametrize(
    ("text", "message"),
    [("BLOCK=64", "fits 2 variants"), ("BLOCK=63", "no variant fits"), ("#9", "no variant #9")],
)
def test_no_match_or_several_lists_the_candidates(text: str, message: str):
    variants = [variant(1, BLOCK=64, num_warps=4), variant(2, BLOCK=64, num_warps=8)]
    with pytest.raises(UserError, match=message) as raised:
        find_variant(variants, text)
    assert "\n" not in str(raised.value)


names = st.sampled_from(["BLOCK_M", "BLOCK_N", "num_warps", "num_stages", "MODE"])
configs = st.dictionaries(names, st.one_of(st.integers(1, 4), st.sampled_from(["ieee", "tf32", None, True])))


@given(st.lists(configs, min_size=1, max_size=8))
def test_names_are_unique_and_find_their_variant(drawn: list[dict[str, Value]]):
    variants = [replace(variant(i + 1), config=Config(tuple(c.items()))) for i, c in enumerate(drawn)]
    found = variant_names(variants)
    assert len(set(found.values())) == len(variants)
    for one in variants:
        assert find_variant(variants, found[one.id]) == one
