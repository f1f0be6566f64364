"""The order in which a sweep is compiled."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

from irscope.compiling.executor import _farthest, _farthest_of_many, informative_order, spread
from irscope.compiling.job import Job
from irscope.model import Config
from irscope.targets import parse_target


def _jobs(**axes: tuple[int, ...]) -> list[Job]:
    """The jobs of a product, those that differ only in num_stages in one group."""
    target, groups, jobs = parse_target("cuda:90"), dict[object, int](), []
    for values in product(*axes.values()):
        config = Config(tuple(zip(axes, values, strict=True)))
        rest = tuple(pair for pair in config.values if pair[0] != "num_stages")
        group = groups.setdefault(rest, len(groups))
        jobs.append(Job(Path("k.py"), "k", target, (), config, group))
    return jobs


def _values(jobs: list[Job]) -> list[tuple[object, ...]]:
    return [tuple(value for _, value in job.config.values) for job in jobs]


def test_the_extremes_come_first_then_what_is_between() -> None:
    first, others = informative_order(_jobs(BLOCK=(16, 64, 256), num_warps=(1, 2, 4)))
    assert others == []
    values = _values(first)
    assert values[:2] == [(16, 1), (256, 4)]
    assert set(values[2:5]) == {(16, 4), (256, 1), (64, 2)}


def test_one_of_each_group_comes_before_the_others() -> None:
    jobs = _jobs(BLOCK=(16, 64, 256), num_stages=(1, 2, 3))
    first, others = informative_order(jobs)
    assert _values(first) == [(16, 1), (256, 1), (64, 1)]
    assert _values(others) == [(16, 2), (16, 3), (256, 2), (256, 3), (64, 2), (64, 3)]


def test_every_job_is_there_once_whatever_its_values() -> None:
    mixed = [*_jobs(BLOCK=(16, 32)), *_jobs(num_warps=(True, 4)), *_jobs(A=(1, 1))]
    numbered = [Job(j.file, j.kernel, j.target, (), j.config, place) for place, j in enumerate(mixed)]
    first, others = informative_order(numbered)
    assert sorted(job.group for job in [*first, *others]) == list(range(len(numbered)))


def test_large_sweeps_are_covered_evenly() -> None:
    """Only the first points are chosen by distance; the others are not in the order of the plan."""
    points = [[a / 49, b / 49] for a, b in product(range(50), repeat=2)]
    order = list(spread(points))
    assert sorted(order) == list(range(2500))
    late = order[2000:2100]
    assert max(late) - min(late) > 1500


def test_few_points_are_ordered_as_many_are() -> None:
    sizes = (
        (2,),
        (4, 3),
        (3, 1, 1, 1, 1, 4, 2),
        (1, 1, 2, 3, 2, 2, 1, 4),
        (2, 3) + (1,) * 7 + (4,),
        (2, 1) * 9,
    )
    for shape in sizes:
        points = list(product(*([rank / max(size - 1, 1) for rank in range(size)] for size in shape)))
        points = [*points[:60], points[0]]  # one config of two groups
        assert _farthest(points) == _farthest_of_many(points)


def test_a_small_sweep_is_ordered_without_numpy() -> None:
    program = (
        "import sys; from irscope.compiling.executor import spread\n"
        "spread([(a, b) for a in range(5) for b in range(5)]); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
