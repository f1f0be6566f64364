"""Measures `irscope diff OLD NEW` on two captures of 1,000 variants, made from the stages in tests/data.

The variants of a kernel share its real stages under different configs; in NEW, one in ten has the stages of
another config, so that some facts improve or regress. Prints the seconds of a first run, which measures the
facts, of a run with stored facts, and until its first line.

    python -m benchmarks.capture_diff [VARIANTS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.processes import IRSCOPE, ROOT
from irscope.facts.measure import FACTS_VERSION, measure, to_json
from irscope.model import Argument, Config, SourceFunction
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.targets import parse_target

STAGES, CUBINS = ROOT / "tests" / "data" / "stages", ROOT / "tests" / "data" / "facts"
KERNELS = {
    "add_kernel": ["BLOCK_SIZE=1024,num_warps=4", "BLOCK_SIZE=256,num_warps=4"],
    "softmax_kernel": ["BLOCK_SIZE=1024,num_warps=4"],
}
# The number of components in a cache key of Triton 3.9.
KEY = dict.fromkeys(("triton", "source", "backend"), "0" * 64) | {
    "attributes": "{(0,): [['tt.divisibility', 16]]}",
    "type x": "*fp32",
    **{f"option o{number}": "False" for number in range(40)},
}


def stages_of(kernel: str, config: str) -> dict[str, bytes]:
    start = f"{kernel}.cuda-90.{config}.triton-3.9.0."
    stages = {path.suffix[1:]: path.read_bytes() for path in STAGES.glob(f"{start}*")}
    return stages | {"cubin": (CUBINS / f"{kernel}.cuda-90.cubin").read_bytes()}


def write(path: Path, variants: int, moved: bool) -> None:
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "benchmark")
        for name, configs in KERNELS.items():
            source = SourceFunction(name, "k.py", 1, f"@triton.jit\ndef {name}(x): pass\n")
            kernel = writer.add_kernel(source, (), ("x",))
            contents = [stages_of(name, config) for config in configs]
            for number in range(variants // len(KERNELS)):
                other = moved and number % 10 == 0
                new = NewVariant(
                    parse_target("cuda:90"),
                    (Argument("x", "*fp32", "D"),),
                    Config((("BLOCK_SIZE", number), ("num_warps", 4))),
                    metadata={"shared": 4096 * (1 + other), "num_warps": 4, "name": name},
                    seconds={"ttgir": 0.1, "llir": 0.2},
                    cache_key=KEY | {"constant BLOCK_SIZE": str(number)},
                    artifacts=contents[other % len(contents)],
                )
                writer.add_variant(kernel, toolchain, "3.9.0", new)


def keep_facts(path: Path) -> None:
    with CaptureReader(path) as capture:
        facts = {v.id: to_json(measure(v, partial(capture.read, v))) for v in capture.variants()}
    with CaptureWriter.resume(path) as writer:
        for variant, values in facts.items():
            writer.add_facts(variant, FACTS_VERSION, values)


def timed(old: Path, new: Path) -> tuple[float, float]:
    """Seconds until the first line, and in total."""
    start = time.perf_counter()
    command = [*IRSCOPE, "diff", os.fspath(old), os.fspath(new)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter() - start
        process.stdout.read()
    return first, time.perf_counter() - start


def main() -> None:
    variants = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old.irscope"), Path(folder, "new.irscope")
        write(old, variants, moved=False)
        write(new, variants, moved=True)
        print(f"{variants} variants each, facts measured: {timed(old, new)[1]:.2f} s")
        for path in (old, new):
            keep_facts(path)
        first, whole = timed(old, new)
        print(f"{variants} variants each, facts stored: {whole:.2f} s, first line after {first:.2f} s")


if __name__ == "__main__":
    main()
