"""`why` against Triton itself: its own cache key of generated specializations, and a real sweep."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irscope.findings.cache_key_diff import recompilation
from irscope.model import Argument, Config, Kernel, SourceFunction, Toolchain
from irscope.store import CaptureReader
from irscope.targets import parse_target
from tests.findings.builders import variant

pytest.importorskip("triton", reason="asks Triton for its key")
pytestmark = pytest.mark.slow

KERNEL = """
import triton
import triton.language as tl

SCALE = tl.constexpr(2)


@triton.jit
def scaled(x):
    return x * SCALE


@triton.jit
def kernel(x, y, n, stride, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y + offsets, scaled(tl.load(x + offsets * stride, mask=mask)), mask=mask)
"""

POINTERS = [(kind, key) for kind in ("*fp16", "*fp32", "*bf16") for key in ("D", "")]
NUMBERS = [("i32", "D"), ("i32", ""), ("i64", "D"), ("i64", ""), ("constexpr", None)]

specializations = st.fixed_dictionaries(
    {
        "x": st.sampled_from(POINTERS),
        "y": st.sampled_from(POINTERS),
        "n": st.sampled_from(NUMBERS),
        "stride": st.sampled_from(NUMBERS),
        "BLOCK": st.sampled_from([64, 128]),
        "EVEN": st.sampled_from([True, False, 1]),
        "num_warps": st.sampled_from([4, 8]),
        "num_stages": st.sampled_from([2, 3]),
        "target": st.sampled_from(["cuda:80", "cuda:90", "hip:gfx942"]),
    }
)


@pytest.fixture(scope="module")
def kernel_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("why") / "k.py"
    path.write_text(KERNEL)
    return path


def _compiled(path: Path, choice):
    """The variant that the JIT would compile for `choice`, and Triton's own key of it."""
    from triton._C.libtriton import get_cache_invalidating_env_vars
    from triton.compiler import ASTSource, make_backend
    from triton.runtime.cache import get_cache_key

    from irscope.compiling.constexpr_values import Constants
    from irscope.compiling.job import Job
    from irscope.compiling.kernels import find_kernel
    from irscope.compiling.toolchain.compiler import pack_arguments
    from irscope.compiling.toolchain.stub_driver import gpu_target
    from irscope.compiling.toolchain.triton_cache import cache_key

    target = parse_target(choice["target"])
    arguments = tuple(
        Argument(name, *choice[name])
        if choice[name][0] != "constexpr"
        else Argument(name, "constexpr", None, 1)
        for name in ("x", "y", "n", "stride")
    )
    config = Config(tuple((name, choice[name]) for name in ("BLOCK", "EVEN", "num_warps", "num_stages")))
    function = find_kernel(path, "kernel").function
    backend = make_backend(gpu_target(target))
    job = Job(path, "kernel", target, arguments, config, 0)
    options, signature, constants, attributes = pack_arguments(function, Constants(function), job, backend)
    source = ASTSource(function, signature, constants, attributes)
    options = backend.parse_options(vars(options))
    made = replace(
        variant(choice["target"], cache_key=cache_key(source, gpu_target(target), options)),
        kernel=Kernel(
            1, "kernel", SourceFunction("kernel", "k.py", 14, function.src), (), tuple(function.arg_names)
        ),
        specialization=arguments,
        config=config,
        toolchain=Toolchain(1, {"triton": "here"}, ""),
    )
    return made, get_cache_key(source, backend, options, get_cache_invalidating_env_vars())


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(specializations, specializations)
def test_exactly_the_inputs_that_were_changed_are_named(kernel_file, one, other):
    a, key_a = _compiled(kernel_file, one)
    b, key_b = _compiled(kernel_file, other)
    found = recompilation(a, b)
    # True and 1 are different constants, because Python's str prints them differently.
    changed = {name for name in one if repr(one[name]) != repr(other[name])}
    assert {reason.input.name or reason.input.kind for reason in found.reasons} == changed
    assert found.whole
    assert bool(found.reasons) == (key_a != key_b)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(specializations, st.sampled_from(["x", "y", "n", "stride"]), st.data())
def test_one_argument_changed_is_named_with_how_it_was_specialized(kernel_file, one, name, data):
    other = one | {
        name: data.draw(
            st.sampled_from([c for c in (POINTERS if name in "xy" else NUMBERS) if c != one[name]])
        )
    }
    (reason,) = recompilation(_compiled(kernel_file, one)[0], _compiled(kernel_file, other)[0]).reasons
    assert (reason.input.kind, reason.input.name) == ("argument", name)
    for (type_, key), said in ((one[name], reason.a), (other[name], reason.b)):
        expected = "1" if type_ == "constexpr" else type_ + (" divisible by 16" if key else "")
        assert said is not None and said.removesuffix(" within 2 GiB") == expected


def test_every_pair_of_a_real_sweep(irscope, tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)
    for signature in (
        "*fp16:16, *fp16:16, i32:16, 1",
        "*fp16:16, *fp16:16, i32, 1",
        "*fp32:16, *fp16:16, i32:16, i32",
    ):
        done = irscope(
            "compile", "k.py::kernel", "--signature", signature, "--config", "BLOCK=64,128",
            "--config", "num_stages=2,3", "--const", "EVEN=True", "-o", "k.irscope",
            *(["--resume"] if (tmp_path / "k.irscope").exists() else []),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    with CaptureReader(tmp_path / "k.irscope") as capture:
        variants = capture.variants()
    assert len(variants) == 12
    for a, b in itertools.combinations(variants, 2):
        config_a, config_b = dict(a.config.values), dict(b.config.values)
        changed = {name for name in config_a if config_a[name] != config_b[name]}
        changed |= {x.name for x, y in zip(a.specialization, b.specialization, strict=True) if x != y}
        found = recompilation(a, b)
        assert found.whole
        assert {reason.input.name for reason in found.reasons} == changed
