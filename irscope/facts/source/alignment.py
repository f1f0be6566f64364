"""Aligns the lines of two sources by the tokens of the statements of matching functions.

Comments, blank lines, docstrings, indentation, line breaks and renamed variables, functions, parameters and
files change nothing. Statements that were edited match if half of their tokens are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache

from rapidfuzz.distance import Indel

from irscope.diff.align import Gap, common_blocks, gaps_between, matched_pairs, refined
from irscope.diff.line_map import FileLine, LineMap, MatchedLine
from irscope.facts.source.tokens import StatementTokens, Token, def_index, statements
from irscope.model import Kernel, SourceFunction
from irscope.model.records import grouped

# Edited statements are paired up to this product of numbers; longer rewritten parts have no matches.
_MOST_PAIRS = 40 * 40
# The share of equal tokens from which on two statements are the same one, edited.
_SIMILAR = 0.5
# The tokens from which on an equal statement elsewhere is the same one: `else:` and `pass` are anywhere.
_SHORTEST_MOVED = 4

_Pairs = list[tuple[StatementTokens, StatementTokens]]


@lru_cache(maxsize=64)
def line_map(a: Kernel, b: Kernel) -> LineMap:
    """Map the lines of A's kernel and helpers to B's. `line_map(b, a)` is its inverse."""
    lines: dict[FileLine, MatchedLine | None] = {}
    for function in _functions(a):
        lines.update(dict.fromkeys(_file_lines(function)))
    moved: dict[FileLine, MatchedLine] = {}
    for left, right in _function_pairs(a, b):
        matched, elsewhere = _matched_lines(left, right)
        lines.update(matched)
        moved.update(elsewhere)
    lines_of_b = frozenset(key for function in _functions(b) for key in _file_lines(function))
    if a.source.text and b.source.text:
        return LineMap(lines, lines_of_b, moved=moved)
    return LineMap(lines, lines_of_b, (_definition(a.source), _definition(b.source)), moved)


def _definition(function: SourceFunction) -> FileLine:
    """Return the line of a function's `def`. Without its text, that is the line that the IR gives."""
    return function.file, function.line + def_index(function.text.split("\n"))


def _functions(kernel: Kernel) -> list[SourceFunction]:
    return [function for function in (kernel.source, *kernel.helpers) if function.text]


def _file_lines(function: SourceFunction) -> Iterator[FileLine]:
    count = function.text.rstrip("\n").count("\n") + 1
    return ((function.file, function.line + index) for index in range(count))


def _function_pairs(a: Kernel, b: Kernel) -> Iterator[tuple[SourceFunction, SourceFunction]]:
    """Pair the kernels, then the helpers.

    Helpers are paired by file and name, by name, by text, by text without names, and by order.
    """
    if a.source.text and b.source.text:
        yield a.source, b.source
    left = [function for function in a.helpers if function.text]
    right = [function for function in b.helpers if function.text]
    for key in _FUNCTION_KEYS:
        by_key = grouped(reversed(right), key)
        found_pairs = [
            (function, candidates.pop()) for function in left if (candidates := by_key.get(key(function)))
        ]
        yield from found_pairs
        paired = {id(function) for pair in found_pairs for function in pair}
        left = [function for function in left if id(function) not in paired]
        right = [function for function in right if id(function) not in paired]
    if len(left) == len(right):
        yield from zip(left, right, strict=True)


def _tokens(function: SourceFunction) -> Hashable:
    return tuple(statement.texts for statement in statements(function.text))


def _nameless_tokens(function: SourceFunction) -> Hashable:
    return tuple(statement.without_names for statement in statements(function.text))


_FUNCTION_KEYS: tuple[Callable[[SourceFunction], Hashable], ...] = (
    lambda function: (function.name, function.file),
    lambda function: function.name,
    _tokens,
    _nameless_tokens,
)


def _matched_lines(
    left: SourceFunction, right: SourceFunction
) -> tuple[dict[FileLine, MatchedLine], dict[FileLine, MatchedLine]]:
    """Return the lines of the statements that match in order, and of those that B has at another place."""
    if left.text == right.text:
        lines = enumerate(_file_lines(left))
        return {key: MatchedLine(right.file, right.line + index) for index, key in lines}, {}
    ours, theirs = statements(left.text), statements(right.text)
    pairs = _statement_pairs(ours, theirs)
    matched, moved = (
        {key: match for pair in statement_pairs for key, match in _lines_of(*pair, left, right)}
        for statement_pairs in (pairs, _moved(ours, theirs, pairs))
    )
    return matched, moved


def _moved(left: Sequence[StatementTokens], right: Sequence[StatementTokens], pairs: _Pairs) -> _Pairs:
    """Return the pairs of statements that only changed places: each the only one of its text on its side."""
    paired = {id(statement) for pair in pairs for statement in pair}
    ours, theirs = (
        grouped(
            (s for s in side if id(s) not in paired and len(s.texts) >= _SHORTEST_MOVED),
            lambda statement: statement.texts,
        )
        for side in (left, right)
    )
    return [
        (group[0], theirs[texts][0])
        for texts, group in ours.items()
        if len(group) == 1 and len(theirs.get(texts, ())) == 1
    ]


def _lines_of(
    ours: StatementTokens, theirs: StatementTokens, left: SourceFunction, right: SourceFunction
) -> Iterator[tuple[FileLine, MatchedLine]]:
    """Yield the lines of a statement.

    Each is where its first common token is, else where B's statement starts.
    """
    by_line: dict[int, list[tuple[Token, Token]]] = {token.row: [] for token in ours.tokens}
    for token, their_token in _common_tokens(ours, theirs):
        by_line[token.row].append((token, their_token))
    edited = ours.without_names != theirs.without_names
    for row, pairs in by_line.items():
        positions = tuple((right.line + their_token.row, their_token.column) for _, their_token in pairs)
        line = positions[0][0] if positions else right.line + theirs.tokens[0].row
        columns = tuple(token.column for token, _ in pairs)
        yield (left.file, left.line + row), MatchedLine(right.file, line, columns, positions, edited)


def _common_tokens(left: StatementTokens, right: StatementTokens) -> list[tuple[Token, Token]]:
    """Return the tokens that both statements have; all tokens if only names differ."""
    if left.without_names == right.without_names:
        return list(zip(left.meaningful, right.meaningful, strict=True))
    blocks = common_blocks(left.texts, right.texts)
    return [(left.meaningful[i], right.meaningful[j]) for i, j in matched_pairs(blocks)]


def _statement_pairs(left: Sequence[StatementTokens], right: Sequence[StatementTokens]) -> _Pairs:
    """Return the statements that match, in order, the same whichever side is which."""
    if [statement.texts for statement in left] > [statement.texts for statement in right]:
        return [(ours, theirs) for theirs, ours in _statement_pairs(right, left)]
    blocks = common_blocks([statement.texts for statement in left], [statement.texts for statement in right])
    names = [statement.without_names for statement in left], [statement.without_names for statement in right]
    blocks = refined(blocks, *names)
    pairs = [(left[i], right[j]) for i, j in matched_pairs(blocks)]
    for gap in gaps_between(blocks, Gap(0, len(left), 0, len(right))):
        pairs += _similar(left[gap.left : gap.left_end], right[gap.right : gap.right_end])
    return pairs


def _similar(left: Sequence[StatementTokens], right: Sequence[StatementTokens]) -> _Pairs:
    """Find the pairs, in order, with the largest sum of similarities.

    Uses dynamic programming over all pairs.
    """
    if len(left) * len(right) > _MOST_PAIRS:
        return []
    best: list[list[tuple[float, _Pairs]]] = [[(0.0, []) for _ in range(len(right) + 1)]]
    for ours in left:
        row: list[tuple[float, _Pairs]] = [(0.0, [])]
        for j, theirs in enumerate(right):
            options = [best[-1][j + 1], row[j]]
            similarity = Indel.normalized_similarity(ours.texts, theirs.texts)
            if similarity >= _SIMILAR:
                score, pairs = best[-1][j]
                options.append((score + similarity, [*pairs, (ours, theirs)]))
            row.append(max(options, key=lambda option: option[0]))
        best = [row]
    return best[-1][-1][1]
