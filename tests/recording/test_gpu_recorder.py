"""Recording as on a GPU, on a stub: real compilations and loads, ignored launches, invented times."""

from __future__ import annotations

import pytest

from irscope.model import Benchmark, Variant
from irscope.store.reader import CaptureReader
from tests.recording.conftest import Recorded

pytest.importorskip("torch")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def variants(gpu_program: Recorded) -> list[Variant]:
    with CaptureReader(gpu_program.capture) as capture:
        return capture.variants()


def test_the_program_behaves_as_without_recording(gpu_program: Recorded):
    done = gpu_program.done
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "the program caught its error", "a launch makes the same calls True True", "untouched True 10",
    ]  # fmt: skip
    assert done.stderr == ""


def test_compilations_have_config_specialization_and_stages(variants: list[Variant]):
    tuned = [variant for variant in variants if variant.kernel.name == "tuned"]
    assert [str(variant.config) for variant in tuned[:4]] == [
        f"BLOCK={block},num_warps={warps},num_stages=3" for block in (64, 128) for warps in (2, 4)
    ]
    assert [variant.specialization[1].key for variant in tuned] == ["D"] * 4 + [""] * 4 + [None]
    for variant in tuned:
        assert {"source", "ttir", "ttgir", "llir", "ptx", "cubin"} <= set(variant.artifacts)
        assert set(variant.seconds) == {"ttir", "ttgir", "llir", "ptx", "cubin"}
        assert variant.metadata["num_warps"] == variant.config.get("num_warps")
        assert "option num_warps" in variant.cache_key


def test_times_are_recorded_by_tuning_key_and_the_fastest_config_is_chosen(variants: list[Variant]):
    assert variants[0].benchmarks == (Benchmark("n=4096", 3, 2.5, 4), Benchmark("n=2048", 3, 2.5, 4))
    assert variants[2].benchmarks == (
        Benchmark("n=4096", 1, 0.5, 2, True),
        Benchmark("n=2048", 1, 0.5, 2, True),
    )
    assert [variant.id for variant in variants if any(b.chosen for b in variant.benchmarks)] == [3, 7]
    assert variants[6].benchmarks[0].key == "n=100"


def test_the_first_launch_is_recorded(variants: list[Variant]):
    assert [v.launches[0].grid for v in variants if v.launches] == [
        (64, 1, 1), (64, 1, 1), (32, 1, 1), (32, 1, 1), (2, 1, 1), (2, 1, 1), (1, 1, 1), (1, 1, 1), (3, 1, 1),
    ]  # fmt: skip
    assert dict(variants[4].launches[0].arguments) == {"x": "float32[4096]", "n": "100"}


def test_a_failed_compilation_is_recorded_and_raised(variants: list[Variant]):
    (failed,) = [variant for variant in variants if variant.failure]
    assert failed.kernel.name == "fails"
    assert failed.failure.summary == "too small"


def test_choices_have_the_run_of_the_autotuner(variants: list[Variant]):
    runs = [one.tuning for one in variants[2].benchmarks]
    assert [(run.key, run.configs) for run in runs if run] == [
        ("(4096, 'torch.float32')", 4), ("(2048, 'torch.float32')", 4),
    ]  # fmt: skip
    assert all(run is not None and run.date.startswith("20") and run.device for run in runs)
    assert [one.tuning for one in variants[0].benchmarks] == [None, None]
