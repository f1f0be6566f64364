"""The time saved by compiling equal TTIR once; only known times count."""

import pytest

from irscope.facts.duplicates import stage_reuse
from irscope.facts.fact import Fact
from irscope.facts.measure import FACT_KINDS, measure
from tests.findings.builders import variant

KINDS = {kind.name: kind for kind in FACT_KINDS}
STAGES = dict.fromkeys(("source", "ttir", "ttgir", "llir", "ptx", "cubin", "sass"), b"")
MADE = {"ttir": 0.1, "ttgir": 0.2, "llir": 1.0, "ptx": 0.25, "cubin": 0.5}
TAKEN = {"ttir": 0.1, "ttgir": 0.2}


def one(id_, seconds, **more):
    return variant(id_=id_, seconds=seconds, stages=STAGES, **more)


def shared(*variants, codes="aaaaaa"):
    facts = {
        made.id: {"code": Fact(KINDS["code"], code)} for made, code in zip(variants, codes, strict=False)
    }
    found = stage_reuse(variants, facts)
    return found.variants, found.seconds


def test_reused_stages_save_their_original_compile_time():
    assert shared(one(1, MADE), one(2, TAKEN), one(3, TAKEN)) == ((2, 3), pytest.approx(3.5))


def test_without_reuse_nothing_is_saved():
    assert shared(one(1, MADE), one(2, MADE)) == ((), None)


def test_variants_from_tritons_cache_are_not_counted():
    assert shared(one(1, MADE), one(2, TAKEN, cached=True)) == ((), None)
    assert shared(one(1, MADE, cached=True), one(2, TAKEN)) == ((2,), None)


def test_an_unknown_compile_time_makes_the_sum_unknown():
    variants = one(1, MADE), one(2, TAKEN), one(3, TAKEN), one(4, TAKEN)
    assert shared(*variants, codes="aabb") == ((2, 3, 4), None)


def test_a_failed_variant_reuses_no_stages():
    failed = variant(id_=2, seconds=TAKEN, stages=dict.fromkeys(("source", "ttir", "ttgir"), b""))
    assert shared(one(1, MADE), failed) == ((), None)


def test_reused_stages_have_no_compile_time():
    facts = [measure(made, STAGES.get) for made in (one(1, MADE), one(2, TAKEN))]
    assert facts[0]["seconds"].value == pytest.approx(2.05)
    assert facts[1]["seconds"].value is None
    assert facts[1]["ttgir_seconds"].value == 0.2
