"""The user's line that generated Triton came from."""

from __future__ import annotations

import pytest

from irscope.facts.source.map import user_line

LINES = """@triton.jit
def _helion_matmul(x, y, out):
    # src[matmul.py:12]: acc = hl.zeros([tile_m, tile_n], dtype=torch.float32)
    acc = tl.full([_BLOCK_SIZE_0, _BLOCK_SIZE_1], 0.0, tl.float32)
    # src[matmul.py:13]: for tile_k in hl.tile(k):
    # src[matmul.py:14]:     acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])
    for offset_2 in tl.range(0, 1024, _BLOCK_SIZE_2):
        acc_copy = acc
        # src[matmul.py:14]: acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])
        load = tl.load(x + (indices_0[:, None] * 1024 + indices_2[None, :] * 1), None)
        acc = tl.dot(load, load, acc=acc_copy)
    # src[unknown]: [source unavailable]
    tl.store(out, acc)
""".splitlines()


@pytest.mark.parametrize(
    ("line", "origin"),
    [
        ("@triton.jit", ""),
        ("acc = tl.full", "matmul.py:12: acc = hl.zeros([tile_m, tile_n], dtype=torch.float32)"),
        ("for offset_2", "matmul.py:13: for tile_k in hl.tile(k):"),
        ("load = tl.load", "matmul.py:14: acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])"),
        ("acc = tl.dot", "matmul.py:14: acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])"),
    ],
)
def test_the_comment_above_a_line_names_the_first_line_of_the_statement(line: str, origin: str):
    index = next(index for index, text in enumerate(LINES) if text.strip().startswith(line))
    assert user_line(LINES, index) == origin


def test_any_lines_are_read():
    assert user_line([], 3) == ""
    assert user_line(["# src[" + "x" * 10**6 + ":1]: y"], 0) == ""
    assert user_line(["# src[a.py:1]: y"] * 3, 10) == "a.py:1: y"
