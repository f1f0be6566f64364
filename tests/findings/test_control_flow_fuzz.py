"""Damaged texts: no exception, and every block is a run of operations of one function."""

from __future__ import annotations

import random

import pytest

from irscope.languages.control_flow import find_loops
from irscope.languages.language import parse
from tests.hardening.texts import damaged_text, pieces

CASES = 1_000


@pytest.mark.slow
@pytest.mark.parametrize("language", ["ptx", "sass", "amdgcn", "mlir", "llvm"])
def test_damaged_text_never_fails(language: str):
    texts, pick = pieces()[language], random.Random(language)
    for _ in range(CASES):
        document = parse(damaged_text(pick, texts), language)
        tree = find_loops(document)
        blocks = tree.graph.blocks
        assert sum(block.end - block.start for block in blocks) == len(document.operations)
        assert all(0 <= at < len(blocks) for block in blocks for at in block.successors)
        for block, loop in zip(blocks, tree.innermost, strict=True):
            functions = {document.operations[at].function for at in range(block.start, block.end)}
            assert len(functions) == 1
            assert loop < 0 or not functions & tree.unknown
