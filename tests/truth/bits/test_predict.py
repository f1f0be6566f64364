"""No pair of launches that computed different bits on an H200 is called the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.truth.bits.predict import FILES, LATER, scores

_TUNED, _OWN = FILES
# So many configs of each of 126 kernels, to bound the time.
_CONFIGS = 4


@pytest.mark.slow
def test_everyday_kernels() -> None:
    """Matmul, attention, softmax, RMS norm and others: the classes are those of the GPU."""
    counted = scores(_TUNED, ["*"], 24, 1)
    assert [score.kernel for score in counted if score.wrong] == []
    assert [score.kernel for score in counted if score.missed or score.unknown] == []
    assert sum(score.differ for score in counted) > 500


@pytest.mark.slow
def test_kernels_of_all_kinds() -> None:
    counted = scores(_OWN, ["*"], _CONFIGS, 1)
    assert [(score.kernel, score.example) for score in counted if score.wrong] == []
    pairs = sum(score.launches * (score.launches - 1) // 2 for score in counted)
    assert sum(score.unknown for score in counted) < 0.12 * pairs
    recognized = sum(score.recognized for score in counted)
    assert recognized > 0.85 * (recognized + sum(score.missed for score in counted))


@pytest.mark.slow
def test_products_that_stay_in_shared_memory() -> None:
    """A product is added up before it is written to a buffer, from which another product reads it."""
    counted = scores(_OWN, ["gemm_chain", "linear_chunks"], 1000, 1)
    assert [(score.kernel, score.wrong, score.missed) for score in counted] == [
        ("gemm_chain", 0, 0),
        ("linear_chunks", 0, 0),
    ]


def test_partitions() -> None:
    """What passes note about an operation, such as its partition, decides nothing."""
    (score,) = scores(_OWN, ["device_descriptors"], 12, 1)
    assert (score.recognized, score.missed, score.wrong) == (66, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("file", LATER, ids=lambda file: file.name.partition(".")[0])
def test_later_tritons(file: Path) -> None:
    counted = scores(file, ["*"], _CONFIGS, 1)
    assert [(score.kernel, score.example) for score in counted if score.wrong] == []
    assert sum(score.recognized for score in counted) > 4 * sum(score.missed for score in counted)
    pairs = sum(score.launches * (score.launches - 1) // 2 for score in counted)
    assert sum(score.unknown for score in counted) < 0.12 * pairs


def test_which_of_two_products_is_fused() -> None:
    """LLVM decides that by what a thread does with them before it adds them in pairs, since Triton 3.8."""
    for file in LATER:
        (score,) = scores(file, ["converted_sums"], 100, 1)
        assert score.launches and (score.wrong, score.unknown) == (0, 0)


def test_descriptors_of_later_tritons() -> None:
    """Their type has no tensor since Triton 3.8."""
    for file in LATER:
        (score,) = scores(file, ["host_descriptors"], 6, 1)
        assert score.recognized and (score.wrong, score.missed, score.unknown) == (0, 0, 0)
