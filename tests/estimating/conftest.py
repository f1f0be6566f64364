"""Variants of the kernels in launch_kernels.py, compiled once per module of tests, for an H100 by default."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import irscope
from irscope.model import Variant
from irscope.workspace import Workspace

Compiled = Callable[..., tuple[Workspace, Variant]]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Compiled:
    """Compiles a kernel, by name, with a signature under one config."""
    folder = tmp_path_factory.mktemp("launches")
    captures: dict[str, Workspace] = {}

    def run(
        kernel: str, signature: str, config: dict[str, object], target: str = "cuda:90"
    ) -> tuple[Workspace, Variant]:
        from tests.estimating import launch_kernels

        name = f"{kernel} {signature} {config} {target}"
        if name not in captures:
            os.environ.setdefault("TRITON_CACHE_DIR", str(triton_cache))
            path = folder / f"{len(captures)}.irscope"
            irscope.compile(
                getattr(launch_kernels, kernel),
                path,
                signature,
                config={key: [value] for key, value in config.items()},
                target=target,
                jobs=1,
            ).close()
            captures[name] = Workspace(path)
        (variant,) = captures[name].variants
        return captures[name], variant

    return run
