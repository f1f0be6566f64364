"""A kernel's compilations: varied inputs, redundant compilations, and warm-up."""

from __future__ import annotations

from dataclasses import replace

from irscope.facts.fact import Fact
from irscope.facts.registry import FACT_KINDS
from irscope.findings.compilations import compilation_summary, compilations
from irscope.model import Argument, Benchmark, Config, Failure, SourceFunction
from tests.findings.builders import variant

KINDS = {kind.name: kind for kind in FACT_KINDS}


def made(id_, n, stages, code, **fields):
    fields.setdefault("seconds", {"llir": 0.5})
    one = variant(name="add", id_=id_, **fields)
    facts = {"code": Fact(KINDS["code"], code), "registers": Fact(KINDS["registers"], 16)}
    return replace(
        one, specialization=(Argument("n", "i32", n),), config=Config((("B", 64), ("num_stages", stages)))
    ), facts


def story(*pairs):
    variants = [one for one, _ in pairs]
    return compilations("add", variants, {one.id: facts for one, facts in pairs})


def test_varied_inputs_have_their_values_and_counts():
    found = story(made(1, "D", 2, "a"), made(2, "D", 3, "b"), made(3, "", 3, "c"))
    assert [(varied.input.name, dict(varied.values)) for varied in found.varied] == [
        ("n", {"i32 divisible by 16": 2, "i32": 1}),
        ("num_stages", {"2": 1, "3": 2}),
    ]


def test_repeated_code_costs_its_own_seconds():
    found = story(made(1, "D", 2, "a"), made(2, "D", 3, "a"), made(3, "", 3, "a"), made(4, "", 4, "b"))
    assert found.repeated == (2, 3)
    assert found.repeated_seconds == 1.0
    assert (found.seconds, found.timed) == (2.0, 4)


def test_unknown_code_is_not_repeated_and_unknown_time_is_not_zero():
    found = story(made(1, "D", 2, None, seconds={}), made(2, "D", 3, None))
    assert found.repeated == ()
    assert found.timed == 1
    assert found.argument_sets[0].seconds is None


def test_warm_up_covers_each_specialization():
    chosen = made(1, "D", 2, "a", benchmarks=(Benchmark("n=1", 1.0, 1.0, 1.0, chosen=True),))
    found = story(chosen, made(2, "D", 3, "b"), made(3, "", 3, "c"))
    assert [(one.arguments, one.compiled, one.chosen) for one in found.argument_sets] == [
        ((("n", "i32 divisible by 16"),), 2, (1,)),
        ((("n", "i32"),), 1, ()),
    ]


def test_failures_are_counted():
    found = story(made(1, "D", 2, None, failure=Failure("E", "no", "no")), made(2, "D", 3, "b"))
    assert found.failed == 1


AUTOTUNED = SourceFunction(
    "add", "k.py", 1, "@triton.autotune(CONFIGS, key=[])\n@triton.jit\ndef add(d): ...\n"
)


def described(id_, block, shape, dtype="fp16", source=AUTOTUNED):
    one, facts = made(id_, "D", 3, str(id_), source=source)
    argument = Argument("d", f"tensordesc<{dtype}[{shape}]>")
    return replace(one, specialization=(argument,), config=Config((("B", block),))), facts


def test_block_shapes_that_the_configs_set_are_covered_by_one_call():
    configs = [described(1, 64, "64, 64"), described(2, 128, "128, 64"), described(3, 256, "64, 64")]
    (only,) = story(*configs).argument_sets
    assert (only.arguments, only.compiled) == ((), 3)
    two = story(*configs, described(4, 64, "64, 64", "bf16")).argument_sets
    assert [(one.arguments, one.compiled) for one in two] == [
        ((("d", "tensordesc<fp16>"),), 3), ((("d", "tensordesc<bf16>"),), 1),
    ]  # fmt: skip


def test_block_shapes_that_the_caller_sets_are_a_set_each():
    by_hand = SourceFunction("add", "k.py", 1, "@triton.jit\ndef add(d): ...\n")
    for pairs in (
        [described(1, 64, "64, 64"), described(2, 64, "128, 64")],
        [described(1, 64, "64, 64", source=by_hand), described(2, 128, "128, 64", source=by_hand)],
    ):
        assert len(story(*pairs).argument_sets) == 2


def test_the_lengths_of_tl_arange_are_not_a_constexpr():
    pairs = [made(1, "D", 2, "a"), made(2, "D", 3, "b")]
    pairs = [
        (replace(one, config=Config((("arange", 64 * one.id), ("cache", f"ab{one.id}")))), own)
        for one, own in pairs
    ]
    assert [varied.input.kind for varied in story(*pairs).varied] == ["range", "hash"]
    assert (2, "length of tl.arange: 64 x1, 128 x1") in compilation_summary(story(*pairs))
