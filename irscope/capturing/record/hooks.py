"""Every compilation that a program asks Triton for passes here, whichever way it asks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from irscope.capturing.record.call_stack import tuning_codes, tuning_of
from irscope.capturing.record.patching import replaced
from irscope.capturing.record.recorder import Tuning


class OnCompile(Protocol):
    """Takes a compilation's source, target, options, tuning, and Triton's own `compile` for it."""

    def __call__(
        self, source: Any, target: Any, options: Any, tuning: Tuning, compile_: Callable[[], Any]
    ) -> Any:
        """The kernel."""


@contextmanager
def compiling_through(on_jit: OnCompile, on_direct: OnCompile) -> Iterator[None]:
    """What the JIT compiles goes to `on_jit`, direct calls of `triton.compile` to `on_direct`.

    torch.compile's are such calls. What the two return is the kernel.
    """
    import triton
    from triton.compiler import compiler
    from triton.runtime.jit import JITFunction

    codes = tuning_codes()
    original = JITFunction._do_compile

    @functools.wraps(original)
    def do_compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        tuning = tuning_of(self, codes)
        before = self.compile

        # Triton calls it as `self.compile(source, target=..., options=...)`, here or in another thread.
        def through(source: Any, target: Any = None, options: Any = None, **more: Any) -> Any:
            call = functools.partial(compiler.compile, source, target=target, options=options, **more)
            return on_jit(source, target, options, tuning, call)

        self.compile = through
        try:
            return original(self, *args, **kwargs)
        finally:
            self.compile = before

    direct = compiler.compile

    @functools.wraps(direct)
    def compile_(source: Any, target: Any = None, options: Any = None, **more: Any) -> Any:
        call = functools.partial(direct, source, target=target, options=options, **more)
        return on_direct(source, target, options, Tuning(), call)

    with ExitStack() as stack:
        stack.enter_context(replaced(JITFunction, "_do_compile", do_compile))
        for module in (triton, triton.compiler):
            stack.enter_context(replaced(module, "compile", compile_))
        yield
