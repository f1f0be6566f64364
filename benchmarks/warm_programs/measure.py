"""Measures the first request of a program, and what it ran: python measure.py PROGRAM.py RESULT.json.

The counts are made without irscope: programs that the process starts by Python's audit events, compilations
and disk hits by Triton's listener, benchmarks in `Autotuner._bench`.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections import Counter
from pathlib import Path

counts: Counter[str] = Counter()


def audit(event: str, arguments: tuple[object, ...]) -> None:
    """Counts the assembler and the C compiler; `ptxas --version` is part of Triton's key."""
    if event != "subprocess.Popen":
        return
    command = arguments[1]
    words = [str(word) for word in command] if isinstance(command, list | tuple) else str(command).split()
    name = Path(words[0]).name
    if name.startswith("ptxas") and "--version" not in words:
        counts["ptxas"] += 1
    elif name in ("cc", "gcc", "clang", "c++", "g++", "clang++"):
        counts["cc"] += 1


def main(program: str, result: str) -> None:
    """Runs the program's setup, then its first and second request."""
    sys.addaudithook(audit)
    import torch
    from triton import knobs
    from triton.runtime.autotuner import Autotuner

    def listen(*, cache_hit: bool, **_: object) -> None:
        counts["hits" if cache_hit else "compiled"] += 1

    bench = Autotuner._bench

    def _bench(self: object, *args: object, config: object, **meta: object) -> object:
        counts["benchmarks"] += 1
        return bench(self, *args, config=config, **meta)

    knobs.compilation.listener = listen
    Autotuner._bench = _bench
    values = runpy.run_path(program, run_name="measured")
    torch.cuda.synchronize()
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        values["call"]()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    document = {"first": seconds[0], "second": seconds[1], **dict.fromkeys(COUNTED, 0), **counts}
    Path(result).write_text(json.dumps(document))


COUNTED = ("compiled", "ptxas", "cc", "benchmarks", "hits")

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
