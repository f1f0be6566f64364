"""Measures how good irscope's ranking of configs is, against the measured times of every config.

    python -m tools.calibration.pick_quality CAPTURE... --measured tools/calibration/tune/h100.jsonl.gz
        [--launches tools/calibration/tune/launches.jsonl.gz] [--only KERNEL...] [--json FILE]

A space is one kernel at one shape, with all configs that could be launched. Of the k configs that a ranking
puts first, a user takes the fastest by `ms`; the efficiency is the space's best `ms_again` divided by that
config's `ms_again`. k is 1 with nothing measured, else the given part of the space, rounded, at least 1.
Figures are geometric means over spaces. Next to irscope's ranking: a random order (mean over 200 orders) and
an order by facts only (spilled bytes, then occupancy). The last lines judge the confidence: which of the
spaces that lose more than 5 % with a tenth measured are called unsure, and what `top="auto"` measures.

A capture has the first launch of a variant. `--launches` has the launches at other shapes, as
`tools/calibration/tune/launches.py --list` writes them; without it, only spaces in the captures are judged.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from irscope.estimating.constants import DEVICES, DeviceRates
from irscope.estimating.estimate import estimate
from irscope.estimating.ranking import UNSURE, Ranking, doubts, enough_measured, expected_losses, rank
from irscope.facts.fact import ReadStage
from irscope.model import Launch, UserError, Variant
from irscope.workspace import Workspace
from tools.calibration.tune.spaces import read_lines

SHARES = (0.0, 0.1, 0.2)
_DEFAULTS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}


@dataclass(frozen=True)
class Timed:
    """One config at one shape: the variant, its launch, and the measured times in ms."""

    workspace: Workspace
    variant: Variant
    launch: Launch
    ms: float
    ms_again: float


Spaces = Mapping[tuple[str, tuple[int, ...]], Sequence[Timed]]


@dataclass(frozen=True)
class Quality:
    """The efficiency of a ranking with each share measured, and its rank correlation with the times."""

    efficiency: tuple[float, ...]
    correlation: float = math.nan


def number_measured(share: float, configs: int) -> int:
    """How many configs a share is."""
    return max(1, round(share * configs))


def quality(order: Sequence[Timed], estimates: Sequence[float] = ()) -> Quality:
    """The quality of an order; `estimates` belong to it, in any unit."""
    found = tuple(efficiency(order, number_measured(share, len(order))) for share in SHARES)
    correlation = spearman(estimates, [own.ms for own in order]) if estimates else math.nan
    return Quality(found, correlation)


def efficiency(order: Sequence[Timed], count: int) -> float:
    """The efficiency of a user who measures the first `count` configs."""
    chosen = min(order[:count], key=lambda own: own.ms)
    return min(own.ms_again for own in order) / chosen.ms_again


def random_quality(timed: Sequence[Timed], orders: int = 200) -> Quality:
    """The mean quality of random orders."""
    draw = random.Random(0)
    found = [quality(draw.sample(list(timed), len(timed))).efficiency for _ in range(orders)]
    return Quality(tuple(fmean(column) for column in zip(*found, strict=True)))


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation; ties have their mean rank."""
    return _pearson(_ranks(a), _ranks(b))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for at in order[start:end]:
            ranks[at] = (start + end - 1) / 2
        start = end
    return ranks


def _pearson(a: Sequence[float], b: Sequence[float]) -> float:
    mean_a, mean_b = fmean(a), fmean(b)
    product = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    scale = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return product / scale if scale else math.nan


def spaces(captures: Sequence[Path], measured: Iterable[Path], launches: Iterable[Path]) -> Spaces:
    """The measured spaces with the variants and launches of the captures."""
    found = _Captures([Workspace(path) for path in captures])
    listed = {_key(line): line for path in launches for line in read_lines(path)}
    by_space: dict[tuple[str, tuple[int, ...]], list[Timed]] = defaultdict(list)
    missing = 0
    for path in measured:
        for line in read_lines(path):
            if line.get("ms") is None or line.get("ms_again") is None:
                continue
            match = found.match(line, listed.get(_key(line)))
            if match is None:
                missing += 1
                continue
            by_space[line["kernel"], tuple(line["shape"])].append(Timed(*match, line["ms"], line["ms_again"]))
    if missing:
        print(f"{missing:,} measurements have no launch in the captures and in --launches")
    return {space: own for space, own in by_space.items() if len(own) > 1}


def _key(line: Mapping[str, Any]) -> tuple[str, str, str]:
    return line["kernel"], str(line["shape"]), json.dumps(line["config"], sort_keys=True)


class _Captures:
    """The variants of captures by kernel and config."""

    def __init__(self, workspaces: Sequence[Workspace]) -> None:
        self._found: dict[tuple[str, str], list[tuple[Workspace, Variant]]] = defaultdict(list)
        for workspace in workspaces:
            for variant in workspace.variants:
                key = variant.kernel.name, _config_key(dict(variant.config.values))
                self._found[key].append((workspace, variant))

    def match(
        self, line: Mapping[str, Any], listed: Mapping[str, Any] | None
    ) -> tuple[Workspace, Variant, Launch] | None:
        name = listed["function"] if listed else line["kernel"]
        for workspace, variant in self._found.get((name, _config_key(line["config"])), ()):
            if listed:
                grid = (*listed["grid"], 1, 1)[:3]
                launch = Launch(grid, tuple((name, text) for name, text in listed["arguments"]))
                if _fits(variant, launch):
                    return workspace, variant, launch
            for launch in variant.launches:
                if not listed and _is_of(launch, line):
                    return workspace, variant, launch
        return None


def _is_of(launch: Launch, line: Mapping[str, Any]) -> bool:
    """Whether a recorded launch is the measured one: its grid and, with lists of integers, its sizes."""
    numbers = {int(text) for _, argument in launch.arguments for text in re.findall(r"\b\d+\b", argument)}
    return tuple(launch.grid) == (*line["grid"], 1, 1)[:3] and (
        numbers >= {*line["shape"]} or not launch.values
    )


def _config_key(config: Mapping[str, Any]) -> str:
    return json.dumps({k: str(v) for k, v in (_DEFAULTS | dict(config)).items()}, sort_keys=True)


def _fits(variant: Variant, launch: Launch) -> bool:
    """Whether Triton would launch this variant: the specialization of the integers is the same."""
    given = dict(launch.arguments)
    for argument in variant.specialization:
        text = given.get(argument.name, "")
        if not text.lstrip("-").isdecimal():
            continue
        divisible = int(text) % 16 == 0
        if argument.type == "constexpr" and argument.value != int(text):
            return False
        if argument.type != "constexpr" and argument.key is not None and divisible != ("D" in argument.key):
            return False
    return True


def read_of(timed: Timed) -> ReadStage:
    """Reads the stages of a variant, SASS included."""
    return partial(timed.workspace.contents.find, timed.variant)


def rank_space(timed: Sequence[Timed], device: DeviceRates | None = None) -> tuple[Ranking, list[float]]:
    """Irscope's ranking of a space, and the seconds that each estimate took."""
    by_id = {own.variant.id: own for own in timed}
    seconds, estimates = [], {}
    for own in timed:
        start = time.process_time()
        try:
            estimates[own.variant.id] = estimate(own.variant, own.launch, read_of(own), device)
        except UserError as error:
            print(f"#{own.variant.id} {own.variant.kernel.name}: {error}")
        seconds.append(time.process_time() - start)
    ranking = rank(
        [own.variant for own in timed],
        {own.variant.id: own.launch for own in timed},
        lambda variant: read_of(by_id[variant.id]),
        estimates=estimates,
    )
    return ranking, seconds


def order_of(ranking: Ranking, timed: Sequence[Timed]) -> tuple[list[Timed], list[float]]:
    """The measurements in the order of a ranking, and their estimates (infinite if there is none)."""
    by_id = {own.variant.id: own for own in timed}
    order = [by_id[own.variant.id] for own in ranking.ranked]
    return order, [own.estimate.microseconds if own.estimate else math.inf for own in ranking.ranked]


@dataclass(frozen=True)
class Confidence:
    """What irscope says of a ranking, and what was measured.

    `expected` and `loss`: by how much the best of the first tenth is slower than the best. `enough` is the
    share that `top="auto"` measures, `reached` the efficiency of the best of that.
    """

    expected: float
    loss: float
    enough: float
    reached: float


def confidence(ranking: Ranking, timed: Sequence[Timed]) -> Confidence:
    """The confidence of a ranking, as `irscope pick` and `irscope.prune` compute it."""
    first = [own for own in ranking.ranked if own.rejected is None and own.estimate]
    times = [own.estimate.microseconds for own in first if own.estimate]
    settings = [own.variant.settings for own in first]
    fastest = min((own.estimate for own in first if own.estimate), key=lambda own: own.microseconds)
    error = max(doubts(fastest).values(), default=1.0)
    tenth = number_measured(0.1, len(timed))
    order, _ = order_of(ranking, timed)
    enough = min(len(times), enough_measured(times, settings, error))
    expected = expected_losses(times, settings, error)[min(tenth, len(times)) - 1]
    return Confidence(
        expected, 1 / efficiency(order, tenth) - 1, enough / len(timed), efficiency(order, enough)
    )


def confidence_report(found: Sequence[Confidence]) -> Iterator[str]:
    """How often irscope is unsure, and of the spaces that lose most; then what it measures by itself."""
    unsure = [own for own in found if own.expected >= UNSURE]
    bad = [own for own in found if own.loss > UNSURE]
    both = sum(own.loss > UNSURE for own in unsure)
    lost = f"{both} of {len(bad)} that lose more than {UNSURE:.0%}"
    yield f"unsure: {len(unsure)} of {len(found)} spaces, {lost}"
    reached = math.exp(fmean(math.log(own.reached) for own in found))
    worst = min(own.reached for own in found)
    yield f'top="auto": {fmean(own.enough for own in found):.1%} measured, {reached:.4f}, worst {worst:.3f}'


def by_facts(timed: Sequence[Timed]) -> list[Timed]:
    """The order by today's facts only: the fewest spilled bytes, then the highest occupancy."""

    def key(own: Timed) -> tuple[float, float]:
        facts = own.workspace.facts(own.variant)
        spills = [facts[name].value for name in ("spills", "stack", "local") if name in facts]
        resident = facts["occupancy"].value if "occupancy" in facts else 0
        return float(next((s for s in spills if isinstance(s, int | float)), 0)), -float(str(resident or 0))

    return sorted(timed, key=key)


Method = Callable[[Sequence[Timed]], Quality]


def report(found: Mapping[str, Mapping[Any, Quality]], spread: Mapping[Any, float]) -> Iterator[str]:
    """The summary: one line per ranking."""
    yield (
        f"{'ranking':<28}"
        + "".join(f"{share:>8.0%}" for share in SHARES)
        + f"{'worst 10%':>11}{'rank corr.':>12}"
    )
    for name, by_space in found.items():
        rows = list(by_space.values())
        means = [math.exp(fmean(math.log(row.efficiency[at]) for row in rows)) for at in range(len(SHARES))]
        wide = [own.correlation for key, own in by_space.items() if spread[key] >= 1.5]
        correlation = f"{fmean(wide):.3f}" if wide and not math.isnan(wide[0]) else ""
        worst = min(row.efficiency[1] for row in rows)
        yield f"{name:<28}" + "".join(f"{mean:>8.3f}" for mean in means) + f"{worst:>11.3f}{correlation:>12}"


def table(by_space: Mapping[Any, Quality], judged: Spaces, spread: Mapping[Any, float]) -> Iterator[str]:
    """One line per space."""
    yield (
        f"{'space':<52}{'configs':>8}{'spread':>8}"
        + "".join(f"{s:>7.0%}" for s in SHARES)
        + f"{'rank corr.':>12}"
    )
    for key, own in by_space.items():
        name = f"{key[0]} {'x'.join(map(str, key[1]))}"
        rates = "".join(f"{value:>7.3f}" for value in own.efficiency)
        yield f"{name:<52}{len(judged[key]):>8}{spread[key]:>8.1f}{rates}{own.correlation:>12.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures how good irscope's ranking of configs is.")
    parser.add_argument("captures", nargs="+", type=Path)
    parser.add_argument(
        "--measured", nargs="+", type=Path, required=True, help="files of tools/calibration/tune/measure.py"
    )
    parser.add_argument("--launches", nargs="*", type=Path, default=[], help="files of launches.py --list")
    parser.add_argument("--only", nargs="+", help="these kernels only")
    parser.add_argument("--device", default="H100", choices=list(DEVICES), help="what it was measured on")
    parser.add_argument("--json", type=Path, help="write the figures of each space to this file")
    options = parser.parse_args()
    judged = {
        key: own
        for key, own in spaces(options.captures, options.measured, options.launches).items()
        if not options.only or key[0] in options.only
    }
    seconds: list[float] = []
    own: dict[Any, Quality] = {}
    sure: list[Confidence] = []
    for key, timed in judged.items():
        ranking, taken = rank_space(timed, DEVICES[options.device])
        own[key] = quality(*order_of(ranking, timed))
        sure.append(confidence(ranking, timed))
        seconds += taken
    spread = {key: max(t.ms for t in timed) / min(t.ms for t in timed) for key, timed in judged.items()}
    found = {
        "irscope": own,
        "facts only": {key: quality(by_facts(timed)) for key, timed in judged.items()},
        "random": {key: random_quality(timed) for key, timed in judged.items()},
    }
    print("\n".join(table(own, judged, spread)))
    print(f"\n{len(judged)} spaces, {sum(map(len, judged.values())):,} configs")
    print("\n".join(report(found, spread)))
    low = [key for key, one in own.items() if spread[key] >= 1.5 and one.correlation < 0.8]
    print(
        f"rank correlation under 0.8: {len(low)} of {sum(value >= 1.5 for value in spread.values())} spaces"
    )
    print("\n".join(confidence_report(sure)))
    seconds.sort()
    median, most = seconds[len(seconds) // 2], seconds[len(seconds) * 99 // 100]
    print(f"time per estimate: median {median:.3f} s, 99 % {most:.3f} s of CPU")
    if options.json:
        lines = [
            {"kernel": k[0], "shape": k[1], "efficiency": q.efficiency, "correlation": q.correlation}
            for k, q in own.items()
        ]
        options.json.write_text(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
