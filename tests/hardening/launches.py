"""Launches of damaged kernels: the counts of any PTX text and any launch are numbers."""

from __future__ import annotations

import math
import random
from functools import cache
from pathlib import Path

from irscope.estimating.counting.counts import count_launch
from irscope.model import Argument, Config, Kernel, Launch, SourceFunction, Target, Toolchain, Variant
from tests.hardening.texts import SIGNS

_STAGES = Path(__file__).parents[1] / "data" / "stages"
_NUMBERS = ("0", "-1", "31", "33", "2147483647", "-2147483648", "99999999999999999999")


@cache
def kernels() -> list[str]:
    """Real PTX texts."""
    return [path.read_text() for path in sorted(_STAGES.glob("*.ptx"))]


def counted(rng: random.Random, folder: Path) -> None:
    """Counts a launch of a kernel with some lines changed."""
    lines = rng.choice(kernels()).split("\n")
    for _ in range(rng.randrange(8)):
        _damage(rng, lines)
    names = [(f"a{at}", rng.choice(("*fp16", "i32", "fp32", "tensordesc<fp16[64, 64]>"))) for at in range(9)]
    variant = Variant(
        1,
        Kernel(1, "kernel", SourceFunction("kernel", "kernel.py", 1, ""), (), ()),
        Target("cuda", "90", 32),
        tuple(Argument(name, kind, rng.choice(("D", "", None))) for name, kind in names),
        Config(()),
        Toolchain(1, {}, ""),
        metadata={"num_warps": rng.choice((1, 4, -3, "8", None))},
    )
    values = ("float16[4096, 64]", "float32[0]", "7", "-1", "None", "0.5", rng.choice(_NUMBERS))
    grid = tuple(rng.choice((1, 2, 7, 1000, 1 << 40, 0, -5)) for _ in range(rng.randrange(4)))
    launch = Launch(grid, tuple((name, rng.choice(values)) for name, _ in names))
    found = count_launch(variant, launch, "\n".join(lines))
    for access in found.accesses:
        assert all(map(math.isfinite, (access.warps, access.threads, access.sectors, access.wavefronts)))
    for tensor in found.traffic:
        assert math.isfinite(tensor.bytes)
        assert math.isfinite(tensor.unique_bytes(found.programs))
    assert found.programs >= 0
    assert math.isfinite(found.total_instructions)


def _damage(rng: random.Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines[at] = ""
        case 1:
            lines.insert(at, rng.choice(lines))
        case 2:
            cut = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:cut] + rng.choice(SIGNS) + lines[at][cut + 1 :]
        case _:
            lines[at] = lines[at].replace(str(rng.randrange(10)), rng.choice(_NUMBERS))
