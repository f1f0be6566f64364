"""The values of `--vary`, and the launches that they make of recorded ones."""

from __future__ import annotations

import pytest

from irscope.compiling.launch_grid import (
    DependentArgument,
    LaunchCase,
    axes_of,
    dependent_arguments,
    dependent_constants,
    expand_axes,
    linked_axes,
    parse_axes,
)
from irscope.model import UserError


def values(text: str) -> list[str]:
    (axis,) = parse_axes(f"kernel:n={text}")
    return list(axis.texts())


def case(**arguments: str) -> LaunchCase:
    return LaunchCase(tuple(arguments.items()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", ["7"]),
        ("1,2,64", ["1", "2", "64"]),
        ("1..4", ["1", "2", "3", "4"]),
        ("1..10:4", ["1", "5", "9"]),
        ("1..50:x16", ["16", "32", "48"]),
        ("0..20:x16", ["0", "16"]),
        ("1..20:*4", ["1", "4", "16"]),
        ("1..3,64,None", ["1", "2", "3", "64", "None"]),
        ("-2..1", ["-2", "-1", "0", "1"]),
        ("*fp16:16,*fp16", ["*fp16:16", "*fp16"]),
    ],
)
def test_lists_ranges_steps_multiples_and_powers(text: str, expected: list[str]):
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("n=1", "expected KERNEL:NAME=VALUES"),
        ("k:", "expected KERNEL:NAME=VALUES"),
        ("k:n", "'n' is not NAME=VALUES"),
        ("k:n=", "'n=' is not NAME=VALUES"),
        ("k:n=1..8:*1", "'1..8:*1' never ends"),
        ("k:n=0..8:*2", "'0..8:*2' never ends"),
        ("k:n=1..8:0", "'1..8:0' never ends"),
        ("k:n=8..1", "'8..1' has no number in it"),
        ("k:n=1..15:x16", "has no number in it"),
        ("k:n=1..99999999", "99,999,999 numbers, more than 1,000,000"),
        ("k:n=same,1", "'same' keeps the recorded values"),
    ],
)
def test_what_is_wrong_is_named(text: str, problem: str):
    with pytest.raises(UserError) as raised:
        parse_axes(text)
    assert problem in str(raised.value)


def test_the_last_axis_of_an_argument_counts_and_kernels_match_globs():
    axes = (*parse_axes("mat*:m=1;n=2"), *parse_axes("other:m=3"), *parse_axes("matmul:m=4"))
    found = axes_of("matmul", ("m", "n"), axes)
    assert [(axis.name, axis.text) for axis in found] == [("m", "4"), ("n", "2")]


def test_a_glob_is_for_the_kernels_that_have_the_argument():
    axes = (*parse_axes("*:n=1;num_warps=8"), *parse_axes("k:m=1"))
    assert [axis.name for axis in axes_of("k", ("x",), axes)] == ["num_warps", "m"]


MATMUL = {
    "a": "float16[128, 512]",
    "M": "128",
    "N": "1024",
    "K": "512",
    "stride_am": "512",
    "stride_bk": "1024",
}


def test_an_equal_argument_moves_with_it():
    assert dependent_arguments("K", [case(**MATMUL)]) == (DependentArgument("stride_am", 1, 1),)
    assert dependent_arguments("N", [case(**MATMUL)]) == (DependentArgument("stride_bk", 1, 1),)


def test_a_multiple_that_another_argument_explains_does_not_move():
    assert dependent_arguments("M", [case(**MATMUL)]) == ()


def test_a_stride_that_only_a_multiple_explains_moves():
    qkv = case(D="64", H="8", stride_h="64", stride_t="1536")
    assert dependent_arguments("D", [qkv]) == (
        DependentArgument("stride_h", 1, 1),
        DependentArgument("stride_t", 24, 1),
    )


def test_several_launches_decide():
    square = [case(M="512", N="512"), case(M="256", N="512")]
    assert dependent_arguments("M", square) == ()
    doubled = [case(M="512", buffer="1024"), case(M="256", buffer="512"), case(M="1", buffer="2")]
    assert dependent_arguments("M", doubled) == (DependentArgument("buffer", 2, 3),)


def test_an_argument_with_an_axis_of_its_own_stays():
    recorded = [case(**MATMUL)]
    (axis,) = linked_axes(parse_axes("k:K=16,17;stride_am=same"), recorded)
    assert (axis.name, axis.dependents) == ("K", ())


def test_one_value_per_specialization_is_kept():
    recorded = [case(M="128", stride="128")]
    cases = expand_axes(recorded, linked_axes(parse_axes("k:M=1..8192"), recorded), None)
    assert [dict(each.arguments) for each in cases] == [
        {"M": "128", "stride": "128"}, {"M": "1", "stride": "1"}, {"M": "2", "stride": "2"},
        {"M": "16", "stride": "16"},
    ]  # fmt: skip


def test_a_multiple_that_is_divisible_earlier_than_the_argument_is_a_case_of_its_own():
    recorded = [case(M="16", stride="64"), case(M="48", stride="192")]
    cases = expand_axes(recorded, linked_axes(parse_axes("k:M=1..8192"), recorded), None)
    assert {dict(each.arguments)["M"] for each in cases} == {"16", "48", "1", "2", "4"}


def test_wide_integers_are_other_types():
    recorded = [case(n="128")]
    cases = expand_axes(
        recorded, linked_axes(parse_axes("k:n=16,4294967296,9223372036854775808"), recorded), None
    )
    assert len(cases) == 4


def test_axes_multiply_and_keep_the_recorded_value():
    recorded = [case(M="128", N="64")]
    cases = expand_axes(recorded, linked_axes(parse_axes("k:M=1,3;N=1"), recorded), None)
    assert [each.choices for each in cases] == [
        (), (("N", "1"),), (("M", "1"),), (("M", "1"), ("N", "1")), (("M", "3"),), (("M", "3"), ("N", "1")),
    ]  # fmt: skip


def test_values_with_another_outcome_are_kept():
    recorded = [case(n="128")]
    found = expand_axes(
        recorded, linked_axes(parse_axes("k:n=16..64:x16"), recorded), lambda c: c.arguments[0][1] >= "48"
    )
    assert [dict(each.arguments)["n"] for each in found] == ["128", "16", "48"]


def test_pointers_get_types_alignments_and_none():
    recorded = [LaunchCase((("x", "float16[64]"), ("bias", "None")))]
    cases = expand_axes(
        recorded, linked_axes(parse_axes("k:x=unaligned;bias=*fp32:16,*fp32"), recorded), None
    )
    assert [(dict(each.arguments)["bias"], sorted(each.unaligned)) for each in cases] == [
        ("None", []), ("*fp32", []), ("*fp32", ["bias"]),
        ("None", ["x"]), ("*fp32", ["x"]), ("*fp32", ["bias", "x"]),
    ]  # fmt: skip


def test_too_many_launches_are_refused():
    recorded = [case(M="128", N="64")]
    axes = parse_axes("k:M=1..300;N=1..300")
    with pytest.raises(UserError, match="300 of M x 300 of N are 90,601, more than 20,000"):
        expand_axes(recorded, linked_axes(axes, recorded), lambda c: c.arguments)


def test_a_value_that_is_none_is_named():
    recorded = [case(n="128")]
    with pytest.raises(UserError, match="n=hello is neither a number, a range nor a pointer"):
        expand_axes(recorded, linked_axes(parse_axes("k:n=hello"), recorded), None)


@pytest.mark.parametrize(
    ("launches", "expected"),
    [
        ([("781", 1024)], (("BLOCK", ("1024",)),)),
        ([("1024", 1024), ("4000", 4096), ("3000", 4096)], (("BLOCK", ("1024", "4096")),)),
        ([("781", 64)], ()),
        ([("1024", 64), ("1024", 128)], ()),
        ([("1024", 64), ("4096", 64)], ()),
    ],
)
def test_constants_that_the_program_computes_from_an_argument_are_named(
    launches: list[tuple[str, int]], expected: tuple[tuple[str, tuple[str, ...]], ...]
):
    recorded = [LaunchCase((("n", n),), (("BLOCK", block), ("num_warps", int(n)))) for n, block in launches]
    assert dependent_constants("n", recorded) == expected
