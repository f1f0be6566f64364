"""Compares irscope's ranking of a fused MoE product with the configs that vLLM's users measured as fastest.

  python -m benchmarks.vllm_choices FOLDER [--sizes 1,64,1024] [--only "H200 8"] [--sample 48] [--jobs 2]

Each line of vllm_choices.txt is a file that vLLM ships. For each of its numbers of tokens, the space is a
sample of the configs that vLLM's own tuning tries, and vLLM's choice. irscope adds the estimates of the two
products of a layer, as vLLM uses one config for both, and ranks configs by the sum. Prints, by device, how
often vLLM's choice is among the first tenth, and how often it costs at most 5 % more than the first, by
estimate. Nothing is measured, so this says whether both agree, not which is faster. With --measure, which
needs such a GPU and torch, it also launches both choices with the same routing and prints, as
vLLM's time over that of irscope's first, the speed that irscope's choice reaches.

FOLDER keeps the captures, one per target and type, and what was estimated: running it again is fast. Delete
FOLDER to compile again.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks.processes import compile_file
from irscope.estimating.constants import DEVICES, DeviceRates
from irscope.model import UserError
from irscope.model.integer_values import made_integers
from irscope.model.records import grouped
from irscope.workspace import Pick, Workspace
from irscope.workspace.picking import picks
from irscope.workspace.tuned_configs import VLLM

DATA = Path(__file__).with_suffix(".txt")
NAMES = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
AMD_NAMES = ("waves_per_eu", "matrix_instr_nonkdim", "kpack")
# What vLLM's benchmarks/kernels/benchmark_moe.py tries, in the order of NAMES.
CUDA_SPACE = (
    (16, 32, 64, 128, 256),
    (32, 64, 128, 256),
    (64, 128, 256),
    (1, 16, 32, 64),
    (4, 8),
    (2, 3, 4, 5),
)
AMD_SPACE = (
    *(
        (16, 32, 64, 128, 256),
        (16, 32, 64, 128, 256),
        (32, 64, 128, 256),
        (1, 4, 8, 16, 32),
        (1, 2, 4, 8),
        (2,),
    ),
    *((0,), (16,), (1, 2)),
)
SIGNATURES = {
    "-": "*bf16:16, *bf16:16, *bf16:16, ",
    "fp8_w8a8": "*fp8e4nv:16, *fp8e4nv:16, *bf16:16, ",
    "int8_w8a16": "*bf16:16, *i8:16, *bf16:16, ",
}
REST = (
    "*fp32:16, *fp32:16, *i32:16, *i32:16, *i32:16, i32:16, i32:16, i32:16, i32, i32, i32:16, i32:16, "
    "i32:16, i32:16"
)
SEED = 36
KERNEL = '''
import triton
import triton.language as tl

CONFIGS = [{configs}]


@triton.autotune(CONFIGS, key=["N", "K", "EM"])
@triton.jit
def fused_moe(
    a, b, c, a_scale, b_scale, slots, experts, padded, N, K, EM, valid, top, stride_am, stride_be, stride_bn,
    stride_cm, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """Row `slot` of c is row `slot // top` of a times the weights, N x K, of the slot's expert."""
    tile = tl.program_id(0)
    rows, columns = tl.cdiv(EM, BLOCK_SIZE_M), tl.cdiv(N, BLOCK_SIZE_N)
    group = tile // (GROUP_SIZE_M * columns)
    height = min(rows - group * GROUP_SIZE_M, GROUP_SIZE_M)
    within = tile % (GROUP_SIZE_M * columns)
    row = group * GROUP_SIZE_M + within % height
    column = within // height
    if row * BLOCK_SIZE_M >= tl.load(padded):
        return
    slot = tl.load(slots + row * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)).to(tl.int64)
    used = (slot < valid)[:, None]
    expert = tl.load(experts + row).to(tl.int64)
    n = column * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    k = tl.arange(0, BLOCK_SIZE_K)
    pa = a + (slot // top)[:, None] * stride_am + k[None, :]
    pb = b + expert * stride_be + (n % N).to(tl.int64)[None, :] * stride_bn + k[:, None]
    acc = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        inside = k < K - step * BLOCK_SIZE_K
        x = tl.load(pa, mask=used & inside[None, :], other=0.0)
        y = tl.load(pb, mask=inside[:, None], other=0.0)
        acc = tl.dot(x, y.to(x.dtype), acc)
        pa += BLOCK_SIZE_K
        pb += BLOCK_SIZE_K
    if a.dtype.element_ty.primitive_bitwidth == 8:
        acc *= tl.load(a_scale) * tl.load(b_scale + expert)
    elif b.dtype.element_ty.primitive_bitwidth == 8:
        acc *= tl.load(b_scale + expert * N + n % N)[None, :]
    at = c + slot[:, None] * stride_cm + n[None, :]
    tl.store(at, acc.to(c.dtype.element_ty), mask=used & (n < N)[None, :])
'''
Values = tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """What vLLM has for a number of tokens of a file: the values of its config, in the order of NAMES."""

    tokens: int
    values: Values


@dataclass(frozen=True)
class TunedFile:
    """A file of vLLM; `hidden` and `top` are those of the model."""

    device: str
    rates: DeviceRates
    experts: int
    columns: int
    dtype: str
    hidden: int
    top: int
    choices: tuple[Choice, ...]

    @property
    def name(self) -> str:
        """Return the text that identifies the file."""
        return f"{self.device} {self.experts} {self.columns} {self.dtype}"


@dataclass(frozen=True)
class Verdict:
    """How vLLM's choice does by estimate: its rank from 1 among `count`, and its time over the first's.

    None: irscope says that it cannot be launched, or does not estimate it. `speed` is its time over that of
    the first as the GPU measured them, None without --measure.
    """

    file: TunedFile
    tokens: int
    rank: int | None
    count: int
    cost: float | None
    speed: float | None = None

    @property
    def first_tenth(self) -> bool:
        """Return True if vLLM's choice is among the first 10 % (rounded up)."""
        return self.rank is not None and self.rank <= math.ceil(self.count / 10)

    @property
    def close(self) -> bool:
        """Return True if it costs at most 5 % more than the first."""
        return self.cost is not None and self.cost <= 1.05


def read_files() -> list[TunedFile]:
    """Return the files of vllm_choices.txt."""
    names = {
        VLLM.devices.get(rates.name, rates.driver_name).replace(" ", "_"): rates for rates in DEVICES.values()
    }
    files = []
    for line in DATA.read_text().splitlines():
        if line.startswith("#"):
            continue
        device, experts, columns, dtype, _, hidden, top, *entries = line.split()
        choices = []
        for entry in entries:
            tokens, _, values = entry.partition(":")
            choices.append(Choice(int(tokens), tuple(map(int, values.split("/")))))
        sizes = (int(experts), int(columns), dtype, int(hidden), int(top))
        files.append(TunedFile(device, names[device], *sizes, tuple(choices)))
    return files


def sample(target: str, count: int) -> list[Values]:
    """Return `count` configs of the space that vLLM's tuning tries on a target, always the same."""
    space = AMD_SPACE if target.startswith("hip") else CUDA_SPACE
    return random.Random(SEED).sample(list(product(*space)), count)


def config_code(values: Values) -> str:
    """Return the config as Python."""
    named = dict(zip((*NAMES, *AMD_NAMES), values, strict=False))
    options = {name: named.pop(name) for name in ("num_warps", "num_stages")}
    return f"triton.Config({named}, num_warps={options['num_warps']}, num_stages={options['num_stages']})"


def capture(folder: Path, target: str, dtype: str, configs: Sequence[Values], jobs: int) -> Path:
    """Compile the configs for a target, or return the capture that has them."""
    text = KERNEL.format(configs="\n    " + ",\n    ".join(map(config_code, configs)))
    identity = hashlib.sha256(f"{text}{REST}".encode()).hexdigest()[:10]
    name = f"{target.replace(':', '')}-{dtype.strip('-') or 'bf16'}-{identity}"
    path, source = folder / f"{name}.irscope", folder / f"{name}.py"
    if not path.exists():
        source.write_text(text)
        compile_file(source, target, SIGNATURES[dtype] + REST, jobs, path)
    return path


def launches(file: TunedFile, tokens: int) -> tuple[str, str]:
    """Return both products of a layer as launches, with experts that are chosen at random."""
    slots = tokens * file.top
    scales = f"[{file.experts}, N]" if file.dtype.startswith("int8") else f"[{file.experts}]"
    routed = f"({tokens}, {file.experts}, {file.top}, BLOCK_SIZE_M)"
    up = (2 * file.columns, file.hidden, file.top, tokens)
    down = (file.hidden, file.columns, 1, slots)
    first, second = (
        f"grid=(cdiv(len(slots), BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N),), N={n}, K={k}, EM=len(slots), "
        f"valid={slots}, top={top}, stride_am=K, stride_be=N * K, stride_bn=K, stride_cm=N, "
        f"a=[{height}, K], b=[{file.experts}, N, K], c=[{slots}, N], b_scale={scales}, a_scale=[1], "
        f"slots=moe_slots{routed}, experts=moe_experts{routed}, padded=moe_padded{routed}"
        for n, k, top, height in (up, down)
    )
    return first, second


def times(
    workspace: Workspace, file: TunedFile, tokens: int, device: str, wanted: set[Values]
) -> dict[Values, float]:
    """Return the sum of the estimates of both products for each config that can be launched."""
    parts = [
        estimates(picks(Selected(workspace, wanted), launches=[text], device=device))  # type: ignore[arg-type]
        for text in launches(file, tokens)
    ]
    return {values: parts[0][values] + parts[1][values] for values in parts[0].keys() & parts[1].keys()}


class Selected:
    """A workspace with only the variants of some configs."""

    def __init__(self, workspace: Workspace, configs: set[Values]) -> None:
        self._workspace, self._configs = workspace, configs

    def __getattr__(self, name: str) -> object:
        return getattr(self._workspace, name)

    def select(self, kernel: str | None = None, target: str | None = None) -> list[object]:
        """Return the variants of the configs."""
        variants = self._workspace.select(kernel, target)
        return [variant for variant in variants if values_of(variant.settings) in self._configs]


def values_of(settings: Mapping[str, object]) -> Values:
    """Return the values of a variant's config, in the order of NAMES."""
    return tuple(int(str(settings[name])) for name in (*NAMES, *AMD_NAMES) if name in settings)


def estimates(ranked: Sequence[Pick]) -> dict[Values, float]:
    """Return the estimate of each config that can be launched."""
    return {
        values_of(choice.variant.settings): choice.estimate.microseconds
        for pick in ranked
        for choice in pick.choices
        if choice.estimate and choice.reason not in ("cannot launch", "not compiled")
    }


def judge(file: TunedFile, choice: Choice, totals: Mapping[Values, float], kernel: Any | None) -> Verdict:
    """Compare one choice of vLLM with the ranking; if there is a kernel, also launch it and the first."""
    time = totals.get(choice.values)
    if time is None:
        return Verdict(file, choice.tokens, None, len(totals), None)
    rank = 1 + sum(other < time for other in totals.values())
    first = min(totals, key=totals.__getitem__)
    speed = None
    if kernel is not None:
        speed = 1.0
        if first != choice.values:
            theirs, ours = measured(kernel, file, choice.tokens, [choice.values, first])
            speed = theirs / ours
    return Verdict(file, choice.tokens, rank, len(totals), time / totals[first], speed)


def load_kernel(source: Path) -> Any:
    """Return the kernel of a file that `capture` wrote, without autotuning."""
    spec = importlib.util.spec_from_file_location(source.stem.replace("-", "_"), source)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.fused_moe.fn


def measured(kernel: Any, file: TunedFile, tokens: int, configs: Sequence[Values]) -> list[float]:
    """Return the ms of both products of a layer with each config, the least of two medians.

    The configs are measured one after the other and in both orders, after a round that does not count: the
    clock of a GPU that was idle is higher, so the first config would win.
    """
    from triton.testing import do_bench

    best = [math.inf] * len(configs)
    runs = [[launcher(kernel, file, tokens, values, up) for up in (True, False)] for values in configs]
    forward = range(len(configs))
    for number, order in enumerate((forward, forward, reversed(forward))):
        for index in order:
            time = sum(do_bench(run, warmup=5, rep=40, return_mode="median") for run in runs[index])
            if number:
                best[index] = min(best[index], time)
    return best


def launcher(kernel: Any, file: TunedFile, tokens: int, values: Values, up: bool) -> Callable[[], object]:
    """Return what launches one product of a layer with a config; see `launches`."""
    import torch

    slots = tokens * file.top
    n, k, top, height = (
        (2 * file.columns, file.hidden, file.top, tokens) if up else (file.hidden, file.columns, 1, slots)
    )
    options = dict(zip((*NAMES, *AMD_NAMES), values, strict=False))
    routed = [tokens, file.experts, file.top, options["BLOCK_SIZE_M"]]
    lists = [
        torch.tensor(made_integers(maker, routed), dtype=torch.int32, device="cuda")
        for maker in ("moe_slots", "moe_experts", "moe_padded")
    ]
    kinds = {
        "-": (torch.bfloat16, torch.bfloat16),
        "fp8_w8a8": (torch.float8_e4m3fn, torch.float8_e4m3fn),
        "int8_w8a16": (torch.bfloat16, torch.int8),
    }
    a, b = (
        torch.randn(shape, device="cuda", dtype=torch.bfloat16).to(kind)
        for shape, kind in zip(((height, k), (file.experts, n, k)), kinds[file.dtype], strict=True)
    )
    c = torch.empty((slots, n), device="cuda", dtype=torch.bfloat16)
    scales = [torch.ones(size, device="cuda") for size in (1, file.experts * n)]
    length = len(lists[0])
    grid = (-(-length // options["BLOCK_SIZE_M"]) * -(-n // options["BLOCK_SIZE_N"]),)
    arguments = (a, b, c, *scales, *lists, n, k, length, slots, top, k, n * k, k, n)
    return lambda: kernel[grid](*arguments, **options)


def verdicts(
    only: str, folder: Path, sizes: set[int], count: int, jobs: int, measure: bool = False
) -> Iterator[Verdict]:
    """Yield the verdict of each choice in the files whose names have the text `only`.

    A capture has the choices of all files of its target and type, so that each selection uses the same one.
    """
    for (target, dtype), all_files in grouped(
        read_files(), lambda file: (file.rates.target, file.dtype)
    ).items():
        members = [file for file in all_files if only in file.name]
        if not members:
            continue
        space = sample(target, count)
        chosen = [choice.values for file in all_files for choice in file.choices]
        path = capture(folder, target, dtype, list(dict.fromkeys([*space, *chosen])), jobs)
        kernel = load_kernel(path.with_suffix(".py")) if measure else None
        for file in members:
            device = next(name for name, rates in DEVICES.items() if rates is file.rates)
            with Workspace(path) as workspace:
                for choice in file.choices:
                    if sizes and choice.tokens not in sizes:
                        continue
                    wanted = {*space, choice.values}
                    try:
                        totals = times(workspace, file, choice.tokens, device, wanted)
                    except UserError as error:
                        print(f"{file.device}: {error}", file=sys.stderr)
                        break
                    verdict = judge(file, choice, totals, kernel)
                    place = f"rank {verdict.rank} of {verdict.count}, cost {verdict.cost}"
                    place += f", speed {verdict.speed:.3f}" if verdict.speed else ""
                    print(f"{file.name} M={choice.tokens}: {place}", file=sys.stderr, flush=True)
                    yield verdict


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", default="", help="only these numbers of tokens")
    parser.add_argument("--only", default="", help="only files whose 'DEVICE E N dtype' has this")
    parser.add_argument("--sample", type=int, default=48, help="configs of the space to rank (48)")
    parser.add_argument("--measure", action="store_true", help="launch both choices on this machine's GPU")
    parser.add_argument("--jobs", type=int, default=2, help="processes to compile with (2)")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    sizes = set(map(int, filter(None, args.sizes.split(","))))
    found = list(verdicts(args.only, args.folder, sizes, args.sample, args.jobs, args.measure))
    print(
        "| device | entries | among the first 10 % | at most 5 % more | either | median cost | not launched |"
    )
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for device, members in grouped(found, lambda verdict: verdict.file.device).items():
        costs = [verdict.cost for verdict in members if verdict.cost is not None]
        either = sum(verdict.first_tenth or verdict.close for verdict in members)
        row = (
            device,
            len(members),
            sum(verdict.first_tenth for verdict in members),
            sum(verdict.close for verdict in members),
            f"{either / len(members):.0%}",
            f"{median(costs):.2f}" if costs else "-",
            len(members) - len(costs),
        )
        print(f"| {' | '.join(map(str, row))} |")
        if speeds := [verdict.speed for verdict in members if verdict.speed]:
            speed = geometric_mean(speeds)
            print(f"{device}: irscope's first reaches {speed:.3f} of the speed of vLLM's choice")


if __name__ == "__main__":
    main()
