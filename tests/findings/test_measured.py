"""Autotuning times as facts: the time of the last key, and the keys that a config won."""

from irscope.facts.measure import measure
from irscope.model import Benchmark
from tests.findings.builders import variant


def facts(*benchmarks: Benchmark):
    measured = measure(variant(benchmarks=benchmarks), lambda _: None)
    return [measured[name].value for name in ("ms", "ms_key", "chosen")]


def test_the_latest_time_and_every_won_key_are_kept():
    won, lost = Benchmark("n=1", 3.0, 2.5, 4.0, chosen=True), Benchmark("n=2", 1.5, 1.0, 2.0)
    assert facts(won, lost) == [1.5, "n=2", "n=1"]
    assert facts(lost) == [1.5, "n=2", "no"]
    assert facts(Benchmark("", 3.0, 2.5, 4.0, chosen=True)) == [3.0, "", "all"]


def test_without_a_gpu_there_are_no_times():
    assert facts() == [None, None, None]
