"""Sequence alignment: in order, exact on subsequences, and minimal in small gaps."""

import random
import time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from irscope.diff.align import AlignmentBudget, Gap, MatchingBlock, common_blocks, gaps_between, refined
from irscope.diff.rows import StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.languages.document import Document
from irscope.languages.language import parse

sequences = st.lists(st.integers(0, 5), max_size=200)


def covered(blocks: list[MatchingBlock]) -> int:
    return sum(block.size for block in blocks)


@given(sequences, sequences)
def test_blocks_are_equal_and_in_order(left: list[int], right: list[int]) -> None:
    at_left = at_right = 0
    for block in common_blocks(left, right):
        assert block.left >= at_left
        assert block.right >= at_right
        at_left, at_right = block.left + block.size, block.right + block.size
        assert left[block.left : at_left] == right[block.right : at_right]


@given(sequences, st.randoms(use_true_random=False))
def test_a_subsequence_is_matched_completely(left: list[int], rng: random.Random) -> None:
    right = [x for x in left if rng.random() < 0.7]
    assert covered(common_blocks(left, right)) == len(right)


@given(sequences, sequences)
def test_small_gaps_are_minimal(left: list[int], right: list[int]) -> None:
    left, right = left[:60], right[:60]
    assert covered(common_blocks(left, right)) == LCSseq.similarity(left, right)


def test_rare_elements_split_large_sequences() -> None:
    rng = random.Random(0)
    left = [rng.randrange(30) if rng.random() < 0.9 else 1000 + i for i in range(20_000)]
    right = [x for x in left if rng.random() > 0.01]
    start = time.process_time()
    assert covered(common_blocks(left, right)) == len(right)
    assert time.process_time() - start < 1.0  # the LCS of the whole takes a second and 50 MB


def test_sequences_with_nothing_in_common_take_no_comparison() -> None:
    work = AlignmentBudget(pairs=0)
    assert common_blocks([f"a{n % 7}" for n in range(9000)], [f"b{n % 7}" for n in range(9000)], work) == []
    assert not work.exceeded


def test_beyond_the_bound_common_elements_are_found_in_pieces() -> None:
    rng = random.Random(0)
    left = [rng.randrange(30) for _ in range(9000)]
    right = [x for x in left if rng.random() > 0.01]
    work = AlignmentBudget(pairs=0)
    blocks = common_blocks(left, right, work)
    assert work.exceeded
    assert all(left[b.left : b.left + b.size] == right[b.right : b.right + b.size] for b in blocks)
    ends = [(b.left + b.size, b.right + b.size) for b in blocks]
    assert all(end[0] <= b.left and end[1] <= b.right for end, b in zip(ends, blocks[1:], strict=False))
    assert covered(blocks) > len(right) // 2


def test_a_diff_says_that_it_is_rough() -> None:
    rng = random.Random(0)
    texts = ["\n".join(f"  op{rng.randrange(30)} i32 %a" for _ in range(5000)) for _ in range(2)]
    left, right = (parse(text, "llvm") for text in texts)
    exact, rough = diff_stage("llir", left, right), rough_diff(left, right)
    assert not exact.rough and "roughly" not in exact.summary
    assert rough.rough and rough.mirrored.rough and "matched roughly" in rough.summary


def rough_diff(left: Document, right: Document) -> StageDiff:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("irscope.diff.stage_diff.AlignmentBudget", partial(AlignmentBudget, 0))
        return diff_stage("llir", left, right)


def test_any_sequences() -> None:
    assert common_blocks((1, 2, 3), [1, 2, 4]) == common_blocks("123", "124") == [MatchingBlock(0, 0, 2)]


def test_gaps_between_and_refined() -> None:
    left, right = list("axbyc"), list("aXbYc")
    blocks = common_blocks(left, right)
    assert list(gaps_between(blocks, Gap(0, 5, 0, 5))) == [Gap(1, 2, 1, 2), Gap(3, 4, 3, 4)]
    lower = refined(blocks, left, [x.lower() for x in right])
    assert covered(lower) == 5
