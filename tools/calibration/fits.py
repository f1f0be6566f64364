"""Compares what `irscope.fits` finds before LLVM with the full compilation, and the CPU time of both.

    TRITON_CACHE_DIR=CACHE irscope compile samples/matmul.py --signature ... --target cuda:80 ...
    python -m tools.calibration.fits CACHE... [--targets 80 86 89 90 100 103 120 --sample 50] [--time 60]

Each folder is a cache of Triton that full compilations of the installed version have filled: an entry has the
IR that the kernel generated (`.source`) and the results (`.json`). For each entry, the passes up to the
allocation run again from the text. `--targets` also compiles a sample of the entries for other targets, both
ways; `--time` measures both ways on a sample, generation of the IR not included. Prints each difference.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import random
import re
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from irscope.facts.occupancy import resource_problem
from irscope.model import Target
from irscope.targets import device_of

# Shared memory, tensor memory, threads, and whether that can be launched.
Use = tuple[int, int, int, str | None]
_WARPS = re.compile(r'"ttg\.num-warps" = (\d+)')


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry of Triton's cache: its source, and Triton's metadata."""

    source: Path
    metadata: dict[str, Any]

    @property
    def target(self) -> Target:
        """The target that it was compiled for."""
        target = self.metadata["target"]
        return Target(target["backend"], str(target["arch"]), target["warp_size"])

    def use(self) -> Use:
        """The resources in the metadata that the full compilation wrote."""
        found = self.metadata
        return use(found["shared"], found.get("tmem_size"), found["num_warps"], self.target)


def entries(folders: Iterable[Path]) -> Iterator[Entry]:
    """The entries of the installed version of Triton."""
    import triton

    for folder in folders:
        for source in sorted(folder.glob("*/*.source")):
            try:
                metadata = json.loads(source.with_suffix(".json").read_bytes())
            except (OSError, ValueError):
                continue  # it did not compile
            changed = any(name.isupper() for name in metadata)  # by an environment variable
            if metadata.get("triton_version") == triton.__version__ and "shared" in metadata and not changed:
                yield Entry(source, metadata)


def use(shared: int, tensor_memory: int | None, warps: int, target: Target) -> Use:
    """The resources and the verdict; a target without tensor memory has 0 columns."""
    device = device_of(target)
    threads, columns = warps * target.warp_size, tensor_memory or 0
    problem = resource_problem(shared, threads, columns, device.block_shared if device else None)
    return shared, columns, threads, problem


def source_text(entry: Entry) -> Any:
    """The text of the entry's source; Gluon's generates TTGIR."""
    from irscope.compiling.standalone.source_text import SourceText

    gluon = not entry.source.with_suffix(".ttir").exists()
    ahead = "glir" if entry.source.with_suffix(".glir").exists() else "ttgir"
    names = (ahead, "GLUON") if gluon else ("ttir", "TRITON")
    return SourceText(entry.source.stem, "", *names, entry.source.read_text())


def options_of(entry: Entry, target: Target) -> Any:
    """The options that the entry was compiled with, those of another `target` if it is not the entry's."""
    from triton.compiler import make_backend

    from irscope.compiling.toolchain.stub_driver import gpu_target

    backend = make_backend(gpu_target(target))
    defaults = backend.parse_options({})
    given = {k: v for k, v in entry.metadata.items() if k in vars(defaults)}
    given["num_warps"] = int(_WARPS.findall(entry.source.with_suffix(".ttgir").read_text())[0])
    if target == entry.target:
        given["extern_libs"] = tuple(map(tuple, given["extern_libs"]))
        tuples = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        return dataclasses.replace(defaults, **tuples)
    kept = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "debug")
    return backend.parse_options({name: given[name] for name in kept if name in given})


def allocated(entry: Entry, target: Target) -> Use:
    """The resources that `irscope.fits` reads off the allocation passes."""
    from irscope.compiling.toolchain.stub_driver import gpu_target
    from irscope.jobs.prune.candidate_worker import allocation_of

    found = allocation_of(source_text(entry), options_of(entry, target), gpu_target(target))
    return use(found.shared, found.tensor_memory, found.warps, target)


def compiled(entry: Entry, target: Target) -> Use:
    """The resources after every stage, the binary included."""
    from triton._C.libtriton import ir
    from triton.compiler import make_backend

    from irscope.compiling.standalone.source_text import language_of, parse_module
    from irscope.compiling.toolchain.stub_driver import gpu_target

    backend, context, source = make_backend(gpu_target(target)), ir.context(), source_text(entry)
    ir.load_dialects(context)
    backend.load_dialects(context)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options_of(entry, target), language_of(source))
    module = parse_module(source.text, context)
    metadata: dict[str, Any] = {}
    for name in list(stages)[list(stages).index(source.extension) :]:
        module = stages[name](module, metadata)
    warps = metadata.get("num_warps") or options_of(entry, target).num_warps
    return use(metadata["shared"], metadata.get("tmem_size"), warps, target)


# A result, or the failure as text.
Outcome = Use | str


def attempt(work: Callable[[Entry, Target], Use], entry: Entry, target: Target) -> tuple[Outcome, float]:
    """The outcome and its CPU seconds, those of ptxas included."""
    start = cpu_seconds()
    try:
        outcome: Outcome = work(entry, target)
    except Exception as error:  # noqa: BLE001 - the compiler rejects some kernels for some targets
        outcome = f"{type(error).__name__}: {str(error)[:100]}"
    return outcome, cpu_seconds() - start


def cpu_seconds() -> float:
    """The CPU time of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Processes:
    """One process that compiles; a new one after each crash."""

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(1)

    def close(self) -> None:
        """Ends the process."""
        self._pool.shutdown()

    def attempt(
        self, work: Callable[[Entry, Target], Use], entry: Entry, target: Target
    ) -> tuple[Outcome, float]:
        """See `attempt`; a crash is a failure."""
        try:
            return self._pool.submit(attempt, work, entry, target).result()
        except BrokenProcessPool:
            self._pool = ProcessPoolExecutor(1)
            return "the process ended", 0.0


@dataclasses.dataclass
class Tally:
    """Variants of one target: compared, rejected by both ways, and those that cannot be launched."""

    compared: int = 0
    both_failed: int = 0
    unlaunchable: int = 0
    different: int = 0

    def add(self, entry: Entry, target: Target, early: Outcome, full: Outcome) -> None:
        """Compares the outcomes of one variant; prints a difference."""
        if (isinstance(early, str) and isinstance(full, str)) or isinstance(full, str):
            self.both_failed += 1
        else:
            self.compared += 1
            self.unlaunchable += full[3] is not None
            if early != full:
                self.different += 1
                print(f"{entry.source} {target}: fits {early}, full compilation {full}")


def compare(found: list[Entry], processes: Processes) -> dict[str, Tally]:
    """Every entry for its own target, against what its full compilation has left in the cache."""
    tallies: dict[str, Tally] = collections.defaultdict(Tally)
    for number, entry in enumerate(found, 1):
        early, _ = processes.attempt(allocated, entry, entry.target)
        tallies[str(entry.target)].add(entry, entry.target, early, entry.use())
        if number % 200 == 0:
            print(f"{number:,} of {len(found):,} entries", file=sys.stderr)
    return tallies


def compare_for(found: list[Entry], arch: str, processes: Processes, tallies: dict[str, Tally]) -> None:
    """The entries for another target, compiled both ways."""
    target = Target("cuda", arch, 32)
    for entry in found:
        early, _ = processes.attempt(allocated, entry, target)
        full, _ = processes.attempt(compiled, entry, target)
        tallies[str(target)].add(entry, target, early, full)


def timed(found: list[Entry], processes: Processes) -> None:
    """Prints the CPU seconds of both ways."""
    seconds = [
        [processes.attempt(work, entry, entry.target)[1] for entry in found] for work in (allocated, compiled)
    ]
    ratios = sorted(early / full for early, full in zip(*seconds, strict=True) if full)
    total = sum(seconds[0]) / sum(seconds[1])
    print(
        f"CPU time of {len(found)} variants: fits {sum(seconds[0]):.1f} s, full {sum(seconds[1]):.1f} s, "
        f"ratio {total:.3f} (median {ratios[len(ratios) // 2]:.3f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares fits with the full compilation.")
    parser.add_argument("caches", nargs="+", type=Path, help="folders of Triton's cache")
    parser.add_argument("--targets", nargs="*", default=[], help="other compute capabilities, times ten")
    parser.add_argument("--sample", type=int, default=50, help="variants per other target")
    parser.add_argument("--time", type=int, default=0, help="variants to time")
    parser.add_argument("--most", type=int, help="check at most MOST entries, chosen at random")
    options = parser.parse_args()
    found = [entry for entry in entries(options.caches) if entry.target.backend == "cuda"]
    random.Random(0).shuffle(found)
    processes = Processes()
    if options.time:
        processes.attempt(compiled, found[0], found[0].target)  # loads Triton
        timed(found[: options.time], processes)
    tallies = compare(found[: options.most], processes)
    for arch in options.targets:
        others = [entry for entry in found if entry.target.arch != arch]
        compare_for(others[: options.sample], arch, processes, tallies)
    processes.close()
    for target, tally in sorted(tallies.items()):
        print(
            f"{target}: {tally.compared:,} variants compared, {tally.different:,} different, "
            f"{tally.unlaunchable:,} cannot be launched; {tally.both_failed:,} do not compile"
        )


if __name__ == "__main__":
    main()
