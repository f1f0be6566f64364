"""The coalescing pass's own words: which pointers it knew to be contiguous and aligned, and what it chose.

Triton prints them on fd 2 where TRITON_LLVM_DEBUG_ONLY asks for them, as lines of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_COALESCE = "tritongpu-coalesce"
_VARIABLE = "TRITON_LLVM_DEBUG_ONLY"
_MARK = f"[{_COALESCE}]:"

Run = Callable[[Any, dict[str, Any]], Any]


@contextmanager
def compiling_anyway() -> Iterator[None]:
    """Compilations inside run their passes even where Triton's cache has the result: else none talks."""
    from triton import knobs

    with knobs.compilation.scope():
        knobs.compilation.always_compile = True
        yield


def telling(run: Run) -> Run:
    """The TTGIR stage `run` with its coalescing pass printing its reasons.

    The variable is part of Triton's cache key, so it is set for this stage alone, when the key is made.
    """

    def stage(module: Any, metadata: dict[str, Any]) -> Any:
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = _COALESCE
        try:
            return run(module, metadata)
        finally:
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before

    return stage


def split_printed(text: str) -> tuple[str, str]:
    """What a worker printed, without the lines of the coalescing pass, and those lines."""
    lines = text.splitlines(keepends=True)
    told = [line for line in lines if line.startswith(_MARK)]
    return "".join(line for line in lines if not line.startswith(_MARK)), "".join(told)
