"""Sequence alignment: which elements of two sequences correspond, in order (patience diff, then LCS).

    a b c d e        a x c d        -> Block(0, 0, 1), Block(2, 2, 2)

Trim the common head and tail, split at elements that are unique on both sides, repeat inside the gaps, and
pass the rest to rapidfuzz. Intermediate code is repetitive, so only splitting at unique elements leaves large
gaps; only rapidfuzz takes quadratic time on whole stages. `Work` bounds that: beyond it, the n-th occurrence
of an element matches the n-th one of the other side, and the gaps between those are compared piece by piece,
which takes linear time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

# Below this product of lengths the LCS costs less than counting unique elements (measured: 20 us each).
_SMALL = 64 * 64
# Above this product, elements of one side only are left out first: 4 ms for the LCS, 1 ms for that.
_MEDIUM = 2**24
# The LCS needs a bit per pair of elements: 2^31 is 256 MB and 0.3 s.
_LARGE = 2**31
# The pairs of elements that one diff compares, in several alignments: 3 s.
_ALL_PAIRS = 2**34
# Beyond that, pieces of this length are compared: 50 us for each.
_PIECE = 1024
# Head and tail are compared in slices of this length; the first slice that differs, by element.
_CHUNK = 512


class MatchingBlock(NamedTuple):
    """`size` consecutive elements that correspond, starting at `left` and `right`."""

    left: int
    right: int
    size: int


class Gap(NamedTuple):
    """The part of both sequences between two blocks; either side may be empty."""

    left: int
    left_end: int
    right: int
    right_end: int


@dataclass(slots=True)
class AlignmentBudget:
    """The pairs of elements that the alignments of one diff may still compare.

    `exceeded` says that an alignment was too large for an exact answer.
    """

    pairs: int = _ALL_PAIRS
    exceeded: bool = False

    def allows(self, pairs: int) -> bool:
        """Check whether an exact alignment may compare this many more pairs, and subtract them if so."""
        allowed = pairs <= min(self.pairs, _LARGE)
        self.pairs -= pairs if allowed else 0
        self.exceeded |= not allowed
        return allowed


def common_blocks(
    left: Sequence[Hashable], right: Sequence[Hashable], work: AlignmentBudget | None = None
) -> list[MatchingBlock]:
    """Return blocks of equal elements, in the order of both sequences.

    If one sequence is the other with elements removed, every remaining element is in a block,
    unless `work` (None: what a diff may do) does not suffice; `work.exceeded` is set then.
    """
    work = work or AlignmentBudget()
    left, right = list(left), list(right)  # slices are compared, and a tuple never equals a list
    blocks: list[MatchingBlock] = []
    open_gaps = [Gap(0, len(left), 0, len(right))]
    while open_gaps:
        gap, ends = _trimmed(left, right, open_gaps.pop())
        blocks += ends
        if gap.left == gap.left_end or gap.right == gap.right_end:
            continue
        inside = _anchors(left, right, gap)
        if inside:
            blocks += inside
            open_gaps += gaps_between(inside, gap)
        else:
            blocks += _lcs(left, right, gap, work)
    blocks.sort()
    return blocks


def refined(
    blocks: Iterable[MatchingBlock],
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    work: AlignmentBudget | None = None,
) -> list[MatchingBlock]:
    """Return `blocks` and the common blocks of the gaps between them, in order.

    `work` is as in `common_blocks`.
    """
    all_blocks = list(blocks)
    for gap in list(gaps_between(all_blocks, Gap(0, len(left), 0, len(right)))):
        inside = common_blocks(left[gap.left : gap.left_end], right[gap.right : gap.right_end], work)
        all_blocks += [
            MatchingBlock(gap.left + block.left, gap.right + block.right, block.size) for block in inside
        ]
    all_blocks.sort()
    return all_blocks


def matched_pairs(blocks: Iterable[MatchingBlock]) -> list[tuple[int, int]]:
    """Return the positions of the elements that correspond, one pair per element."""
    return [(block.left + n, block.right + n) for block in blocks for n in range(block.size)]


def gaps_between(blocks: Iterable[MatchingBlock], whole: Gap) -> Iterator[Gap]:
    """Yield the gaps before, between and after `blocks` inside `whole`, if neither side is empty."""
    at_left, at_right = whole.left, whole.right
    for block in (*blocks, MatchingBlock(whole.left_end, whole.right_end, 0)):
        if at_left < block.left and at_right < block.right:
            yield Gap(at_left, block.left, at_right, block.right)
        at_left, at_right = block.left + block.size, block.right + block.size


def _trimmed(
    left: Sequence[Hashable], right: Sequence[Hashable], gap: Gap
) -> tuple[Gap, list[MatchingBlock]]:
    """Return `gap` without its common head and tail, and the blocks of these two."""
    blocks = []
    room = min(gap.left_end - gap.left, gap.right_end - gap.right)
    head = _common_head(left, right, gap.left, gap.right, room)
    if head:
        blocks.append(MatchingBlock(gap.left, gap.right, head))
    tail = _common_tail(left, right, gap.left_end, gap.right_end, room - head)
    if tail:
        blocks.append(MatchingBlock(gap.left_end - tail, gap.right_end - tail, tail))
    return Gap(gap.left + head, gap.left_end - tail, gap.right + head, gap.right_end - tail), blocks


def _common_head(left: Sequence[Hashable], right: Sequence[Hashable], i: int, j: int, room: int) -> int:
    done = 0
    while done < room:
        size = min(_CHUNK, room - done)
        ours, theirs = left[i + done : i + done + size], right[j + done : j + done + size]
        if ours != theirs:
            return done + next(n for n, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
        done += size
    return done


def _common_tail(left: Sequence[Hashable], right: Sequence[Hashable], i: int, j: int, room: int) -> int:
    done = 0
    while done < room:
        size = min(_CHUNK, room - done)
        ours, theirs = left[i - done - size : i - done], right[j - done - size : j - done]
        if ours != theirs:
            pairs = zip(reversed(ours), reversed(theirs), strict=True)
            return done + next(n for n, (a, b) in enumerate(pairs) if a != b)
        done += size
    return done


def _anchors(left: Sequence[Hashable], right: Sequence[Hashable], gap: Gap) -> list[MatchingBlock]:
    """Return a longest common subsequence of the elements that are unique on both sides of `gap`."""
    if (gap.left_end - gap.left) * (gap.right_end - gap.right) <= _SMALL:
        return []
    ours, theirs = left[gap.left : gap.left_end], right[gap.right : gap.right_end]
    counts, other_counts = Counter(ours), Counter(theirs)
    unique = [key for key, n in counts.items() if n == 1 and other_counts.get(key) == 1]
    index, other_index = dict(zip(ours, count(gap.left))), dict(zip(theirs, count(gap.right)))
    pairs = sorted((index[key], other_index[key]) for key in unique)
    return [MatchingBlock(*pairs[n], 1) for n in longest_increasing([j for _, j in pairs])]


def longest_increasing(values: Sequence[int]) -> list[int]:
    """Return the indices of a longest increasing subsequence of distinct values (patience sorting)."""
    tops: list[int] = []
    top_index: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        pile = bisect_left(tops, value)
        before.append(top_index[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(value)
            top_index.append(index)
        else:
            tops[pile] = value
            top_index[pile] = index
    chosen = []
    index = top_index[-1] if top_index else -1
    while index >= 0:
        chosen.append(index)
        index = before[index]
    chosen.reverse()
    return chosen


def _lcs(
    left: Sequence[Hashable], right: Sequence[Hashable], gap: Gap, work: AlignmentBudget
) -> list[MatchingBlock]:
    """Return the longest common subsequence inside `gap`, or a shorter one if that is too much work."""
    ours, theirs = range(gap.left, gap.left_end), range(gap.right, gap.right_end)
    if len(ours) * len(theirs) <= _MEDIUM:
        return _exact(left, ours, right, theirs)
    # Elements of one side only are in no common subsequence; texts may have nothing in common.
    both = {left[i] for i in ours} & {right[j] for j in theirs}
    shared, other_shared = [i for i in ours if left[i] in both], [j for j in theirs if right[j] in both]
    if work.allows(len(shared) * len(other_shared)):
        return _exact(left, shared, right, other_shared)
    return _roughly(left, shared, right, other_shared)


def _exact(
    left: Sequence[Hashable], ours: Sequence[int], right: Sequence[Hashable], theirs: Sequence[int]
) -> list[MatchingBlock]:
    """Return the longest common subsequence of the elements at these indices."""
    if isinstance(ours, range) and isinstance(theirs, range):
        whole = left[ours.start : ours.stop], right[theirs.start : theirs.stop]
    else:
        whole = [left[i] for i in ours], [right[j] for j in theirs]
    blocks = []
    for op in LCSseq.opcodes(*whole):
        if op.tag == "equal":
            size = op.src_end - op.src_start
            blocks += _consecutive((ours[op.src_start + n], theirs[op.dest_start + n]) for n in range(size))
    return blocks


def _roughly(
    left: Sequence[Hashable], ours: Sequence[int], right: Sequence[Hashable], theirs: Sequence[int]
) -> list[MatchingBlock]:
    """Return a common subsequence in linear time.

    It matches occurrences in order, then compares the gaps between them piece by piece.
    """
    occurrences: dict[Hashable, list[int]] = {}
    for n in range(len(theirs) - 1, -1, -1):
        occurrences.setdefault(right[theirs[n]], []).append(n)
    pairs = [(n, occurrences[left[i]].pop()) for n, i in enumerate(ours) if occurrences.get(left[i])]
    anchors = [MatchingBlock(*pairs[n], 1) for n in longest_increasing([j for _, j in pairs])]
    blocks = _consecutive((ours[block.left], theirs[block.right]) for block in anchors)
    for gap in gaps_between(anchors, Gap(0, len(ours), 0, len(theirs))):
        steps = 1 + max(gap.left_end - gap.left, gap.right_end - gap.right) // _PIECE
        for n in range(steps):
            mine = ours[_part(gap.left, gap.left_end, n, steps) : _part(gap.left, gap.left_end, n + 1, steps)]
            opposite = theirs[
                _part(gap.right, gap.right_end, n, steps) : _part(gap.right, gap.right_end, n + 1, steps)
            ]
            if mine and opposite:
                blocks += _exact(left, mine, right, opposite)
    return blocks


def _part(start: int, end: int, n: int, parts: int) -> int:
    """Return the start of the n-th of equal parts."""
    return start + (end - start) * n // parts


def _consecutive(pairs: Iterable[tuple[int, int]]) -> list[MatchingBlock]:
    """Combine pairs of indices, in order, into blocks."""
    blocks: list[MatchingBlock] = []
    for i, j in pairs:
        if blocks and (i, j) == (blocks[-1].left + blocks[-1].size, blocks[-1].right + blocks[-1].size):
            blocks[-1] = MatchingBlock(blocks[-1].left, blocks[-1].right, blocks[-1].size + 1)
        else:
            blocks.append(MatchingBlock(i, j, 1))
    return blocks
