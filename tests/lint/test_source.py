"""The rules for source: code that each reports, and similar code that it must not report."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.lint.rules.tolerance_too_tight import ulp
from tests.lint.linted import ALL, lint

# Small blocks with four warps are the subject of test_silent_errors.py.
RULES = ALL - {"redundant-threads"}


def found_by(text):
    return [diagnostic.rule.name for diagnostic in lint(text, RULES)]


TUNED = """
@triton.autotune({configs}, key={key})
@triton.jit{jit}
def kernel(x_ptr, y_ptr, n, m, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x, mask=at < n)

def launch(x, y):
    n = x.shape[0]
    {launch}
"""
TWO = '[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})]'
PLAIN = 'kernel[lambda META: (triton.cdiv(n, META["BLOCK"]),)](x, y, n, 1)'


def tuned(configs=TWO, key='["n"]', jit="", launch=PLAIN):
    return TUNED.format(configs=configs, key=key, jit=jit, launch=launch)


def test_a_good_kernel_reports_nothing():
    assert found_by(tuned()) == []


@pytest.mark.parametrize(
    "launch",
    [
        "kernel[(triton.cdiv(n, 1024),)](x, y, n, 1)",
        "kernel[triton.cdiv(n, 1024),](x, y, n, 1)",
        "kernel[((n + 511) // 512, 4)](x, y, n, 1)",
        "kernel[lambda META: (triton.cdiv(n, 512),)](x, y, n, 1)",
        "block = 512; grid = (triton.cdiv(n, block),); kernel[grid](x, y, n, 1)",
        "blocks = triton.cdiv(n, 1024); kernel[(blocks,)](x, y, n, 1)",
    ],
)
def test_grids_that_are_too_small(launch):
    assert found_by(tuned(launch=launch)) == ["grid-before-config"]


@pytest.mark.parametrize(
    "launch",
    [
        "kernel[(triton.cdiv(n, 256),)](x, y, n, 1)",  # enough for every config
        "kernel[(triton.cdiv(n, 64),)](x, y, n, 1)",
        "kernel[(n,)](x, y, n, 1)",
        "kernel[(x.shape[0] * 4,)](x, y, n, 1)",
        "block = pick(n); kernel[(triton.cdiv(n, block),)](x, y, n, 1)",
        "block = 256\n    if n > 4: block = 1024\n    kernel[(triton.cdiv(n, block),)](x, y, n, 1)",
        "kernel[(min(132, triton.cdiv(n, 1024)),)](x, y, n, 1)",
        "kernel[grid_of(n)](x, y, n, 1)",
        "kernel = other; kernel[(triton.cdiv(n, 1024),)](x, y, n, 1)",
    ],
)
def test_grids_that_are_not_certainly_wrong(launch):
    assert found_by(tuned(launch=launch)) == []


def test_a_program_that_loops_over_blocks_accepts_any_grid():
    text = """
    @triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["n"])
    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr):
        pid = tl.program_id(0)
        LOOP
            at = start * BLOCK + tl.arange(0, BLOCK)
            tl.store(x_ptr + at, 0.0, mask=at < n)

    def launch(x):
        kernel[(triton.cdiv(x.numel(), 4096),)](x, x.numel())
    """
    for loop in ("for start in range(pid, tl.cdiv(n, BLOCK), 132):", "while pid < n:"):
        assert found_by(text.replace("LOOP", loop).replace("start *", "pid *")) == []


@pytest.mark.parametrize(
    ("configs", "found"),
    [
        ("[]", ["one-config"]),
        ('[triton.Config({"BLOCK": 256}, num_warps=8)]', ["one-config"]),
        ('[triton.Config({"BLOCK": b}) for b in [256]]', ["one-config"]),
        ('[triton.Config({"BLOCK": b}) for b in (256, 256)]', ["duplicate-config"]),
        ('[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 64}, 4, 3)]', ["duplicate-config"]),
        ('[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 64}, num_stages=2)]', ["num-stages-unused"]),
        ('[triton.Config({"BLOCK": b}) for b in (256, 96)]', ["block-not-power-of-two"]),
        ('[triton.Config({"BLOCK": b}) for b in sizes() if b > 4]', []),
        ('[triton.Config({"BLOCK": b}, pre_hook=hook) for b in (64, 64)]', []),
        ('[triton.Config({"BLOCK": 64})] if torch.cuda.is_available() else []', []),
        ('[triton.Config({"BLOCK": 64})] + more()', []),
        ("configs()", []),
    ],
)
def test_lists_of_configs(configs, found):
    assert found_by(tuned(configs=configs)) == found


def test_configs_that_a_fork_of_triton_adds_are_unknown():
    assert found_by(tuned(configs="[]").replace("[],", 'configs=[], generate_configs="add",')) == []


def test_a_list_that_is_changed_is_not_certain():
    assert found_by('CONFIGS = [triton.Config({"BLOCK": 64})]\n' + tuned(configs="CONFIGS")) == ["one-config"]
    grown = 'CONFIGS = [triton.Config({"BLOCK": 64})]\nif torch.cuda.is_available():\n    CONFIGS += [1]\n'
    assert found_by(grown + tuned(configs="CONFIGS")) == []
    grown = 'CONFIGS = [triton.Config({"BLOCK": 64})]\nCONFIGS.append(triton.Config({"BLOCK": 32}))\n'
    assert found_by(grown + tuned(configs="CONFIGS")) == []


def test_functions_that_make_configs_are_evaluated():
    text = """
    def configs(sizes=(64, 96)):
        found = []
        for size in sizes:
            for warps in (4, 8):
                if warps == 8 and size < 96:
                    continue
                found.append(triton.Config({"BLOCK": size}, num_warps=warps))
        return found
    """
    (diagnostic,) = lint(text + tuned(configs="configs()").replace("\n", "\n    "), RULES)
    assert diagnostic.rule.name == "block-not-power-of-two" and "BLOCK = 96 " in diagnostic.message
    assert (
        found_by(text.replace("size < 96", "on_amd()") + tuned(configs="configs()").replace("\n", "\n    "))
        == []
    )


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ('["n", "m"]', []),
        ('["N"]', ["unknown-parameter"]),
        ('["n", "BLOCK"]', ["key-unused"]),
        ('["x_ptr"]', ["key-pointer"]),
        ("KEYS", []),
        ('["n"] + extra', []),
        ("[]", []),
    ],
)
def test_keys(key, found):
    assert found_by(tuned(key=key)) == found


LOOP = """
@triton.autotune([triton.Config({}, num_warps=w) for w in (4, 8)], key=KEY)
@triton.jit
def kernel(x_ptr, starts_ptr, n, k, SIZE: tl.constexpr):
    end = BOUND
    for i in range(0, end, 32):
        tl.store(x_ptr + i, 0.0)
"""


@pytest.mark.parametrize(
    ("key", "bound", "found"),
    [
        ('["n"]', "k", ["key-missing"]),
        ('["n"]', "tl.cdiv(k, SIZE)", ["key-missing"]),
        ('["n", "k"]', "k", []),
        ('["n", "SIZE"]', "SIZE", []),
        ('["SIZE"]', "k", []),  # no run-time size at all: deliberate
        ("[]", "k", ["key-missing"]),  # tuned once, for the first launch
        ('["n"]', "tl.load(starts_ptr + k)", []),
    ],
)
def test_loop_bounds(key, bound, found):
    assert found_by(LOOP.replace("KEY", key).replace("BOUND", bound)) == found


@pytest.mark.parametrize(
    ("n", "k", "found"),
    [
        ("n", "n // parts", []),  # the key decides it
        ("n", "size", []),
        ("bucket", "k", []),  # the key has a range of it
        ("n", "k", ["key-missing"]),
        ("x.shape[0]", "x.shape[1]", ["key-missing"]),
    ],
)
def test_loop_bounds_that_follow_from_the_key(n, k, found):
    launch = f"""
def launch(x, starts, n, k):
    parts = 4
    size = n // 4
    bucket = triton.next_power_of_2(k)
    kernel[(8,)](x, starts, {n}, {k}, parts)
"""
    kernel = LOOP.replace("KEY", '["n", "SIZE"]').replace("BOUND", "k")
    assert [name for name in found_by(kernel + launch) if name == "key-missing"] == found


@pytest.mark.parametrize(
    ("signature", "found"),
    [
        ("configs, named_args, **kwargs", []),
        ("configs, nargs, **kw", []),
        ("*args, **kwargs", []),
        ("configs, named_args, grid=None, warmup=False, **rest", []),
        ("configs, named_args", ["prune-signature"]),
        ("configs, **kwargs", ["prune-signature"]),
        ("configs, *, named_args=None, **kwargs", ["prune-signature"]),
        ("", ["prune-signature"]),
    ],
)
def test_prune_functions(signature, found):
    text = f"def prune({signature}):\n    return []\n"
    assert found_by(text + tuned(key='["n"], prune_configs_by={"early_config_prune": prune}')) == found
    text = f"@decorated\ndef prune({signature}):\n    return []\n"
    assert found_by(text + tuned(key='["n"], prune_configs_by={"early_config_prune": prune}')) == []


@pytest.mark.parametrize(
    ("jit", "found"),
    [
        ('(do_not_specialize=["n"])', ["unspecialized-bound"]),
        ("(do_not_specialize=(2,))", ["unspecialized-bound"]),
        ('(do_not_specialize_on_alignment=["n"])', ["unspecialized-bound"]),
        ('(do_not_specialize=["m"])', []),
        ('(do_not_specialize=["rows"])', ["unknown-parameter"]),
        ("(debug=True)", []),
    ],
)
def test_unspecialized_bounds(jit, found):
    assert found_by(tuned(jit=jit)) == found
    # Blocks with one element per thread and two-dimensional blocks are not reported.
    small = TWO.replace("256", "64").replace("1024", "128")
    rows = tuned(jit=jit).replace("x_ptr + at,", "x_ptr + at[:, None],")
    rest = [name for name in found if name != "unspecialized-bound"]
    assert found_by(tuned(configs=small, jit=jit)) == found_by(rows) == rest


SIZED = """
@triton.jit
def kernel(x_ptr, rows: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    BODY

def launch(x, w, block):
    GIVEN
    kernel[(1,)](x, rows, block)
"""


@pytest.mark.parametrize(
    ("given", "body", "found"),
    [
        ("rows = x.numel()", "tl.store(x_ptr + at, 0.0, mask=at < rows)", True),
        ("rows, cols = x.shape", "tl.store(x_ptr + at, 0.0, mask=at < rows)", True),
        ("rows = x.size(0)", "tl.store(x_ptr + at * rows, 0.0)", True),
        ("rows = x.shape[0]", "pass", True),
        ("rows = x.shape[-1]", "tl.store(x_ptr + at, 0.0, mask=at < rows)", False),
        ("rows = w.shape[0]", "tl.store(x_ptr + at, 0.0, mask=at < rows)", False),
        ("rows = 16", "tl.store(x_ptr + at, 0.0, mask=at < rows)", False),
        ("rows = x.numel()", "tl.store(x_ptr + tl.arange(0, rows), 0.0)", False),
        ("rows = x.numel()", "half = rows // 2; tl.store(x_ptr + tl.arange(0, half), 0.0)", False),
        ("rows = x.numel()", "tl.store(x_ptr + at, tl.zeros((rows,), tl.float32))", False),
        ("rows = x.numel()", "for i in tl.static_range(rows): tl.store(x_ptr + i, 0.0)", False),
        ("rows = x.numel()", "if rows > 4: tl.store(x_ptr + at, 0.0)", False),
        ("rows = x.numel()", "helper(x_ptr, rows)", False),
    ],
)
def test_sizes(given, body, found):
    text = SIZED.replace("BODY", body).replace("GIVEN", given)
    assert found_by(text) == (["constexpr-size"] if found else [])


CLOSE = """
def test(K):
    a = torch.randn((64, SIZE), dtype=torch.DTYPE)
    torch.testing.assert_close(mine(a, a.T), a @ a.T, rtol=RTOL, atol=ATOL)
"""


@pytest.mark.parametrize(
    ("dtype", "size", "rtol", "atol", "found"),
    [
        ("float16", "1024", "0", "1e-2", True),  # a unit is 0.031 at 32
        ("float16", "1024", "0", "0.04", False),
        ("float16", "1024", "1e-2", "0", False),
        ("float16", "K", "0", "1e-2", False),  # K may be small
        ("float16", "K", "0", "1e-4", True),
        ("bfloat16", "1024", "0", "0.1", True),  # a unit is 0.25 at 32
        ("bfloat16", "1024", "1e-2", "0.1", False),
        ("float32", "1024", "0", "1e-6", False),
        ("float16", "1024", "rtol", "1e-6", False),
    ],
)
def test_tolerances(dtype, size, rtol, atol, found):
    text = CLOSE.replace("DTYPE", dtype).replace("SIZE", size).replace("RTOL", rtol).replace("ATOL", atol)
    assert found_by(text) == (["tolerance-too-tight"] if found else [])


def test_units_in_the_last_place():
    assert [ulp(size, 10) for size in (1.0, 255.0, 256.0, 300.0, 1024.0)] == [2**-10, 0.125, 0.25, 0.25, 1.0]
    assert ulp(1.0, 7) == 2**-7


def test_comments_suppress_on_the_line_or_at_the_kernel():
    bad = tuned(key='["n", "BLOCK"]')
    assert found_by(bad) == ["key-unused"]
    for comment in ("ignore[key-unused]", "ignore[one-config, IRS106]", "ignore"):
        assert found_by(bad.replace("def kernel(", "def kernel(  # irscope: " + comment + "\n    ")) == []
    assert found_by(bad.replace("@triton.jit", "@triton.jit  # irscope: ignore[one-config]")) == [
        "key-unused"
    ]


@pytest.mark.parametrize("name", ["launch", "x", "CONFIGS"])
def test_a_kernel_whose_name_is_bound_twice_is_not_certain(name):
    text = tuned(launch="kernel[(triton.cdiv(n, 1024),)](x, y, n, 1)")
    assert found_by(text + "\nkernel = wrap(kernel)\n") == []
    assert found_by(text + f"\n{name}_again = 1\n") == ["grid-before-config"]


def test_imports_by_other_found_by():
    text = tuned(key='["n", "BLOCK"]').replace("triton.autotune", "tune").replace("triton.jit", "compiled")
    assert found_by("from triton import autotune as tune, jit as compiled\n" + text) == ["key-unused"]
    assert found_by(text) == []


@given(st.text(max_size=200))
def test_any_text_is_linted_or_rejected(text):
    with contextlib.suppress(SyntaxError, ValueError):
        assert all(1 <= found.line <= text.count("\n") + 1 for found in lint(text))
