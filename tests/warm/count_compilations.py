"""Runs a program as a machine with a GPU does and prints what Triton compiled and measured as JSON.

`python count_compilations.py FOLDER PROGRAM.py ARGS...`; FOLDER has the module `production` of the fake GPU.
"""

from __future__ import annotations

import atexit
import functools
import json
import sys
from collections import Counter
from typing import Any

sys.path.insert(0, sys.argv.pop(1))

import production  # type: ignore[import-not-found]
from triton import knobs
from triton.runtime.autotuner import Autotuner

counts: Counter[str] = Counter(compiled=0, hits=0, measured=0)


def _count(cache_hit: bool, **_: Any) -> None:
    counts["hits" if cache_hit else "compiled"] += 1


@functools.wraps(Autotuner._bench)
def _bench(self: Any, *args: Any, **keywords: Any) -> Any:
    counts["measured"] += 1
    return _bench.__wrapped__(self, *args, **keywords)  # type: ignore[attr-defined]


knobs.compilation.listener = _count
Autotuner._bench = _bench
atexit.register(lambda: print(json.dumps(counts)))
production.main(sys.argv[1])
