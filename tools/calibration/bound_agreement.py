"""Compares the bound that irscope names with the one that Nsight Compute measured, variant by variant.

    python -m tools.calibration.bound_agreement CAPTURE... [--only KERNEL...]

The captures have the variants of `tune/`. `tune/counters.jsonl.gz` contains what Nsight Compute measured for
six configs of each kernel, and `tune/launches.jsonl.gz` how they were launched.

Nsight Compute's own rule (sections/SpeedOfLight.py): the unit with the highest share of its peak ("speed of
light") is the bottleneck if that is 60 % or more; units within 10 points of it are balanced with it. If all
are below 60 %, the kernel is latency bound, and the longest stall says what the warps wait for. irscope
agrees if its bound is the bottleneck or balanced with it, where

- `latency`, `tail` and `program launches` are Nsight Compute's latency bound: no unit is busy;
- `instruction fetch` is a latency bound whose longest stall is `no_instruction`;
- `spills` is confirmed if most requests to L1 are to local memory, whichever unit these keep busy;
- `atomics` is confirmed if L2 is the bottleneck and most of its requests are atomics.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irscope.model import Launch, UserError, Variant
from irscope.workspace import Estimate, Workspace
from tools.calibration.tune.spaces import read_lines

FOLDER = Path(__file__).parent / "tune"
LATENCY_BELOW, BALANCED_WITHIN = 60.0, 10.0
LATENCY = "latency"
# Bounds of irscope that leave every unit idle.
IDLE = (LATENCY, "tail", "program launches")
_PEAK = "avg.pct_of_peak_sustained_elapsed"
# The metrics of each unit in Nsight Compute's speed-of-light breakdown, by irscope's name of the bound.
UNITS: Mapping[str, Sequence[str]] = {
    "memory": ("gpu__dram_throughput", "dram__cycles_active"),
    "L2": ("lts__throughput", "lts__t_sectors", "lts__d_sectors", "lts__lts2xbar_cycles_active"),
    "shared memory": (
        "l1tex__data_pipe_lsu_wavefronts",
        "l1tex__data_bank_reads",
        "l1tex__data_bank_writes",
        "l1tex__lsu_writeback_active",
        "l1tex__lsuin_requests",
    ),
    "stores": ("l1tex__m_l1tex2xbar_req_cycles_active", "lts__xbar2lts_cycles_active"),
    "tensor cores": ("sm__pipe_tensor_cycles_active", "sm__pipe_shared_cycles_active"),
    "special functions": ("sm__inst_executed_pipe_xu",),
    "issue": (
        "sm__issue_active",
        "sm__inst_executed_pipe_lsu",
        "sm__pipe_alu_cycles_active",
        "sm__pipe_fma_cycles_active",
        "sm__pipe_fmaheavy_cycles_active",
        "sm__inst_executed_pipe_uniform",
        "sm__inst_executed_pipe_adu",
    ),
}
_STALL = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio")
_NOT_WAITING = ("selected", "not_selected")


@dataclass(frozen=True)
class Measured:
    """Nsight Compute's results: each unit's share of its peak in percent, and the longest stall.

    `local` and `atomics` are the shares of L1's requests to local memory, and of L2's that are atomics.
    """

    shares: Mapping[str, float]
    stall: str
    local: float
    atomics: float

    @property
    def ordered(self) -> Sequence[tuple[str, float]]:
        """The units, the busiest first."""
        return sorted(self.shares.items(), key=lambda item: -item[1])

    @property
    def bounds(self) -> Sequence[str]:
        """The bottleneck and what is balanced with it; latency if no unit is busy."""
        (_, most), *_ = self.ordered
        if most < LATENCY_BELOW:
            return (LATENCY,)
        return tuple(unit for unit, share in self.ordered if share >= most - BALANCED_WITHIN)

    def text(self) -> str:
        """`memory 71%, L2 64%`, or `latency (long_scoreboard), memory 43%`."""
        shown = ", ".join(f"{unit} {share:.0f}%" for unit, share in self.ordered[:2])
        return f"latency ({self.stall}), {shown}" if self.bounds == (LATENCY,) else shown


@dataclass(frozen=True)
class Compared:
    """One variant at one shape."""

    kernel: str
    shape: Sequence[int]
    config: str
    estimate: Estimate
    microseconds: float
    measured: Measured

    @property
    def agrees(self) -> bool:
        """Whether irscope's bound is one of those that were measured."""
        own, measured = self.estimate.bound, self.measured
        match own:
            case "spills":
                return measured.local > 0.5
            case "atomics":
                return "L2" in measured.bounds and measured.atomics > 0.5
            case "instruction fetch":
                return measured.bounds == (LATENCY,) and measured.stall == "no_instruction"
        return (LATENCY if own in IDLE else own) in measured.bounds


def measured_of(metrics: Mapping[str, float]) -> Measured:
    """The units and the longest stall in the metrics of one launch."""
    shares = {
        unit: max((metrics.get(f"{name}.{_PEAK}", 0.0) for name in names), default=0.0)
        for unit, names in UNITS.items()
    }
    before, after = _STALL
    stalls = {
        name.removeprefix(before).removesuffix(after): value
        for name, value in metrics.items()
        if name.startswith(before) and name.endswith(after)
    }
    waiting = {name: value for name, value in stalls.items() if name not in _NOT_WAITING}
    stall = max(waiting, key=lambda name: waiting[name], default="unknown")
    lsu = "l1tex__t_requests_pipe_lsu_mem_"
    local, other = (_sum(metrics, f"{lsu}{space}") for space in ("local", "global"))
    atomic = _sum(metrics, "lts__t_requests_srcunit_tex_op_red", "lts__t_requests_srcunit_tex_op_atom")
    requests = metrics.get("lts__t_requests_srcunit_tex.sum", 0.0)
    return Measured(shares, stall, local / max(local + other, 1), atomic / max(requests, 1))


def _sum(metrics: Mapping[str, float], *starts: str) -> float:
    """The sum of the counters whose names begin so."""
    ends = (".sum", "_ld.sum", "_st.sum", "_red.sum", "_atom.sum")
    return sum(metrics.get(f"{start}{end}", 0.0) for start in starts for end in ends)


def key_of(line: Mapping[str, Any]) -> str:
    """Identifies a config of a kernel at a shape."""
    return json.dumps([line["kernel"], list(line["shape"]), sorted(line["config"].items())])


def config_key(function: str, config: Mapping[str, Any]) -> str:
    """Identifies a variant by its function and config; options have their defaults."""
    options = {"num_warps": 4, "num_stages": 3}
    return json.dumps([function, sorted((options | dict(config)).items())])


def compared(captures: Sequence[Path]) -> Iterator[Compared]:
    """Every variant that was measured and is in a capture."""
    launches = {key_of(line): line for line in read_lines(FOLDER / "launches.jsonl.gz")}
    variants: dict[str, tuple[Workspace, Variant]] = {}
    for path in captures:
        workspace = Workspace(path)
        for variant in workspace.variants:
            config = dict(variant.config.values)
            variants.setdefault(config_key(variant.kernel.name, config), (workspace, variant))
    for line in read_lines(FOLDER / "counters.jsonl.gz"):
        launched = launches.get(key_of(line))
        found = launched and variants.get(config_key(launched["function"], line["config"]))
        if not launched or not found:
            continue
        workspace, variant = found
        grid = (*launched["grid"], 1, 1)[:3]
        launch = Launch(grid, tuple((name, text) for name, text in launched["arguments"]))
        try:
            estimate = workspace.estimates.of(variant, launch)
        except UserError as error:
            print(f"{line['kernel']}: {error}")
            continue
        config_text = ",".join(f"{name}={value}" for name, value in line["config"].items())
        measured = measured_of(line["metrics"])
        yield Compared(line["kernel"], line["shape"], config_text, estimate, line["ms"] * 1e3, measured)
    for workspace in {id(w): w for w, _ in variants.values()}.values():
        workspace.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("capture", nargs="+", type=Path)
    parser.add_argument("--only", nargs="+", help="only these kernels")
    options = parser.parse_args()
    kernels: dict[str, list[Compared]] = defaultdict(list)
    confusion: Counter[tuple[str, str]] = Counter()
    for one in compared(options.capture):
        if options.only and one.kernel not in options.only:
            continue
        kernels[one.kernel].append(one)
        confusion[one.estimate.bound, one.measured.bounds[0]] += 1
        mark = "=" if one.agrees else "!"
        time = f"{one.estimate.microseconds:7.1f} us (measured {one.microseconds:7.1f})"
        print(f"{mark} {one.kernel:19} {one.config:58} {time}  {one.estimate.bound:17} {one.measured.text()}")
    every = [one for own in kernels.values() for one in own]
    agreed = sum(one.agrees for one in every)
    whole = sum(all(one.agrees for one in own) for own in kernels.values())
    print(f"\n{agreed} of {len(every)} variants of {len(kernels)} kernels agree; all of {whole} kernels")
    print("irscope / Nsight Compute: variants")
    for (own, other), number in confusion.most_common():
        print(f"  {own:17} / {other:17} {number}")


if __name__ == "__main__":
    main()
