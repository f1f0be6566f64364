"""Measurements of a variant that is already written: launches and times."""

from __future__ import annotations

from pathlib import Path

from irscope.model import Benchmark, Config, Launch, SourceFunction
from irscope.store.new_variant import NewVariant
from irscope.store.reader import CaptureReader
from irscope.store.writer import CaptureWriter
from irscope.targets import parse_target

LAUNCH = Launch((4, 1, 1), (("x", "float16[512, 64]"), ("n", "512")))
TIMES = (Benchmark("n=512", 0.25, 0.2, 0.3), Benchmark("n=64", 0.1, 0.05, 0.2, chosen=True))


def test_launches_and_times_are_read_as_written(tmp_path: Path):
    path = tmp_path / "a.irscope"
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "irscope run")
        kernel = writer.add_kernel(SourceFunction("k", "k.py", 1, ""), (), ())
        new = NewVariant(parse_target("cuda:90"), (), Config(), launches=(LAUNCH,))
        id_ = writer.add_variant(kernel, toolchain, "3.9.0", new)
        writer.add_facts(id_, 1, {"ms": None})
        with CaptureReader(path) as capture:
            assert capture.variants()[0].launches == (LAUNCH,)
            assert capture.variants()[0].benchmarks == ()
        writer.set_measured(id_, (LAUNCH, LAUNCH), TIMES)
    with CaptureReader(path) as capture:
        (variant,) = capture.variants()
        assert variant.launches == (LAUNCH, LAUNCH)
        assert variant.benchmarks == TIMES
        assert capture.facts(1) == {}  # measured again
