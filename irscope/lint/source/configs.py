"""Lists of configs that tune nothing, or the same thing twice."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.module import PythonModule

ONE = Rule("IRS102", "one-config", "an autotuned kernel with a single config: nothing is tuned")
TWICE = Rule("IRS103", "duplicate-config", "a config that stands twice in the list: it is measured twice")


def one_config(module: PythonModule) -> Iterator[Diagnostic]:
    """`@triton.autotune` with one config, or none."""
    for kernel in module.kernels.values():
        tuned = kernel.autotune
        if tuned is None or tuned.configs is None or len(tuned.configs) > 1:
            continue
        some = "only one config" if tuned.configs else "no config, which is one with Triton's defaults"
        message = f"{kernel.name} is autotuned over {some}: nothing is measured, nothing is chosen"
        fix = "add configs, or drop @triton.autotune and pass these values at the launch"
        yield module.problem(ONE, tuned.node, message, fix, kernel)


def duplicate_config(module: PythonModule) -> Iterator[Diagnostic]:
    """Configs that are equal in everything."""
    for kernel in module.kernels.values():
        met: dict[Hashable, int] = {}
        for number, config in enumerate(kernel.autotune.configs or () if kernel.autotune else (), 1):
            identity = config.identity
            if identity is None or config.node is None:
                continue
            first = met.setdefault(identity, number)
            if first != number:
                message = f"config {number} of {kernel.name} is equal to config {first}: it is measured twice"
                yield module.problem(TWICE, config.node, message, "drop it", kernel)
