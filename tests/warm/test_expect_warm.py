"""`irscope.expect_warm`: what is cold, why, and that the hooks leave no trace."""

from __future__ import annotations

import functools
import logging
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import irscope
from irscope.compiling.toolchain.process_hooks import Event, TritonCompilation, observe, stop_observing
from irscope.compiling.toolchain.stub_driver import StubDriver
from irscope.jobs.warm.manifest import HashedFunction, Manifest, WarmEntry, write_manifest
from irscope.targets import parse_target

triton = pytest.importorskip("triton")
from triton import knobs  # noqa: E402
from triton.runtime.autotuner import Autotuner  # noqa: E402

from tests.warm import warm_kernels  # noqa: E402


@pytest.fixture(autouse=True)
def _gpu() -> Iterator[None]:
    """The JIT compiles for an H100 that is not there, and forgets what it has compiled."""
    driver = triton.runtime.driver
    before = driver._active
    driver.set_active(StubDriver(parse_target("cuda:90")))
    _forget()
    yield
    driver._active = before


def _forget() -> None:
    """Makes the JIT look for its kernels in the cache folder again, as a new process does."""
    warm_kernels.add_kernel.device_caches.clear()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warm folder with one entry: n divisible by 16, BLOCK=128."""
    folder = tmp_path_factory.mktemp("warm")
    triton.runtime.driver.set_active(StubDriver(parse_target("cuda:90")))
    _forget()
    events: list[Event] = []
    observe(events.append)
    with irscope.expect_warm(folder, on_cold=lambda _: None):
        warm_kernels.launch(1024)
    stop_observing(events.append)
    (compiled,) = [event for event in events if isinstance(event, TritonCompilation)]
    write_manifest(folder, _manifest(compiled))
    return folder


def _manifest(compiled: TritonCompilation) -> Manifest:
    import hashlib

    from irscope.jobs.warm.collector import requested_variant

    variant = requested_variant(compiled)
    functions = (variant.kernel.source, *variant.kernel.helpers)
    sources = tuple(
        HashedFunction(each.name, each.file, each.line, hashlib.sha256(each.text.encode()).hexdigest())
        for each in functions
    )
    entry = WarmEntry(
        kernel="add_kernel",
        target="cuda:90",
        specialization=("n=i32:16",),
        config=str(variant.config),
        folder="ABC",
        hash=compiled.hash,
        size=1,
        components=variant.cache_key,
        sources=tuple(range(len(sources))),
        inputs=("program.py",),
    )
    return Manifest(versions=dict(variant.toolchain.versions), sources=sources, entries=(entry,))


@pytest.fixture
def warm(built: Path, tmp_path: Path) -> Path:
    """A copy of the warm folder; its files are used by the paths of the first."""
    return shutil.copytree(built, tmp_path / "warm")


def test_nothing_is_cold_with_the_folder(warm: Path) -> None:
    with irscope.expect_warm(warm) as block:
        warm_kernels.launch(1024)
    assert block.cold == ()


def test_a_line_names_the_component_that_no_entry_has(warm: Path) -> None:
    with pytest.raises(irscope.ColdStartError) as raised, irscope.expect_warm(warm):
        warm_kernels.launch(1023)
    (cold,) = raised.value.cold
    assert (cold.kind, cold.kernel) == ("compilation", "add_kernel")
    assert cold.missing == "argument n: i32 divisible by 16 -> i32"
    assert cold.nearest == "entry ABC of program.py"
    assert str(cold).endswith(f": differs from {cold.nearest} in {cold.missing}")
    assert "x=*fp32:16, y=*fp32:16, n=i32, BLOCK=128" in cold.arguments
    assert len(str(raised.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({"DISABLE_LLVM_OPT": "1"}, "environment variable DISABLE_LLVM_OPT"),
        ({"TRITON_DEFAULT_FP_FUSION": "0"}, "TRITON_DEFAULT_FP_FUSION"),
    ],
)
def test_an_environment_variable_is_named(
    warm: Path, variables: dict[str, str], missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with irscope.expect_warm(warm, on_cold=lambda _: None) as block:
        warm_kernels.launch(1024)
    assert missing in block.cold[0].missing


def test_a_constexpr_and_an_unknown_kernel(warm: Path) -> None:
    with irscope.expect_warm(warm, on_cold=lambda _: None) as block:
        warm_kernels.launch(1024, block=64)
        pointer = triton.runtime.jit.MockTensor(triton.language.float32)
        warm_kernels.tuned_kernel.fn.warmup(pointer, pointer, 1, BLOCK=64, grid=(1,))
    assert block.cold[0].missing == "constexpr BLOCK: 128 -> 64"
    assert block.cold[1].missing == "no entry of this kernel among the 1 entry of 1 kernel"


def test_a_compilation_that_raises_is_reported_and_raises(warm: Path) -> None:
    before = triton.JITFunction._do_compile
    with irscope.expect_warm(warm, on_cold=lambda _: None) as block:
        pointer = triton.runtime.jit.MockTensor(triton.language.float32)
        with pytest.raises(triton.CompilationError):
            warm_kernels.bad_kernel.warmup(pointer, BLOCK=64, grid=(1,))
    (cold,) = block.cold
    assert cold.kind == "failure"
    assert "bad_kernel did not compile in " in str(cold)
    assert "(x=*fp32:16, BLOCK=64" in str(cold)
    assert "missing_value is not defined" in str(cold)
    assert triton.JITFunction._do_compile is before


def test_a_damaged_entry_is_named(warm: Path, built: Path) -> None:
    with irscope.expect_warm(warm, on_cold=lambda _: None) as block:
        for group in warm.glob("*/__grp__*"):
            group.unlink()
        warm_kernels.launch(1024)
    assert "irscope warm --verify" in block.cold[0].missing


def test_benchmarks_are_one_cold_start_per_key(warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuner = warm_kernels.tuned_kernel
    monkeypatch.setattr(tuner, "_do_bench", lambda call, quantiles: [1.0] * len(quantiles))
    monkeypatch.setattr(tuner, "cache", {})
    monkeypatch.setattr(tuner.fn, "run", lambda *args, **kwargs: None)
    with irscope.expect_warm(warm, on_cold=lambda _: None) as block:
        for n in (7, 7, 8):
            tuner[(1,)](None, None, n)
    assert [(each.kernel, each.count, each.arguments) for each in block.cold] == [
        ("tuned_kernel", 2, "n=7"),
        ("tuned_kernel", 2, "n=8"),
    ]
    assert "TRITON_CACHE_AUTOTUNING=1" in block.cold[0].missing


def test_hooks_call_the_ones_before_and_are_removed(warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bool] = []
    listener = lambda **report: heard.append(report["cache_hit"])  # noqa: E731
    monkeypatch.setattr(knobs.compilation, "listener", listener)
    before = (knobs.compilation.listener, Autotuner._bench, triton.runtime.build._build)
    run = triton.JITFunction.run
    with irscope.expect_warm(warm), irscope.expect_warm(warm):
        warm_kernels.launch(1024)
        # Nothing of irscope runs in a launch.
        assert triton.JITFunction.run is run
        assert not knobs.runtime.launch_enter_hook.calls
        assert not knobs.runtime.launch_exit_hook.calls
    assert heard == [True]
    assert (knobs.compilation.listener, Autotuner._bench, triton.runtime.build._build) == before


def test_a_listener_installed_later_stays(warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knobs.compilation, "listener", None)
    with irscope.expect_warm(warm, on_cold=lambda _: None) as block:
        ours = knobs.compilation.listener
        theirs = functools.partial(ours)
        knobs.compilation.listener = theirs
        warm_kernels.launch(1022)
    assert len(block.cold) == 1
    assert knobs.compilation.listener is theirs
    warm_kernels.launch(1024)
    assert len(block.cold) == 1


def test_nested_blocks_and_threads_hear_everything(warm: Path) -> None:
    with irscope.expect_warm(warm, on_cold=lambda _: None) as outer:
        with irscope.expect_warm(on_cold=lambda _: None) as inner:
            thread = threading.Thread(target=warm_kernels.launch, args=(1021,))
            thread.start()
            thread.join()
        _forget()
        warm_kernels.launch(1020)
    assert (len(outer.cold), len(inner.cold)) == (1, 1)  # 1020 is 1021's kernel, which is in the cache now


def test_warnings_come_when_it_happens_and_errors_stay_inside(
    warm: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "irscope"), irscope.expect_warm(warm, on_cold="warn"):
        warm_kernels.launch(1)
        assert "not warm: add_kernel was compiled" in caplog.text

    def broken(_: Any) -> None:
        raise RuntimeError

    with irscope.expect_warm(warm, on_cold=broken) as block:
        warm_kernels.launch(1, block=32)
    assert len(block.cold) == 1


def test_the_error_of_the_block_itself_is_kept(warm: Path) -> None:
    with pytest.raises(KeyError), irscope.expect_warm(warm):
        warm_kernels.launch(1, block=16)
        raise KeyError


def test_a_built_stub_is_explained(warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton.runtime.build, "_build", lambda *_: "cuda_utils.so")
    with irscope.expect_warm(warm, on_cold=lambda _: None) as block:
        assert triton.runtime.build._build("cuda_utils", "main.c") == "cuda_utils.so"
    assert str(block.cold[0]).startswith("cuda_utils was built with the C compiler in 0.00 s")
    assert block.cold[0].missing == f"{warm} has none"


def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(irscope.UserError, match="no such folder"), irscope.expect_warm(tmp_path / "no"):
        pass
    with pytest.raises(irscope.UserError, match="not 'raise'"):
        irscope.expect_warm(on_cold="stop")  # type: ignore[arg-type]


def test_importing_it_imports_neither_triton_nor_torch() -> None:
    code = (
        "import irscope, sys; irscope.expect_warm; print({'triton', 'torch', 'textual'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_fixture_fails_the_test(irscope_expect_warm: Any, warm: Path) -> None:
    with irscope_expect_warm(warm):
        warm_kernels.launch(1024)
    with pytest.raises(pytest.fail.Exception, match="not warm: 1 compilation"), irscope_expect_warm(warm):
        warm_kernels.launch(1, block=256)
