"""How often Inductor compiled a graph or measured in this process, by its own counters.

`torch._dynamo.utils.counters["inductor"]` of torch 2.11 to 2.13. Inductor compiles in worker processes, where
Triton's listener of this process hears nothing. Imports no torch: without it, all counts are zero.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

GRAPHS, MEASUREMENTS = "Inductor's graph compiler", "Inductor's benchmark"
_MISSES = ("fxgraph_cache_miss", "fxgraph_cache_bypass")
_BENCHMARKS = "benchmarking."


def inductor_counts() -> dict[str, int]:
    """Compiled graphs and measurements so far, by the names GRAPHS and MEASUREMENTS."""
    module = sys.modules.get("torch._dynamo.utils")
    found: Mapping[str, int] = getattr(module, "counters", {}).get("inductor", {})
    counts = dict(found)
    # One measurement passes several functions, each of which has a counter.
    measured = max((n for name, n in counts.items() if name.startswith(_BENCHMARKS)), default=0)
    return {GRAPHS: sum(counts.get(name, 0) for name in _MISSES), MEASUREMENTS: measured}
