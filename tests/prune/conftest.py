"""A program's view of a GPU, without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

Tune = Callable[..., list[Any]]


@pytest.fixture(scope="package")
def h100(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Triton's driver describes an H100; its cache is empty."""
    from triton.runtime import driver

    from irscope.compiling.toolchain.patching import patched, variable_set
    from irscope.compiling.toolchain.stub_driver import StubDriver
    from irscope.jobs.prune.worker_pool import pool
    from irscope.model import Target

    stub = StubDriver(Target("cuda", "90", 32))
    cache = variable_set("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("tuning-cache")))
    with cache, patched(driver, "_active", stub):
        yield stub
        pool.stop()


@pytest.fixture
def tune(h100: Any) -> Tune:
    """Calls an autotuner's pruning for a kernel, configs and arguments: the configs that it would measure."""
    import triton

    def prune(
        kernel: Any, configs: list[Any], function: Any, arguments: dict[str, Any], grid: Any = (1,)
    ) -> list[Any]:
        decorate = triton.autotune(configs, key=[], prune_configs_by={"early_config_prune": function})
        tuner = decorate(kernel)
        tuner.nargs = arguments
        kept: list[Any] = tuner.prune_configs({"grid": grid, "warmup": False})
        return kept

    return prune
