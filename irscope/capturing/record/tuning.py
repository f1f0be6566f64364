"""What the autotuner measures on a GPU: the times of each config, for which key, and which one it chose."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from irscope.capturing.messages import BenchmarkSeen
from irscope.capturing.record.patching import harmless, replaced
from irscope.capturing.record.recorder import Recorded, Recorder
from irscope.model import Benchmark


@dataclass
class _Session:
    """One search of an autotuner: it measures `left` more configs, and chooses the fastest."""

    key: str
    left: int
    measured: list[tuple[Recorded, Benchmark]] = field(default_factory=list)


class _TuningWatch:
    """Follows each autotuner from its pruning to its last measurement."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    @harmless
    def begin(self, tuner: Any, kwargs: dict[str, Any], configs: list[Any]) -> None:
        """The tuner has pruned its configs and will measure these."""
        given = {**tuner.nargs, **kwargs}
        key = ", ".join(f"{name}={given[name]}" for name in tuner.keys if name in given)
        tuner.irscope_session = _Session(key, len(configs))

    @harmless
    def measured(self, tuner: Any, args: Any, config: Any, meta: dict[str, Any], times: Any) -> None:
        """The tuner has measured a config: median, 20 % and 80 % quantile in ms, or one number."""
        session: _Session | None = getattr(tuner, "irscope_session", None)
        if session is None:
            return
        ms, p20, p80 = times if isinstance(times, list | tuple) and len(times) == 3 else (times,) * 3
        session.left -= 1
        if math.isfinite(ms):
            # The kernel is compiled: asked for once more without a launch, the JIT finds it again.
            kernel = tuner.fn.run(*args, **{**meta, **config.all_kwargs(), "warmup": True})
            recorded = self._recorder.by_kernel.get(kernel)
            if recorded is not None:
                session.measured.append((recorded, Benchmark(session.key, ms, p20, p80)))
        if session.left == 0:
            del tuner.irscope_session
            self._tell(session)

    def _tell(self, session: _Session) -> None:
        fastest = min((benchmark.ms for _, benchmark in session.measured), default=None)
        for recorded, benchmark in session.measured:
            chosen = benchmark.ms == fastest
            fastest = None if chosen else fastest  # of equally fast ones Triton takes the first
            self._recorder.send(BenchmarkSeen(recorded.number, replace(benchmark, chosen=chosen)))


@contextmanager
def watching_tuning(recorder: Recorder) -> Iterator[None]:
    """Every search of an autotuner inside is told of. A launch that searches nothing passes none of this."""
    from triton.runtime.autotuner import Autotuner

    watch = _TuningWatch(recorder)
    prune, bench = Autotuner.prune_configs, Autotuner._bench
    with (
        replaced(Autotuner, "prune_configs", _then(prune, watch.begin)),
        replaced(Autotuner, "_bench", _timed(bench, watch.measured)),
    ):
        yield


def _then(prune: Callable[..., Any], begin: Callable[..., None]) -> Callable[..., Any]:
    @functools.wraps(prune)
    def prune_configs(self: Any, kwargs: dict[str, Any]) -> Any:
        configs = prune(self, kwargs)
        begin(self, kwargs, configs)
        return configs

    return prune_configs


def _timed(bench: Callable[..., Any], measured: Callable[..., None]) -> Callable[..., Any]:
    @functools.wraps(bench)
    def _bench(self: Any, *args: Any, config: Any, **meta: Any) -> Any:
        times = bench(self, *args, config=config, **meta)
        measured(self, args, config, meta, times)
        return times

    return _bench
