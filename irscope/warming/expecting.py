"""`irscope.expect_warm`: a block in which nothing may compile, benchmark or build.

    with irscope.expect_warm("/opt/warm"):
        serve()

It costs nothing per launch: see process_hooks.py. A cold start is explained when it happens, which takes
milliseconds after a compilation of hundreds, and raises nothing before the end of the block.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Literal

from irscope.model import UserError
from irscope.toolchain.patching import variable_set
from irscope.toolchain.process_hooks import LOG, cache_folder, observe, stop_observing
from irscope.warming.cold_start import ColdStart, ColdStartError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from irscope.warming.collector import Collector

OnCold = Literal["raise", "warn"] | Callable[[ColdStart], object]


class WarmBlock:
    """The context of `irscope.expect_warm`. Blocks can be nested, and hear all threads of the process."""

    def __init__(self, folder: Path | None, on_cold: OnCold) -> None:
        self._given, self._on_cold = folder, on_cold
        self._stack = ExitStack()
        self._collector: Collector | None = None

    @property
    def cold(self) -> tuple[ColdStart, ...]:
        """The cold starts in the block so far, in the order in which they were noticed."""
        return () if self._collector is None else self._collector.cold

    def __enter__(self) -> WarmBlock:
        """Starts to listen. Raises UserError if there is no Triton, or if the folder does not exist."""
        from irscope.warming.collector import Collector

        if find_spec("triton") is None:
            raise UserError("expect_warm needs Triton: pip install triton")
        if self._given is not None:
            if not self._given.is_dir():
                raise UserError(f"{self._given}: no such folder; irscope warm builds it")
            self._stack.enter_context(variable_set("TRITON_CACHE_DIR", str(self._given)))
        collector = self._collector = Collector(self._given or cache_folder(), self._report)
        observe(collector.observe)
        self._stack.callback(collector.finish)
        self._stack.callback(stop_observing, collector.observe)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops listening. Raises ColdStartError if something was cold and the block itself did not raise."""
        self._stack.close()
        if self._on_cold == "raise" and kind is None and self._collector is not None and self.cold:
            raise ColdStartError(self.cold, str(self._collector.folder))

    def _report(self, cold: ColdStart) -> None:
        if callable(self._on_cold):
            self._on_cold(cold)
        elif self._on_cold == "warn":
            LOG.warning("not warm: %s", cold)


def expect_warm(folder: str | os.PathLike[str] | None = None, *, on_cold: OnCold = "raise") -> WarmBlock:
    """A context in which nothing may compile, benchmark or build: `with irscope.expect_warm("/opt/warm"):`.

    `folder`: one that `irscope warm` built, which is Triton's cache within the block; None: the cache as it
    is. `on_cold`: "raise" raises ColdStartError with a line per cold start at the end of the block; "warn"
    logs each as a warning of the logger "irscope" when it happens; a function is called with each
    `ColdStart`. Kernels that the process has loaded before are warm. Raises UserError if there is no Triton
    or no such folder.
    """
    if not callable(on_cold) and on_cold not in ("raise", "warn"):
        raise UserError(f"on_cold: '{on_cold}' is not 'raise', 'warn' or a function")
    return WarmBlock(None if folder is None else Path(folder).absolute(), on_cold)
