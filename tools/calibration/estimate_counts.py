"""Compares irscope's counts of launches with the counters of Nsight Compute: error by count and by kernel.

    python -m tools.calibration.estimate_counts CAPTURE... [--counters FILE] [--each]

The captures have the configs that were profiled, with their launches (tune/launches.py).
Instructions of PTX that the assembler drops, merges or splits are not errors of the interpretation; sectors
and wavefronts are the same in both. The wavefronts that the hardware repeats include those that lose against
another unit (async copies, wgmma), so that a count between the wavefronts without and with repetitions is
correct. Bytes that are evicted from the L2 cache and read again are not errors either.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import irscope
from irscope.estimating.counting.counts import LaunchCounts, count_launch
from irscope.model import Variant
from tools.calibration.tune.spaces import read_lines

COUNTERS = Path(__file__).parent / "tune" / "counters.jsonl.gz"


def _warps(space: str, name: str, prefix: str) -> Callable[[LaunchCounts], float]:
    def count(counts: LaunchCounts) -> float:
        return sum(
            one.warps
            for one in counts.accesses
            if one.space == space and one.name == name and one.opcode.startswith(prefix)
        )

    return count


_COPIES = _warps("global", "copy", "cp.async")

# By name: the metrics whose sum is the truth, and irscope's count per program.
COUNTS: Mapping[str, tuple[tuple[str, ...], Callable[[LaunchCounts], float]]] = {
    "sectors read": (
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
        lambda counts: counts.sectors("load", "copy"),
    ),
    "sectors written": (
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
        lambda counts: counts.sectors("store"),
    ),
    "sectors of atomics": (
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",),
        lambda counts: counts.sectors("atomic"),
    ),
    "wavefronts of shared loads": (
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",),
        lambda counts: counts.wavefronts("load"),
    ),
    "wavefronts of shared stores": (
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",),
        lambda counts: counts.wavefronts("store"),
    ),
    "wavefronts of cp.async": (
        ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",),
        lambda counts: counts.wavefronts("copy"),
    ),
    "global loads": (("smsp__sass_inst_executed_op_global_ld.sum",), _warps("global", "load", "ld")),
    "global stores": (("smsp__sass_inst_executed_op_global_st.sum",), _warps("global", "store", "st")),
    "cp.async": (("smsp__inst_executed_op_ldgsts.sum",), _COPIES),
    "ldmatrix": (("smsp__inst_executed_op_ldsm.sum",), _warps("shared", "load", "ldmatrix")),
    "stmatrix": (("smsp__inst_executed_op_shared_stsm.sum",), _warps("shared", "store", "stmatrix")),
    "shared loads": (("smsp__sass_inst_executed_op_shared_ld.sum",), _warps("shared", "load", "ld.")),
    "shared stores": (("smsp__sass_inst_executed_op_shared_st.sum",), _warps("shared", "store", "st.")),
    "TMA loads": (
        ("smsp__sass_inst_executed_op_tma_ld.sum",),
        lambda counts: sum(copy.copies for copy in counts.copies if not copy.stores),
    ),
    "TMA stores": (
        ("smsp__sass_inst_executed_op_tma_st.sum",),
        lambda counts: sum(copy.copies for copy in counts.copies if copy.stores),
    ),
    "bytes read from DRAM": (
        ("dram__bytes_read.sum",),
        lambda counts: (
            sum(one.unique_bytes(counts.programs) for one in counts.traffic if one.direction == "read")
            / counts.programs
        ),
    ),
    "all instructions": (("smsp__inst_executed.sum",), lambda counts: counts.total_instructions),
}


_Key = tuple[str, tuple[tuple[str, str], ...]]


# Part of what these count is not the program's own.
_REPEATED = {
    "wavefronts of shared loads": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "wavefronts of shared stores": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}


def _key(kernel: str, config: Mapping[str, Any]) -> _Key:
    """A config by name: 3 stages if it does not say. `attention_64` is a space of the kernel `attention`."""
    return re.sub(r"_\d+$", "", kernel), tuple(
        sorted((name, str(value)) for name, value in {"num_stages": 3, **config}.items())
    )


def _variants(paths: list[Path]) -> Iterator[tuple[Variant, str]]:
    for path in paths:
        with irscope.open(path) as capture:
            for variant in capture.variants:
                if variant.launches and "ptx" in variant.artifacts:
                    yield variant, capture.text(variant, "ptx") or ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares counts of launches with Nsight Compute's.")
    parser.add_argument("captures", nargs="+", type=Path)
    parser.add_argument("--counters", type=Path, default=COUNTERS)
    parser.add_argument("--each", action="store_true", help="print each launch with an error over 5 %%")
    parser.add_argument("--kernel", help="only this kernel")
    options = parser.parse_args()
    truth = {_key(line["kernel"], line["config"]): line["metrics"] for line in read_lines(options.counters)}
    errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    first, again = [], []
    for variant, ptx in _variants(options.captures):
        if options.kernel not in (None, variant.kernel.name):
            continue
        # The first launch is at the shape that was profiled.
        metrics = truth.pop(_key(variant.kernel.name, dict(variant.config.values)), None)
        if metrics is None:
            continue
        start = process_time()
        counts = count_launch(variant, variant.launches[0], ptx)
        first.append(process_time() - start)
        start = process_time()
        count_launch(variant, variant.launches[0], ptx)
        again.append(process_time() - start)
        if counts.unknown:
            print(f"{variant.kernel.name} {variant.config}: {'; '.join(counts.unknown)}")
        for name, (names, count) in COUNTS.items():
            real = sum(metrics.get(metric, 0.0) for metric in names)
            found = count(counts) * counts.programs
            if not real and not found:
                continue
            least = real - metrics.get(_REPEATED.get(name, ""), 0.0)
            error = max(0.0, found - real, least - found) / max(real, found)
            errors[name][variant.kernel.name].append(error)
            if options.each and error > 0.05:
                print(f"{variant.kernel.name} {variant.config}: {name}: {found:,.0f}, measured {real:,.0f}")
    _print(errors)
    for text, times in (("first launch of a variant", first), ("further launches", again)):
        if times:
            print(f"{text}: median {statistics.median(times):.3f} s, largest {max(times):.3f} s")


def _print(errors: Mapping[str, Mapping[str, list[float]]]) -> None:
    print(
        f"{'count':<28} {'launches':>8} {'median error':>12} {'within 5 %':>10}   kernels with other counts"
    )
    for name, by_kernel in errors.items():
        everything = [error for own in by_kernel.values() for error in own]
        within = sum(error <= 0.05 for error in everything) / len(everything)
        worse = {
            kernel: f"{kernel} {sum(error <= 0.05 for error in own)}/{len(own)}"
            for kernel, own in by_kernel.items()
            if max(own) > 0.05
        }
        median = statistics.median(everything)
        print(
            f"{name:<28} {len(everything):>8} {median:>12.1%} {within:>10.0%}   {', '.join(worse.values())}"
        )


if __name__ == "__main__":
    main()
