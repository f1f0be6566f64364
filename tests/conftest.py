"""Fixtures that several test folders share."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

Irscope = Callable[..., subprocess.CompletedProcess[str]]

# Property tests: few examples while developing, many in CI.
settings.register_profile("default", max_examples=20, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_configure(config: pytest.Config) -> None:
    """Settings of the test process that make tests faster."""
    # By default, collecting garbage is a quarter of the time of tests of the app.
    gc.set_threshold(100_000, 50, 50)
    # Stages that tests derive from captures must not reach the user's cache folder, nor come from there.
    os.environ["IRSCOPE_CACHE"] = tempfile.mkdtemp(prefix="irscope-tests-")
    # Nor are captures of tests the user's recent ones.
    os.environ["IRSCOPE_STATE"] = tempfile.mkdtemp(prefix="irscope-tests-")
    _stay_on_one_core()


def _stay_on_one_core() -> None:
    """Keeps each pytest-xdist worker on a core of its own, if there is one for each.

    irscope starts a compiling process per core that it may use: the tests of several workers at once would
    start several per core, and each imports Triton.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if worker.isdecimal() and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) == int(os.environ["PYTEST_XDIST_WORKER_COUNT"]):
            os.sched_setaffinity(0, {cores[int(worker)]})


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this test run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def triton_cache(run_folder: Path) -> Path:
    """A Triton cache for all tests that need no cold one."""
    return run_folder / "triton-cache"


@pytest.fixture
def irscope(tmp_path: Path, triton_cache: Path) -> Irscope:
    """Runs irscope in a process and a folder of its own, as a user does."""

    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "irscope", *words],
            cwd=tmp_path,
            env=os.environ | {"TRITON_CACHE_DIR": str(triton_cache)} | environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return call


@pytest.fixture(scope="session")
def bits_capture(run_folder: Path, triton_cache: Path) -> Path:
    """The capture of bits_program.py: kernels whose configs compute the same bits, or not."""
    path = run_folder / f"bits-{os.getpid()}.irscope"
    program = Path(__file__).parent / "workspace" / "bits_program.py"
    words = ["-m", "irscope", "run", "--target", "cuda:90", "-o", str(path), str(program)]
    environment = {"TRITON_CACHE_DIR": str(triton_cache), "TRITON_DEFAULT_FP_FUSION": "1"}
    subprocess.run([sys.executable, *words], env=os.environ | environment, check=True, timeout=600)
    return path


@pytest.fixture(scope="session")
def _hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.hardening.hostile import write_hostile_capture

    return write_hostile_capture(tmp_path_factory.mktemp("hostile") / "hostile.irscope")


@pytest.fixture
def hostile_capture(_hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture in which every text field is hostile; every view opens it."""
    return Path(shutil.copy(_hostile, tmp_path_factory.mktemp("copy") / "hostile.irscope"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright; skips the tests without it."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the dev group")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an HTML file in a window; in the end, no page may have reported an error or asked for a URL."""
    messages: list[str] = []
    contexts = []

    def open_(path: Path, size: tuple[int, int], anchor: str = "", **options: Any) -> Any:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        context.set_default_timeout(10_000)
        page, own = context.new_page(), path.as_uri()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda asked: None if asked.url == own else messages.append(asked.url))
        page.goto(f"{own}{anchor}")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not messages
