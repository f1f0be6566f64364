"""`irscope.expect_warm`: a block in which nothing may compile, benchmark or build.

    with irscope.expect_warm("/opt/warm"):
        serve()

It costs nothing per launch: see process_hooks.py. A cold start (`ColdStart`) is explained when it happens,
which takes milliseconds after a compilation of hundreds, and raises nothing before the end of the block.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Literal

from irscope.compiling.toolchain.patching import variable_set
from irscope.compiling.toolchain.process_hooks import LOG, cache_folder, observe, stop_observing
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.model.text import one_line, pluralize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from irscope.jobs.warm.collector import Collector


Kind = Literal["compilation", "failure", "benchmark", "build", "graph", "unlisted"]
# The noun of each kind, what the kernel did, and whether its time is known.
_KINDS: dict[Kind, tuple[str, str, bool]] = {
    "compilation": ("compilation", "was compiled", True),
    "failure": ("failed compilation", "did not compile", True),
    "benchmark": ("tuning run", "benchmarked {configs}", True),
    "build": ("build", "was built with the C compiler", True),
    "graph": ("Inductor run", "ran {times}", False),
    "unlisted": ("unlisted entry", "was loaded from an entry that irscope warm did not build", False),
}


@frozen
class ColdStart:
    """One compilation, tuning run, build of a stub or graph that the warm folder did not save.

    `kind` is one of "compilation", "failure", "benchmark", "build", "graph" and "unlisted". A "failure" is a
    compilation that raised, which no folder can save. An "unlisted" one was saved by an entry that is not
    part of the folder as it was built: a run on this machine compiled it.

    `seconds` is the time that it took, `count` the number of configs or of calls. `kernel` is the name of the
    kernel, of the module that was built, or of Inductor's counter. `arguments` is the specialization and
    config, or the tuning key. `nearest` is the entry that comes closest ("" if there is none), `missing` in
    which part of the key it differs, or why there is none. `hash` names the cache entry of a compilation.
    """

    kind: Kind
    kernel: str
    seconds: float
    arguments: str = ""
    missing: str = ""
    nearest: str = ""
    count: int = 1
    hash: str = ""

    def __str__(self) -> str:
        """Return one line.

        "add was compiled in 0.31 s (n=i32): differs from entry OQ7C in argument n: ..."
        """
        _, did, is_timed = _KINDS[self.kind]
        did = did.format(configs=pluralize(self.count, "config"), times=pluralize(self.count, "time"))
        seconds = f" in {self.seconds:.2f} s" if is_timed else ""
        arguments = f" ({self.arguments})" if self.arguments else ""
        reason = f"differs from {self.nearest} in {self.missing}" if self.nearest else self.missing
        return one_line(f"{self.kernel} {did}{seconds}{arguments}{reason and ': ' + reason}")


class ColdStartError(UserError):
    """The block of `irscope.expect_warm` compiled, benchmarked or built something; `cold` lists what."""

    def __init__(self, cold: Sequence[ColdStart], folder: str) -> None:
        self.cold = tuple(cold)
        lines = [f"not warm: {cold_sentence(cold)}, {folder}", *map(str, cold)]
        super().__init__("\n  ".join(lines))


def cold_sentence(cold: Sequence[ColdStart]) -> str:
    """Return how much happened: "2 compilations and 1 tuning run in 1.31 s"."""
    counts = Counter(cold_start.kind for cold_start in cold)
    parts = [pluralize(counts[kind], noun) for kind, (noun, _, _) in _KINDS.items() if counts[kind]]
    text = " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
    return f"{text or 'nothing'} in {sum(cold_start.seconds for cold_start in cold):.2f} s"


OnCold = Literal["raise", "warn"] | Callable[[ColdStart], object]


class WarmBlock:
    """The context of `irscope.expect_warm`. Blocks can be nested, and hear all threads of the process."""

    def __init__(self, folder: Path | None, on_cold: OnCold) -> None:
        self._given, self._on_cold = folder, on_cold
        self._stack = ExitStack()
        self._collector: Collector | None = None

    @property
    def cold(self) -> tuple[ColdStart, ...]:
        """Return the cold starts in the block so far, in the order in which they were noticed."""
        return () if self._collector is None else self._collector.cold

    def __enter__(self) -> WarmBlock:
        """Start to listen. Raises UserError if there is no Triton, or if the folder does not exist."""
        from irscope.jobs.warm.collector import Collector

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
        """Stop listening. Raises ColdStartError if something was cold and the block itself did not raise."""
        self._stack.close()
        if self._on_cold == "raise" and kind is None and self._collector is not None and self.cold:
            raise ColdStartError(self.cold, str(self._collector.folder))

    def _report(self, cold: ColdStart) -> None:
        if callable(self._on_cold):
            self._on_cold(cold)
        elif self._on_cold == "warn":
            LOG.warning("not warm: %s", cold)


def expect_warm(folder: str | os.PathLike[str] | None = None, *, on_cold: OnCold = "raise") -> WarmBlock:
    """Return a context in which nothing may compile, benchmark or build.

        with irscope.expect_warm("/opt/warm"):

    `folder`: one that `irscope warm` built, which is Triton's cache within the block; None: the
    cache as it is. `on_cold`: "raise" raises ColdStartError with a line per cold start at the end
    of the block; "warn" logs each as a warning of the logger "irscope" when it happens; a function
    is called with each `ColdStart`. Kernels that the process has loaded before are warm. Raises
    UserError if there is no Triton or no such folder.
    """
    if not callable(on_cold) and on_cold not in ("raise", "warn"):
        raise UserError(f"on_cold: '{on_cold}' is not 'raise', 'warn' or a function")
    return WarmBlock(None if folder is None else Path(folder).absolute(), on_cold)
