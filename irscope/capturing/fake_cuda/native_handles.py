"""Triton's native handles without a GPU: its cuBLAS and hipBLAS, and its profiler Proton. Needs torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from irscope.capturing.fake_cuda.tensor_tags import set_unknown
from irscope.toolchain.patching import Replacement


class FakeBlas:
    """`CublasLt` or `HipblasLt` of libtriton, which programs compare their matmuls with: it computes nothing.

    Each method's third argument is the result (`declare_blas` in Triton's nvidia and amd triton_*.cc), or for
    `gemm` the fourth; their values become unknown.
    """

    def __init__(self, workspace: Any) -> None:
        """Accepts the workspace."""

    def matmul(self, a: Any, b: Any, result: Any) -> None:
        """The product of a and b^T."""
        set_unknown(result)

    def gemm(self, a: Any, b: Any, c: Any, result: Any, alpha: float, beta: float) -> None:
        """The sum of alpha a b and beta c."""
        set_unknown(result)

    def block_scaled_matmul_mxfp8(self, a: Any, b: Any, result: Any, a_scale: Any, b_scale: Any) -> None:
        """The product of a and b^T, both in blocks with scales."""
        set_unknown(result)

    block_scaled_matmul_nvfp4 = block_scaled_matmul_mxfp8


_PROTON = (
    "start", "activate", "activate_all", "deactivate", "deactivate_all", "finalize", "finalize_all",
    "record_scope", "enter_scope", "exit_scope", "enter_state", "exit_state", "add_metrics",
    "set_metric_kernels",
)  # fmt: skip


def _no_session(*_: Any, **__: Any) -> int:
    """In place of Proton's functions: the number of a session that records nothing."""
    return 0


def native_replacements() -> Iterator[Replacement]:
    """The replacements in Triton, if this version has them."""
    from triton._C import libtriton

    for backend, library, name in (("nvidia", "cublas", "CublasLt"), ("amd", "hipblas", "HipblasLt")):
        owner = getattr(getattr(libtriton, backend, None), library, None)
        if hasattr(owner, name):
            yield owner, name, FakeBlas
    with suppress(ImportError):
        from triton._C.libproton import proton

        for name in _PROTON:
            if hasattr(proton, name):
                yield proton, name, _no_session
