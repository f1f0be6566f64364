"""What tests of several rooms share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

Irscope = Callable[..., subprocess.CompletedProcess[str]]

# Property tests: few examples while developing, many in CI.
settings.register_profile("default", max_examples=20, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def triton_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Triton cache for all tests that need no cold one."""
    return tmp_path_factory.mktemp("triton-cache")


@pytest.fixture
def irscope(tmp_path: Path, triton_cache: Path) -> Irscope:
    """Runs the command line as a user does, in a folder of its own."""

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
