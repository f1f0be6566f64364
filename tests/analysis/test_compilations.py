"""A kernel's compilations: varied inputs, redundant compilations, and warm-up."""

from __future__ import annotations

from dataclasses import replace

from irscope.analysis.compilations import compilations
from irscope.facts.fact import Fact
from irscope.facts.registry import FACT_KINDS
from irscope.model import Argument, Benchmark, Config, Failure
from tests.analysis.builders import variant

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
