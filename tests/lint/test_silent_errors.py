"""The rules for results that are wrong without an error: code that each reports, and its corrected form."""

# ruff: noqa: E501 - a line for each case

from __future__ import annotations

import pytest

from tests.lint.linted import lint, names

CONFIGS = '[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024}, num_warps=8)]'

TUNED = """
@triton.autotune({configs}, key=["n"]{options})
@triton.jit
def kernel(x_ptr, y_ptr, n, {flags}BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {body}

def launch(x, y):
    kernel[lambda META: (triton.cdiv(x.numel(), META["BLOCK"]),)](x, y, x.numel())
"""
ADD = "tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n, other=0)))"
SCALE = "x = tl.load(x_ptr + at, mask=at < n); tl.store(x_ptr + at, x * 2, mask=at < n)"
GROW = "y = tl.load(y_ptr + at, mask=at < n); tl.store(y_ptr + at, y + 1, mask=at < n)"
RESET, RESTORE = "reset-to-zero-missing", "restore-value-missing"


def tuned(body, options="", configs=CONFIGS, flags=""):
    lines = body.replace("; ", "\n    ")
    return TUNED.format(configs=configs, options=options, body=lines, flags=flags)


def test_the_message_names_the_kernel_the_argument_and_the_fix():
    (diagnostic,) = lint(tuned(ADD))
    assert diagnostic.message.startswith("tl.atomic_add accumulates into y_ptr of kernel, which is autotuned")
    assert diagnostic.fix.startswith('add reset_to_zero=["y_ptr"] to @triton.autotune')
    assert diagnostic.line == 10
    (diagnostic,) = lint(tuned(SCALE))
    assert diagnostic.message.startswith("kernel overwrites x_ptr, which it loaded at line 10")
    assert diagnostic.fix == 'add restore_value=["x_ptr"] to @triton.autotune'


@pytest.mark.parametrize(
    ("body", "options", "found"),
    [
        (ADD, "", [RESET]),
        (ADD, ', reset_to_zero=["y_ptr"]', []),
        (ADD, ', restore_value=("y_ptr",)', []),
        (ADD, ", reset_to_zero=NAMES", []),  # unknown
        (ADD, ", pre_hook=zero", []),
        (ADD, ", **OPTIONS", [RESET]),
        (ADD, ', reset_to_zero=["x_ptr"]', [RESET]),
        ("p = y_ptr + at; tl.atomic_add(p, 1.0, mask=at < n)", "", [RESET]),
        ("y_ptr += n; tl.atomic_add(y_ptr + at, 1.0, mask=at < n)", "", [RESET]),
        ("tl.atomic_max(y_ptr + at, 1.0, mask=at < n)", "", []),  # the same result each time
        ("tl.store(y_ptr + at, 0.0, mask=at < n); tl.atomic_add(y_ptr + at, 1.0, mask=at < n)", "", []),
        (GROW, "", [RESET]),
        (GROW, ', restore_value=["y_ptr"]', []),
        ("acc = tl.load(y_ptr + at); acc += n; tl.store(y_ptr + at, acc)", "", [RESET, "mask-missing"]),
    ],
)
def test_accumulations(body, options, found):
    assert sorted(set(names(tuned(body, options)))) == sorted(found)


@pytest.mark.parametrize(
    ("body", "options", "found"),
    [
        (SCALE, "", [RESTORE]),
        (SCALE, ', restore_value=["x_ptr"]', []),
        (SCALE.replace("x * 2", "tl.exp(x)"), "", [RESTORE]),
        ("p = x_ptr + at; x = tl.load(p, mask=at < n).to(tl.float32); tl.store(p, x * x, mask=at < n)", "", [RESTORE]),
        (SCALE.replace("x * 2", "x"), "", []),
        (SCALE.replace("x * 2", "x.to(tl.float16)"), "", []),
        (SCALE.replace("x * 2", "tl.maximum(x, 0)"), "", []),  # a second run changes nothing
        (SCALE.replace("x * 2", "tl.where(x > 0, x, 0)"), "", []),
        (SCALE.replace("tl.store(x_ptr", "tl.store(y_ptr"), "", []),
        (SCALE.replace("tl.store(x_ptr + at", "tl.store(x_ptr + at + n"), "", []),
        (SCALE.replace("; ", "; at += n; "), "", []),  # another address
        ("tl.store(x_ptr + at, 1.0, mask=at < n); " + SCALE, "", []),  # its own value
        ("if n > 9:;     x = tl.load(x_ptr + at, mask=at < n); else:;     x = at; tl.store(x_ptr + at, x * 2, mask=at < n)", "", []),
    ],
)  # fmt: skip
def test_stores_in_place(body, options, found):
    assert names(tuned(body, options)) == found


@pytest.mark.parametrize("body", [ADD, GROW, SCALE])
@pytest.mark.parametrize(
    ("configs", "reported"),
    [
        ('[triton.Config({"BLOCK": 1024})]', False),  # never benchmarked
        ('[triton.Config({"BLOCK": b}, pre_hook=zero) for b in (256, 1024)]', False),
        ('[triton.Config({"BLOCK": b}) for b in sizes()]', True),
        ("configs()", False),
    ],
)
def test_configs_that_are_not_measured_or_have_hooks(body, configs, reported):
    found = [name for name in names(tuned(body, configs=configs)) if name != "one-config"]
    assert bool(found) == reported


def test_a_store_in_another_branch_is_no_reset():
    body = "if SPLIT_K == 1:;     tl.store(y_ptr + at, 1.0, mask=at < n); else:;     tl.atomic_add(y_ptr + at, 1.0, mask=at < n)"
    assert names(tuned(body, flags="SPLIT_K: tl.constexpr, ")) == [RESET]
    assert names(tuned(body, ', reset_to_zero=["y_ptr"]', flags="SPLIT_K: tl.constexpr, ")) == []


LAUNCHED = """
@triton.autotune([triton.Config({{"BLOCK": b}}) for b in ({blocks})], key=["n"])
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    {body}

def launch(x, y):
    n = {n}
    {before}
    kernel[lambda META: ({grid},)](x, y, n)
"""


def launched(body, n="x.numel()", grid='triton.cdiv(n, META["BLOCK"])', blocks="256, 512", before="pass"):
    lines = body.replace("; ", "\n    ")
    return LAUNCHED.format(body=lines, n=n, grid=grid, blocks=blocks, before=before)


UNMASKED = "x = tl.load(x_ptr + at, mask=at < n); tl.store(y_ptr + at, x)"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (launched(UNMASKED), ["mask-missing"]),
        (launched(UNMASKED.replace("at, x)", "at, x, mask=at < n)")), []),
        (launched("x = tl.load(x_ptr + at); tl.store(y_ptr + at, x)"), ["mask-missing"] * 2),
        (launched("p = y_ptr + at; tl.store(p, 1.0)"), ["mask-missing"]),
        (launched(UNMASKED, n="4096"), []),
        (launched(UNMASKED, n="1280"), ["mask-missing"]),  # 1280 is a multiple of 256 and not of 512
        (launched(UNMASKED, n="1280", blocks="128, 256"), []),
        (launched(UNMASKED, grid='(n + META["BLOCK"] - 1) // META["BLOCK"]'), ["mask-missing"]),
        (launched(UNMASKED, grid='n // META["BLOCK"]'), []),
        (launched(UNMASKED, before="assert n % 512 == 0"), []),
        (launched(UNMASKED, before="if n % 512: raise ValueError"), []),
        (launched("tl.store(y_ptr + at % n, 1.0)"), []),
        (launched("tl.store(y_ptr + tl.minimum(at, n - 1), 1.0)"), []),
        (launched("tl.store(y_ptr + pid, 1.0)"), []),
        (
            launched(UNMASKED, before="z = torch.empty(triton.cdiv(n, 512) * 512)").replace(
                "](x, y", "](x, z"
            ),
            [],
        ),
        (
            launched(
                UNMASKED, before="rest = 512 - n % 512 if n % 512 else 0; z = torch.empty(n + rest)"
            ).replace("](x, y", "](x, z"),
            [],
        ),
    ],
)
def test_accesses_without_a_mask(text, found):
    assert names(text) == found


def test_the_configs_that_need_the_mask_are_named():
    (diagnostic,) = lint(launched(UNMASKED, n="1280", blocks="128, 512, 1024"))
    assert "with BLOCK = 512, 1024, which does not divide n = 1280" in diagnostic.message
    assert diagnostic.fix == "add mask=at < n"


GRID = """
@triton.autotune({configs}, key=["M", "N"])
@triton.jit
def kernel(x_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(x_ptr + rows[:, None] * N + cols[None, :], 0.0, mask=mask)

def launch(x, M, N):
    {before}
    kernel[{grid}](x, M, N)
"""
SIZES = '[triton.Config({"BLOCK_M": m, "BLOCK_N": n}) for m, n in [(64, 128), (128, 64)]]'


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("BLOCK_M", "BLOCK_N", 0),
        ("BLOCK_N", "BLOCK_N", 1),
        ("BLOCK_M", "BLOCK_M", 1),
        ("BLOCK_N", "BLOCK_M", 2),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_grids_by_another_meta_parameter(first, second, found, named):
    axes = f'(triton.cdiv(M, META["{first}"]), triton.cdiv(N, META["{second}"]))'
    before, grid = (f"def grid(META): return {axes}", "grid") if named else ("pass", f"lambda META: {axes}")
    assert names(GRID.format(configs=SIZES, before=before, grid=grid)) == ["grid-other-block"] * found


def test_a_program_may_loop_over_what_the_grid_divides_by():
    text = GRID.format(configs=SIZES, before="pass", grid='lambda META: (triton.cdiv(M, META["BLOCK_N"]),)')
    assert names(text) == ["grid-other-block"]
    looped = "    for row in range(BLOCK_N):\n        tl.atomic_add(x_ptr + row, 1.0)\n\ndef launch"
    assert names(text.replace("\ndef launch", looped)) == []


def test_equal_or_smaller_meta_parameters_do_no_harm():
    grid = 'lambda META: (triton.cdiv(M, META["BLOCK_N"]), triton.cdiv(N, META["BLOCK_N"]))'
    for pairs, found in (
        ("(64, 64), (128, 128)", 0),
        ("(128, 64), (128, 128)", 0),
        ("(64, 128), (64, 64)", 1),
    ):
        configs = '[triton.Config({"BLOCK_M": m, "BLOCK_N": n}) for m, n in [PAIRS]]'.replace("PAIRS", pairs)
        assert len(lint(GRID.format(configs=configs, before="pass", grid=grid))) == found
    assert len(lint(GRID.format(configs="sizes()", before="pass", grid=grid))) == 1


@pytest.mark.parametrize(
    ("configs", "found"),
    [
        ('[triton.Config({"BLOCK": 64}, num_warps=w) for w in (4, 8)]', 1),
        ('[triton.Config({"BLOCK": 64}, num_warps=w) for w in (1, 2)]', 0),
        ('[triton.Config({"BLOCK": 16}, num_warps=1), triton.Config({"BLOCK": 32}, num_warps=1)]', 0),
        ('[triton.Config({"BLOCK": b}, num_warps=8) for b in (128, 1024)]', 1),
        ('[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})]', 1),  # four warps by default
        ('[triton.Config({"BLOCK": b}, num_warps=warps(b)) for b in (64, 128)]', 0),
    ],
)
def test_more_threads_than_elements(configs, found):
    body = "tl.store(y_ptr + at, 1.0, mask=at < n)"
    assert names(tuned(body, configs=configs)) == ["redundant-threads"] * found
    # A tile has more elements, and another kernel may make larger tensors.
    tile = "rows = tl.arange(0, 64); tl.store(y_ptr + at[:, None] + rows[None, :], 1.0, mask=at[:, None] < n)"
    assert names(tuned(tile, configs=configs)) == names(tuned(body + "; helper(at)", configs=configs)) == []


def test_launches_with_more_threads_than_elements():
    text = """
    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)

    def launch(x):
        kernel[(1,)](x, BLOCK=SIZE, num_warps=8)
    """
    (diagnostic,) = lint(text.replace("SIZE", "128"))
    assert diagnostic.message.startswith(
        "this launch of kernel has num_warps=8, 256 threads, for tensors of at most 128"
    )
    assert names(text.replace("SIZE", "256")) == names(text.replace("SIZE", "size()")) == []


TF32 = """
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tile = at[:, None] * BLOCK + at[None, :]
    tl.store(c_ptr + tile, tl.dot(tl.load(a_ptr + tile), tl.load(b_ptr + tile)OPTION))

def matmul(a, b):
    c = torch.empty_like(a)
    kernel[(1,)](a, b, c, BLOCK=64)
    return c

def test():
    a, b = torch.randn((64, 64)DTYPE), torch.randn((64, 64)DTYPE)
    CHECK
"""


@pytest.mark.parametrize(
    ("check", "dtype", "option", "found"),
    [
        ("torch.testing.assert_close(matmul(a, b), a @ b)", "", "", True),
        ("torch.testing.assert_close(matmul(a, b), a @ b, rtol=0, atol=1e-3)", "", "", True),
        ("assert torch.allclose(matmul(a, b), torch.mm(a, b), atol=1e-4)", ", dtype=torch.float32", "", True),
        (
            "c = matmul(a, b); ref = a @ b; torch.testing.assert_close(c, ref, rtol=1e-5, atol=1e-4)",
            "",
            "",
            True,
        ),
        ("torch.testing.assert_close(matmul(a, b), a @ b, rtol=0, atol=2e-2)", "", "", False),
        ("torch.testing.assert_close(matmul(a, b), a @ b)", "", ', input_precision="ieee"', False),
        ("torch.testing.assert_close(matmul(a, b), a @ b)", "", ", allow_tf32=False", False),
        ("torch.testing.assert_close(matmul(a, b), a @ b)", ", dtype=torch.float64", "", False),
        ("torch.testing.assert_close(other(a, b), a @ b)", "", "", False),
        ("torch.testing.assert_close(a + b, a @ b)", "", "", False),
    ],
)
def test_tolerances_below_the_error_of_tf32(check, dtype, option, found):
    text = (
        TF32.replace("OPTION", option).replace("DTYPE", dtype).replace("CHECK", check.replace("; ", "\n    "))
    )
    assert names(text) == ["tolerance-too-tight"] * found


def test_the_error_of_tf32_grows_with_the_length_of_the_sum():
    text = TF32.replace("OPTION", "").replace("DTYPE", "")
    (diagnostic,) = lint(text.replace("CHECK", "torch.testing.assert_close(matmul(a, b), a @ b)"))
    # sqrt(64) * 2**-11 * sqrt(2 / 3)
    assert (
        "which changes a sum of K = 64 products by about 0.0032: correct results fail" in diagnostic.message
    )
    assert 'or pass input_precision="ieee" to tl.dot' in diagnostic.fix


ROWS = """
@triton.jit
def kernel(x_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)TYPE
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + OFFSET, 0.0, mask=at < n)

def launch(x):
    rows, cols = SIZES
    kernel[(rows,)](x, cols, cols, BLOCK=1024)
"""


@pytest.mark.parametrize(
    ("sizes", "offset", "wide", "found"),
    [
        ("70_000, 32_768", "row * stride + at", "", True),
        ("70_000, 32_768", "(row * stride + at)", "", True),
        ("70_000, 32_768", "row * 32768 + at", "", True),
        ("65_536, 32_768", "row * stride + at", "", False),
        ("70_000, 32_768", "row * stride + at", ".to(tl.int64)", False),
        ("70_000, 32_768", "row.to(tl.int64) * stride + at", "", False),
        ("70_000, 32_768", "tl.cast(row, tl.int64) * stride + at", "", False),
        ("70_000, 1 << 32", "row * stride + at", "", False),  # the stride is passed as int64
        ("x.shape", "row * stride + at", "", False),
    ],
)
def test_offsets_that_do_not_fit_in_32_bits(sizes, offset, wide, found):
    text = ROWS.replace("SIZES", sizes).replace("OFFSET", offset).replace("TYPE", wide)
    assert names(text) == ["offset-overflow"] * found


def test_the_grid_of_each_config_counts():
    text = """
    @triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 512)], key=["n"])
    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, 0.0, mask=at < n)

    def launch(x):
        n = SIZE
        kernel[lambda META: (triton.cdiv(n, META["BLOCK"]),)](x, n)
    """
    assert names(text.replace("SIZE", "2**31 - 1")) == []
    (diagnostic,) = lint(text.replace("SIZE", "2**31 + 9"))
    assert diagnostic.message.startswith(
        "tl.program_id(0) * BLOCK in kernel is 2,147,483,648 for the launch at line 14"
    )
