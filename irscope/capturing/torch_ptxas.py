"""Assembles torch.compile's kernels by the ptxas in torch's wheel, as torch's worker processes do.

irscope compiles them in the program's own process. There, torch sets TRITON_PTXAS_PATH only after the first
of them, for all later kernels, those of the program too.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from irscope.capturing.after_import import after_import
from irscope.toolchain.patching import never_raises, variable_set

_AUTOTUNER = "torch._inductor.runtime.triton_heuristics"
_ASYNC_COMPILE = "torch._inductor.async_compile"
_VARIABLE = "TRITON_PTXAS_PATH"


def use_torch_ptxas() -> None:
    """Applies to all kernels that torch.compile generates in this process, unless the variable is set."""
    if _VARIABLE not in os.environ:
        after_import((_AUTOTUNER,), _wrap_autotuner)
        after_import((_ASYNC_COMPILE,), _keep_variable)


@never_raises
def _wrap_autotuner() -> None:
    import torch

    ptxas = Path(torch.__file__).parent / "bin" / "ptxas"
    autotuner = sys.modules[_AUTOTUNER].CachingAutotuner
    if os.access(ptxas, os.X_OK):
        autotuner._precompile_config = _with_ptxas(autotuner._precompile_config, str(ptxas))


@never_raises
def _keep_variable() -> None:
    sys.modules[_ASYNC_COMPILE]._set_triton_ptxas_path = lambda: None  # type: ignore[attr-defined]


def _with_ptxas(original: Callable[..., Any], path: str) -> Callable[..., Any]:
    """`CachingAutotuner._precompile_config`, which compiles one config, with this ptxas."""

    @functools.wraps(original)
    def precompile(*args: Any, **kwargs: Any) -> Any:
        with variable_set(_VARIABLE, os.environ.get(_VARIABLE) or path):
            return original(*args, **kwargs)

    return precompile
