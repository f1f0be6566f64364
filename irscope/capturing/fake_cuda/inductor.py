"""Makes torch.compile work on fake CUDA tensors: Inductor's kernels are compiled for the target, not run.

Dynamo and Inductor run in the program's own process, and take fake CUDA tensors for tensors of cuda:0:

    torch.compile(f)(x)     Dynamo traces f (tracing.py), autograd the backward pass (device_guard.py),
                            attention becomes the operator that a GPU runs (attention.py)
                            Inductor writes kernels; it compiles its choices instead of timing them
                            (inductor_patches.py)
                            its code runs on the CPU tensors; Triton's stub driver ignores the launches

A function or graph that torch cannot compile so runs uncompiled; a line on stderr says which, and why.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from irscope.backends import backend_of
from irscope.capturing.call_stack import user_place
from irscope.capturing.fake_cuda.device_guard import (
    UnsupportedTorchError,
    available_accelerator,
    ensure_device_guard,
)
from irscope.model import Target
from irscope.toolchain.patching import patched


class InductorSupport:
    """Prepares torch for `torch.compile`, at its first call because that imports all of Inductor.

    `stack` undoes it. `register` is torch's own `Library.impl`.
    """

    def __init__(self, target: Target, register: Callable[..., Any], stack: ExitStack) -> None:
        self._target, self._register, self._stack = target, register, stack
        self._ready: bool | None = None

    def ready(self) -> bool:
        """Prepares torch once; whether this build of torch can do it. If not, the first call says so."""
        if self._ready is None:
            try:
                _prepare(self._target, self._register, self._stack)
                self._ready = True
            except (UnsupportedTorchError, ImportError, AttributeError) as error:
                why = f"does not work without a GPU with torch {torch.__version__}: {error}"
                _report(why, "functions run")
                self._ready = False
        return self._ready

    def if_in_use(self) -> None:
        """Prepares torch now if the program may have functions that were compiled before."""
        if "torch._dynamo.convert_frame" in sys.modules:
            self.ready()

    def compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`torch.compile`, given torch's own. It returns functions as they are if it is not supported."""

        @functools.wraps(original)
        def compile_(model: Any = None, *args: Any, **options: Any) -> Any:
            if self.ready():
                return original(model, *args, **options)
            return (lambda function: function) if model is None else model

        return compile_


def _prepare(target: Target, register: Callable[..., Any], stack: ExitStack) -> None:
    """Replaces parts of torch. Raises an error, having replaced nothing, if this build does not have them."""
    ensure_device_guard()
    with available_accelerator():
        pass
    from irscope.capturing.fake_cuda.attention import fused_attention
    from irscope.capturing.fake_cuda.factories import cuda_factories
    from irscope.capturing.fake_cuda.inductor_patches import (
        forget_devices,
        inductor_replacements,
        inductor_settings,
    )
    from irscope.capturing.fake_cuda.tracing import tracing_replacements

    replacements = [*tracing_replacements(_report), *inductor_replacements()]
    forget_devices()
    stack.callback(forget_devices)
    for owner, name, value in replacements:
        stack.enter_context(patched(owner, name, value))
    stack.enter_context(inductor_settings())
    stack.enter_context(cuda_factories(register))
    stack.enter_context(fused_attention(backend_of(target).capability(target.arch)))


def _report(why: str, what: str) -> None:
    """Says on stderr what runs uncompiled and why, with the line of the program."""
    place = user_place()
    print(f"irscope: {f'{place}: ' if place else ''}torch.compile {why}; {what} uncompiled", file=sys.stderr)
