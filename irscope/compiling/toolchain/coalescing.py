"""The coalescing pass's debug output: which pointers it knew to be contiguous and aligned, and its choice.

Triton prints it to fd 2, on separate lines, if TRITON_LLVM_DEBUG_ONLY names the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from irscope.compiling.toolchain.patching import variable_set

_COALESCE = "tritongpu-coalesce"
_VARIABLE = "TRITON_LLVM_DEBUG_ONLY"
_PREFIX = f"[{_COALESCE}]:"

# A stage of a Triton backend: takes the module and the metadata, returns the module.
RunStage = Callable[[Any, dict[str, Any]], Any]


@contextmanager
def always_compile() -> Iterator[None]:
    """Compilations within the block run every pass even if Triton's cache has the result."""
    from triton import knobs

    with knobs.compilation.scope():
        knobs.compilation.always_compile = True
        yield


def with_coalescing_output(run: RunStage) -> RunStage:
    """Wrap the TTGIR stage `run` so that its coalescing pass prints its reasons.

    The variable is part of Triton's cache key, so it is set only while this stage runs, after the
    key was computed.
    """

    def stage(module: Any, metadata: dict[str, Any]) -> Any:
        with variable_set(_VARIABLE, _COALESCE):
            return run(module, metadata)

    return stage


def split_coalescing_output(text: str) -> tuple[str, str]:
    """Split a worker's output into everything else and the lines of the coalescing pass."""
    lines = text.splitlines(keepends=True)
    reasons = [line for line in lines if line.startswith(_PREFIX)]
    return "".join(line for line in lines if not line.startswith(_PREFIX)), "".join(reasons)
