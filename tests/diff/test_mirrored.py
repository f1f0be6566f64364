"""diff(B, A) is diff(A, B) with the sides swapped."""

import random
from collections import Counter
from itertools import combinations
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.diff.rows import Change, StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.languages.document import Document
from irscope.languages.language import parse
from tests.diff.stages import NAMES, language_of, text_of


def assert_mirrored(diff: StageDiff, back: StageDiff) -> None:
    assert {change.mirrored: number for change, number in diff.counts.items()} == back.counts
    assert Counter(row.mirrored for row in diff.rows) == Counter(back.rows)
    key = attrgetter("left.alias", "right.alias", "fields", "uses")
    changed = [change for change in diff.layouts if change.left and change.right]
    others = [change for change in back.layouts if change.left and change.right]
    assert sorted(key(change.mirrored) for change in changed) == sorted(map(key, others))
    assert len(diff.layouts) == len(back.layouts)


def pairs() -> list[tuple[str, str]]:
    """The committed files of one kernel and stage, in pairs."""
    return [
        (a, b)
        for a, b in combinations(NAMES, 2)
        if (a.split(".")[0], a.rpartition(".")[2]) == (b.split(".")[0], b.rpartition(".")[2])
    ]


@pytest.mark.parametrize(("stage", "every"), [("ttir", 1), ("ttgir", 6), ("llir", 6), ("ptx", 6)])
def test_committed_stages(stage: str, every: int) -> None:
    assert_all_mirrored([pair for pair in pairs() if pair[0].endswith(f".{stage}")][::every])


@pytest.mark.slow
def test_all_committed_stages() -> None:
    assert_all_mirrored(pairs())


def assert_all_mirrored(names: list[tuple[str, str]]) -> None:
    documents: dict[str, Document] = {}
    for name in {name for pair in names for name in pair}:
        documents[name] = parse(text_of(name), language_of(name))
    for a, b in names:
        left, right = documents[a], documents[b]
        assert_mirrored(diff_stage("", left, right), diff_stage("", right, left))


@given(st.integers(0, 2**32), st.sampled_from([name for name in NAMES if name.endswith(("ttir", "ttgir"))]))
def test_edited_stages(seed: int, name: str) -> None:
    text, rng = text_of(name), random.Random(seed)
    lines = text.split("\n")
    for _ in range(rng.randint(1, 12)):
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[at], lines[other] = rng.choice(
            [(lines[other], lines[at]), ("", lines[other]), (lines[other],) * 2]
        )
    left, right = parse(text, "mlir"), parse("\n".join(lines), "mlir")
    diff, back = diff_stage("", left, right), diff_stage("", right, left)
    assert_mirrored(diff, back)
    for rows, side in ((diff.rows, left), (back.rows, right)):
        assert [row.left for row in rows if row.left is not None] == list(range(len(side.lines)))


def test_mirrored_changes() -> None:
    assert (Change.ADDED | Change.SHAPE).mirrored == Change.REMOVED | Change.SHAPE
    assert Change.MOVED.mirrored is Change.MOVED
    assert Change.EQUAL.mirrored is Change.EQUAL
