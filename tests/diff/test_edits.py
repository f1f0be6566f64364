"""With k operations removed or inserted, the diff names exactly those k."""

import random

import pytest

from irscope.diff.rows import Change, StageDiff
from irscope.languages.document import Document, Operation
from irscope.languages.language import parse
from tests.diff.rewrite import renamed, shifted, stripped
from tests.diff.stages import NAMES, diff_texts, language_of, text_of

COUNTS = (1, 2, 7, 50)

# Changes of an operation whose operand's definition is gone: an outer name may replace it.
USERS = {Change.OPERANDS, Change.CONSTANT}


def without(document: Document, k: int, seed: int) -> tuple[str, int, set[str]]:
    """The text without `k` operations (fewer if it has few), their number, and the names they defined."""
    parents = {operation.parent for operation in document.operations}
    single = [
        operation
        for index, operation in enumerate(document.operations)
        if index not in parents and operation.end == operation.line + 1 and _on_its_own(document, operation)
    ]
    removed = random.Random(seed).sample(single, min(k, len(single) // 2))
    lines = {operation.line for operation in removed}
    text = "\n".join(line for i, line in enumerate(document.lines) if i not in lines)
    return text, len(removed), {name for operation in removed for name in operation.results}


def _on_its_own(document: Document, operation: Operation) -> bool:
    """Whether no other operation's location depends on the lines around this one.

    SASS prints a location above its first instruction; LLVM counts the lines of inline assembly in PTX.
    """
    around = document.lines[operation.line - 1 : operation.line + 2]
    if document.language == "sass":
        return not any("//##" in line for line in around)
    if document.language == "ptx":
        before = document.lines[: operation.line]
        return sum("begin inline asm" in line for line in before) == sum(
            "end inline asm" in line for line in before
        )
    return True


def assert_removed(diff: StageDiff, k: int) -> None:
    assert diff.counts.get(Change.REMOVED) == k
    assert set(diff.counts) <= {Change.REMOVED, *USERS}
    rows = [row for row in diff.rows if row.change & (Change.REMOVED | Change.ADDED)]
    assert len(rows) == k
    assert all(row.right is None and row.left in diff.left.operation_of_line for row in rows)


@pytest.mark.parametrize("k", COUNTS)
@pytest.mark.parametrize("name", NAMES)
def test_removed_and_inserted(name: str, k: int) -> None:
    language = language_of(name)
    document = parse(text_of(name), language)
    text, k, defined = without(document, k, seed=k)
    diff = diff_texts(document.text, text, language)
    assert_removed(diff, k)
    for row in diff.rows:
        if row.left in diff.left.operation_of_line and row.change is Change.OPERANDS:
            # A user of a removed operation, or of a neighbor that is the same operation again.
            users = diff.left.operations[diff.left.operation_of_line[row.left]].operands
            assert defined & set(users) or has_twin(diff, users)

    inserted = diff_texts(text, document.text, language)
    assert inserted.counts.get(Change.ADDED) == k
    assert set(inserted.counts) <= {Change.ADDED, *USERS}


def has_twin(diff: StageDiff, names: tuple[str, ...]) -> bool:
    """Whether one of the operations that define `names` is not the only one of its text."""
    normals = [operation.normalized for operation in diff.left.operations]
    definers = [op for op in diff.left.operations if set(op.results) & set(names)]
    return any(normals.count(operation.normalized) > 1 for operation in definers)


@pytest.mark.parametrize("rewrite", [renamed, shifted, stripped])
@pytest.mark.parametrize("name", NAMES)
def test_removed_and_rewritten(name: str, rewrite) -> None:
    language = language_of(name)
    document = parse(text_of(name), language)
    text, k, _ = without(document, 20, seed=3)
    assert_removed(diff_texts(document.text, rewrite(text, language), language), k)
