"""Triton's benchmark functions without a GPU: each benchmarked function is called once and not timed."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

from irscope.capturing.call_stack import short_path, user_frame
from irscope.toolchain.patching import Replacement
from irscope.toolchain.stub_driver import call_once


def benchmark_replacements() -> Iterator[Replacement]:
    """The replacements in Triton. No autotuner caches unmeasured times."""
    import triton.testing
    from triton.runtime.autotuner import Autotuner

    @functools.wraps(Autotuner.check_disk_cache)
    def check_disk_cache(self: Any, key: Any, configs: Any, bench: Callable[[], None]) -> bool:
        bench()
        return False

    for name in ("do_bench", "do_bench_cudagraph", "do_bench_cudagraph_proton"):
        if hasattr(triton.testing, name):
            yield triton.testing, name, _do_bench
    yield triton.testing.Mark, "run", _run_marked
    yield Autotuner, "check_disk_cache", check_disk_cache


def _do_bench(
    fn: Callable[[], Any], *_: Any, quantiles: Any = None, return_mode: str = "mean", **__: Any
) -> Any:
    """The invented times in the form of Triton's `_summarize_statistics`."""
    times = call_once(fn, quantiles or (0.5,))
    return times if len(times) > 1 or (return_mode == "all" and not quantiles) else times[0]


def _run_marked(
    self: Any,
    show_plots: bool = False,
    print_data: bool = False,
    save_path: str = "",
    return_df: bool = False,
    **kwargs: Any,
) -> Any:
    """`Mark.run`, which a function decorated with `triton.testing.perf_report` has.

    Calls the function for every size and line, as on a GPU, because each may launch other variants. There is
    nothing to print or plot; a table that the program asks for has no times.
    """
    _say_untimed()
    single = not isinstance(self.benchmarks, list | tuple)
    tables = [
        _run_benchmark(self.fn, bench, return_df, kwargs)
        for bench in ([self.benchmarks] if single else self.benchmarks)
    ]
    if not return_df:
        return None
    return tables[0] if single else tables


def _run_benchmark(fn: Callable[..., Any], bench: Any, table: bool, kwargs: dict[str, Any]) -> Any:
    """Calls `fn` for each size and line of `bench`; a table of the sizes without times if `table` is set."""
    names = list(bench.x_names)
    rows = []
    for x in bench.x_vals:
        sizes = list(x) if isinstance(x, list | tuple) else [x] * len(names)
        if len(sizes) != len(names):
            raise ValueError(f"Expected {len(names)} values, got {x}")  # as Triton
        for line in bench.line_vals:
            fn(**dict(zip(names, sizes, strict=True)), **{bench.line_arg: line}, **bench.args, **kwargs)
        rows.append([*sizes, *[math.nan] * len(bench.line_names)])
    if not table:
        return None
    import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]

    return pd.DataFrame(rows, columns=names + [f"{name} ({bench.ylabel})" for name in bench.line_names])


@functools.cache
def _say_untimed() -> None:
    """Says once, with the program's line, that no benchmark prints its times."""
    frame = user_frame()
    place = f"{short_path(frame.f_code.co_filename)}:{frame.f_lineno}: " if frame else ""
    note = "benchmarks call each function once and print no times without a GPU"
    print(f"irscope: {place}{note}", file=sys.stderr)
