"""The samples are clean; with one mistake planted, exactly that mistake is reported, on its line."""

# ruff: noqa: E501 - the table has a line for each mistake

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.lint.linter import lint_source
from tests.lint.linted import ALL

SAMPLES = Path(__file__).parent.parent.parent / "samples"

META = '(triton.cdiv(n, META["BLOCK_SIZE"]),)'
# Sample, text, its replacement, the rule, and text on the reported line.
MISTAKES = [
    ("vector_add.py", f"lambda META: {META}", "(triton.cdiv(n, 2048),)", "grid-before-config", "cdiv(n, 2048)"),
    ("vector_add.py", META, "((n + 2047) // 2048,)", "grid-before-config", "// 2048"),
    ("vector_add.py", "BLOCK_SIZE=1024)", "BLOCK_SIZE=1000)", "block-not-power-of-two", "BLOCK_SIZE=1000)"),
    ("vector_add.py", "@triton.jit", '@triton.jit(do_not_specialize=["n"])', "unspecialized-bound", "@triton"),
    ("vector_add.py", "@triton.jit", "@triton.jit(do_not_specialize=[3])", "unspecialized-bound", "@triton"),
    ("vector_add.py", "@triton.jit", '@triton.jit(do_not_specialize=["m"])', "unknown-parameter", "@triton"),
    ("vector_add.py", "out_ptr, n, B", "out_ptr, n: tl.constexpr, B", "constexpr-size", "def add_kernel"),
    ("debugging.py", "out_ptr, n, B", "out_ptr, n: tl.constexpr, B", "constexpr-size", "def sqrt_kernel"),
    ("debugging.py", "(debug=True)", '(debug=True, do_not_specialize=["n"])', None, ""),
    ("debugging.py", f"lambda META: {META}", "(triton.cdiv(n, 256),)", "grid-before-config", "cdiv(n, 256)"),
    ("seeded_dropout.py", "n, p, seed, B", "n: tl.constexpr, p, seed, B", "constexpr-size", "def dropout_kernel"),
    ("fused_softmax.py", "tl.arange(0, BLOCK_SIZE)", "tl.arange(0, 1000)", "block-not-power-of-two", "0, 1000"),
    ("layer_norm.py", "BLOCK_M=32", "BLOCK_M=48", "block-not-power-of-two", "BLOCK_M=48"),
    ("layer_norm.py", "n_rows,\n    n_cols,\n    B", "n_rows: tl.constexpr,\n    n_cols,\n    B", None, ""),
    ("heuristics.py", "cols = tl.arange(0, BLOCK_SIZE)", "cols = tl.arange(1, 64)", "block-not-power-of-two", "1, 64"),
    ("flash_attention.py", 'lambda META: (n_ctx // META["BLOCK_M"]', "(n_ctx // 128", "grid-before-config", "// 128"),
    ("flash_attention.py", 'key=["n_ctx", ', "key=[", None, ""),
    ("flash_attention.py", '"HEAD_DIM", "CAUSAL"]', '"HEAD_DIM", "CASUAL"]', "unknown-parameter", "CASUAL"),
    ("flash_attention.py", '"HEAD_DIM", "CAUSAL"]', '"HEAD_DIM", "q_ptr"]', "key-pointer", '"q_ptr"]'),
    ("flash_attention.py", '"BLOCK_M": 128, "BLOCK_N": 128', '"BLOCK_M": 96, "BLOCK_N": 128', "block-not-power-of-two", '"BLOCK_M": 96'),
    ("flash_attention.py", '"BLOCK_N": 64}, num_warps=8', '"BLOCK_N": 64}, num_warps=4', "duplicate-config", "num_warps=4, num_stages"),
    ("matmul.py", "config(64, 128, 32", "config(64, 96, 32", "block-not-power-of-two", "config(64, 96, 32"),
    ("matmul.py", "config(64, 128, 32, num_warps=4, num_stages=4)", "config(64, 64, 32, num_warps=4, num_stages=2)", "duplicate-config", "num_warps=4, num_stages"),
    ("matmul.py", "@triton.autotune(CONFIGS,", "@triton.autotune(CONFIGS[:1],", None, ""),
    ("matmul.py", "@triton.autotune(CONFIGS,", "@triton.autotune([config(64, 64, 32, 4, 3)],", "one-config", "@triton.autotune"),
    ("matmul.py", ", **kwargs: Any", "", "prune-signature", "def prune"),
    ("matmul.py", 'key=["M", "N", "K"]', 'key=["M", "N"]', "key-missing", "@triton.autotune"),
    ("matmul.py", 'key=["M", "N", "K"]', 'key=["M", "N", "K", "BLOCK_K"]', "key-unused", "@triton.autotune"),
    ("matmul.py", 'key=["M", "N", "K"]', 'key=["M", "N", "K", "a_ptr"]', "key-pointer", "@triton.autotune"),
    ("matmul.py", 'key=["M", "N", "K"]', 'key=["M", "N", "K", "k"]', "unknown-parameter", "@triton.autotune"),
    ("matmul.py", "    M,\n    N,", "    M: tl.constexpr,\n    N,", "constexpr-size", "M: tl.constexpr"),
    ("matmul.py", "rtol=1e-2, atol=1.0", "rtol=0, atol=1e-4", "tolerance-too-tight", "atol=1e-4"),
    ("persistent_matmul.py", "rtol=1e-2, atol=1.0", "rtol=0, atol=1e-2", "tolerance-too-tight", "atol=1e-2"),
    ("epilogue_subtiling.py", "rtol=1e-2, atol=1.0", "rtol=0, atol=1e-2", "tolerance-too-tight", "atol=1e-2"),
    ("warp_specialization.py", "rtol=1e-2, atol=1.0", "rtol=0, atol=1e-3", "tolerance-too-tight", "atol=1e-3"),
]  # fmt: skip


def linted(text, name):
    return lint_source(text, name, ALL)


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.glob("*.py")))
def test_the_sample_is_clean(sample):
    assert linted((SAMPLES / sample).read_text(), sample) == []


@pytest.mark.parametrize(("sample", "good", "bad", "rule", "line"), MISTAKES)
def test_a_planted_mistake_is_reported(sample, good, bad, rule, line):
    original = (SAMPLES / sample).read_text()
    assert good in original
    text = original.replace(good, bad, 1)
    found = linted(text, sample)
    if rule is None:
        # Uncertain, or not a mistake.
        assert found == []
        return
    assert [diagnostic.rule.name for diagnostic in found] == [rule]
    reported = text.splitlines()[found[0].line - 1]
    assert line in reported
    assert found[0].file == sample and 1 <= found[0].column <= len(reported)
