"""Reasons for a recompilation are exactly the inputs that differ."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.findings.cache_key import CacheKeyInput, cache_key_inputs, constexpr_parameters
from irscope.findings.cache_key_diff import recompilation, remedies
from irscope.model import Argument, Config, Kernel, SourceFunction, Toolchain
from irscope.targets import parse_target
from tests.findings.builders import variant

SOURCE = SourceFunction(
    "add",
    "k.py",
    7,
    "@triton.jit\ndef add(x, n, stride, BLOCK: tl.constexpr, MODE: 'tl.constexpr' = 0):\n    pass\n",
)
HELPER = SourceFunction("twice", "k.py", 1, "@triton.jit\ndef twice(x):\n    return x + x\n")
KERNEL = Kernel(1, "add", SOURCE, (HELPER,), ("x", "n", "stride", "BLOCK", "MODE"))
KEY = {
    "triton": "f" * 64,
    "source": "5" * 64,
    "backend": "ptxas: release 13.0, V13.0.1\n-90",
    "attributes": "{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): []}",
    "type x": "*fp32", "type n": "i32", "type stride": "constexpr", "type BLOCK": "constexpr",
    "type MODE": "constexpr", "constant stride": "1", "constant BLOCK": "64", "constant MODE": "0",
    "option num_warps": "4", "option arch": "sm90", "option debug": "False",
    "environment TRITON_X": "", "global SCALE": "constexpr[2]",
}  # fmt: skip


def compiled(key=KEY, kernel=KERNEL, **fields):
    made = variant("cuda:90", cache_key=key)
    fields.setdefault("toolchain", Toolchain(1, {"triton": "3.9.0"}, ""))
    return replace(made, kernel=kernel, config=Config((("BLOCK", 64), ("num_warps", 4))), **fields)


def named(a, b):
    return {
        (reason.input.kind, reason.input.name): (reason.a, reason.b) for reason in recompilation(a, b).reasons
    }


def test_equal_keys_have_no_reasons():
    assert named(compiled(), compiled()) == {}
    assert recompilation(compiled(), compiled()).whole


def test_constexpr_parameters_differ_from_arguments_equal_to_one():
    assert constexpr_parameters(SOURCE.text) == {"BLOCK", "MODE"}
    assert constexpr_parameters("def broken(:") == frozenset()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"constant BLOCK": "128"}, {("constexpr", "BLOCK"): ("64", "128")}),
        ({"option num_warps": "8"}, {("option", "num_warps"): ("4", "8")}),
        ({"environment TRITON_X": "1"}, {("environment", "TRITON_X"): ("", "1")}),
        ({"type x": "*fp16"}, {("argument", "x"): ("*fp32 divisible by 16", "*fp16 divisible by 16")}),
        (
            {"attributes": "{(0,): [['tt.divisibility', 16]], (1,): [], (2,): []}"},
            {("argument", "n"): ("i32 divisible by 16", "i32")},
        ),
        ({"type stride": "i32", "constant stride": None}, {("argument", "stride"): ("1", "i32")}),
        ({"something new": "3"}, {("component", "something new"): (None, "3")}),
        ({"attributes": "os.system('x')"}, None),
    ],
)  # fmt: skip
def test_each_component_by_its_name(changes, expected):
    key = {name: text for name, text in (KEY | changes).items() if text is not None}
    found = named(compiled(), compiled(key))
    if expected is None:  # what cannot be read is still said to differ
        assert found
    else:
        assert found == expected


def test_sources_lines_and_helpers_are_reasons_if_the_source_component_differs():
    other = KEY | {"source": "6" * 64}
    changed = replace(
        KERNEL, helpers=(replace(HELPER, text="@triton.jit\ndef twice(x):\n    return 2 * x\n"),)
    )
    moved = replace(KERNEL, source=replace(SOURCE, line=9))
    assert set(named(compiled(), compiled(other, changed))) == {("helper", "twice")}
    assert named(compiled(), compiled(other, moved)) == {("line", "add"): ("7", "9")}
    assert named(compiled(), compiled(KEY, moved)) == {}
    # Nothing that the capture holds explains it: the component itself is named.
    assert set(named(compiled(), compiled(other))) == {("component", "source")}


def test_a_global_accounts_for_the_source_that_reads_it():
    other = KEY | {"source": "6" * 64, "global SCALE": "constexpr[3]"}
    assert set(named(compiled(), compiled(other))) == {("global", "SCALE")}


def test_consequences_of_the_target_are_not_separate_reasons():
    key = KEY | {"option arch": "sm80", "backend": "ptxas: release 12.9\n-80", "option debug": "True"}
    other = replace(compiled(key), target=parse_target("cuda:80"))
    found = recompilation(compiled(), other).reasons
    assert [(reason.input.kind, reason.input.name) for reason in found] == [
        ("target", ""),
        ("option", "debug"),
    ]
    assert found[0].following == (CacheKeyInput("backend"), CacheKeyInput("option", "arch"))
    assert found[0].components == ("backend", "option arch")


def test_a_new_compiler_is_the_only_reason_if_attributes_changed_with_it():
    attributes = "{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}"
    key = KEY | {"triton": "e" * 64, "attributes": attributes, "option clc": "False"}
    other = compiled(key, toolchain=Toolchain(1, {"triton": "3.6.0"}, ""))
    (reason,) = recompilation(compiled(), other).reasons
    assert (reason.input, reason.following) == (CacheKeyInput("triton"), (CacheKeyInput("option", "clc"),))
    assert reason.components == ("attributes", "option clc", "triton")


def test_a_new_helper_is_listed_once():
    more = replace(KERNEL, helpers=(HELPER, replace(HELPER, name="thrice", line=30)))
    assert set(named(compiled(), compiled(KEY | {"source": "6" * 64}, more))) == {("helper", "thrice")}


def test_without_a_key_the_variant_itself_is_compared():
    bare = replace(compiled({}), specialization=(Argument("x", "*fp16", "D"), Argument("n", "i32", "")))
    other = replace(bare, config=Config((("BLOCK", 128), ("num_warps", 4))),
                    specialization=(Argument("x", "*fp16", "D"), Argument("n", "i32", "D")))  # fmt: skip
    found = recompilation(bare, other)
    assert not found.whole and found.unknown
    assert named(bare, other) == {
        ("argument", "n"): ("i32", "i32 divisible by 16"),
        ("constexpr", "BLOCK"): ("64", "128"),
    }


def test_an_incomplete_key_is_not_used():
    half = {"source": "5" * 64}
    assert not recompilation(compiled(), compiled(half)).whole
    assert named(compiled(), compiled(half)) == {}


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"attributes": "{(0,): [['tt.divisibility', 16]]}"}, "do_not_specialize=['n']"),
        ({"type stride": "i32", "constant stride": None}, "do_not_specialize=['stride']"),
        ({"option num_warps": "8"}, "drop num_warps=4 or 8; both compile"),
        ({"constant MODE": "1"}, "pass MODE at run time"),
        ({"constant BLOCK": "128"}, "drop BLOCK=64 or 128, or pass BLOCK at run time if callers set it"),
        ({"type x": "*fp16"}, None),
        ({"environment TRITON_X": "1"}, "set TRITON_X to one value in every run: empty and 1 compile alike"),
    ],
)
def test_remedies(changes, remedy):
    key = {name: text for name, text in (KEY | changes).items() if text is not None}
    a, b = compiled(), compiled(key)
    found = remedies(recompilation(a, b), a, b)
    assert (remedy is None and not found) or remedy in "".join(found)


_NAMES = ("option num_stages", "option maxnreg", "environment A", "global G", "constant MODE", "type x")


@given(
    st.dictionaries(st.sampled_from(_NAMES), st.text(max_size=5)),
    st.dictionaries(st.sampled_from(_NAMES), st.text(max_size=5)),
)
def test_every_difference_is_accounted_for_and_nothing_else(ours, theirs):
    a, b = compiled(KEY | ours), compiled(KEY | theirs)
    differing = {
        name for name in a.cache_key.keys() | b.cache_key if a.cache_key.get(name) != b.cache_key.get(name)
    }
    reasons = recompilation(a, b).reasons
    assert {component for reason in reasons for component in reason.components} == differing
    assert all(reason.a != reason.b for reason in reasons)


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20)), st.text(max_size=40))
def test_a_key_may_hold_anything(extra, attributes):
    hostile = compiled(KEY | extra | {"attributes": attributes})
    one = compiled()
    reasons = recompilation(one, hostile).reasons
    named = {component for reason in reasons for component in reason.components}
    assert named == {n for n, text in hostile.cache_key.items() if one.cache_key.get(n) != text}
    assert {given.name for given in cache_key_inputs(hostile, True)}


@pytest.mark.parametrize(
    ("a", "b", "block", "expected"),
    [
        ("fp16[64, 32]", "fp16[128, 32]", "128", {("constexpr", "BLOCK")}),
        ("fp16[32, 64]", "fp16[32, 128]", "128", {("constexpr", "BLOCK")}),
        ("fp16[64, 32]", "fp16[256, 32]", "128", {("constexpr", "BLOCK"), ("argument", "x")}),
        ("fp16[64, 32]", "bf16[128, 32]", "128", {("constexpr", "BLOCK"), ("argument", "x")}),
        ("fp16[64]", "fp16[64, 32]", "128", {("constexpr", "BLOCK"), ("argument", "x")}),
        ("fp16[64, 32]", "fp16[128, 32]", "64", {("argument", "x")}),
    ],
)
def test_block_shapes_follow_the_constexprs_that_set_them(a, b, block, expected):
    one = compiled(KEY | {"type x": f"tensordesc<{a}>"})
    other = compiled(KEY | {"type x": f"tensordesc<{b}>", "constant BLOCK": block})
    assert set(named(one, other)) == expected
