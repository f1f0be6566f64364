"""Of sixty planted changes of bits, irscope names the right line and the right reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.interpreting.bits.classes import ClassDifference, classify
from irscope.model import Launch, Variant, format_value
from irscope.workspace import Workspace
from tests.workspace.planted_bits import PLANTED, Planted, line_of, module_name, options_of

PROGRAM = Path(__file__).with_name("planted_bits.py")


def captured(folder: Path, target: str, cache: Path, names: tuple[str, ...] = ()) -> Path:
    """Capture A and B of the changes for a target."""
    path = folder / f"{target.replace(':', '_')}.irscope"
    words = ["-m", "irscope", "run", "--target", target, "-o", str(path), str(PROGRAM), str(folder), target]
    environment = {"TRITON_CACHE_DIR": str(cache), "PYTHONPATH": str(PROGRAM.parents[2])}
    subprocess.run([sys.executable, *words, *names], env=os.environ | environment, check=True, timeout=900)
    return path


def launched(opened: Workspace, planted: Planted, side: str) -> tuple[Variant, Launch]:
    """Return A or B of a change, with its launch."""
    grid, chosen = options_of(planted, side)
    for variant in opened.variants:
        values = {**variant.metadata, **variant.config.meta}
        same = all(
            format_value(values[name]).removeprefix("tl.") == str(value)
            for name, value in chosen.items()
            if name in values
        )
        if Path(variant.kernel.source.file).stem == module_name(planted, side) and same:
            for launch in variant.launches:
                if launch.grid[: len(grid)] == grid:
                    return variant, launch
    raise AssertionError(f"{planted.name} has no {side}")


def difference(opened: Workspace, planted: Planted) -> ClassDifference | str:
    """Return what irscope says about A and B, or why it says nothing."""
    a, b = (launched(opened, planted, side) for side in "ab")
    kernel = a[0].kernel
    answer = classify({n: opened.evaluations.of(*pair, kernel) for n, pair in enumerate((a, b), 1)})
    if answer.unknown:
        return f"unknown: {answer.unknown}"
    return answer.differences[0] if answer.differences else "the same bits"


def mistake(opened: Workspace, planted: Planted) -> str:
    """Return what is wrong with what irscope says of a change; "" if the line and the reason are right."""
    answer = difference(opened, planted)
    if isinstance(answer, str) or not answer.reasons:
        return answer if isinstance(answer, str) else "no reason"
    first, *others = answer.reasons
    lines = {line_of(part, planted.kernel) for part in (planted.line, *planted.also)}
    texts = [f"{reason.kind} {reason.source_line}: {reason.text}" for reason in answer.reasons]
    if first.source_line not in lines:
        return f"not line {sorted(lines)}: {texts}"
    inner = first.helper[1] if first.helper else 0
    if inner != (line_of(planted.inner) if planted.inner else 0):
        return f"not {planted.inner!r}: line {inner}"
    if first.kind not in planted.kinds.split() or not re.search(planted.words, first.text):
        return f"not {planted.kinds} {planted.words!r}: {texts}"
    if any(reason.source_line not in lines for reason in others):
        return f"consequences: {texts}"
    return ""


def mistakes(folder: Path, cache: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return what is wrong, by the name of the change."""
    chosen = [planted for planted in PLANTED if planted.name in names]
    result = {}
    for target in dict.fromkeys(planted.target for planted in chosen):
        with Workspace(captured(folder, target, cache, names)) as opened:
            result.update({p.name: mistake(opened, p) for p in chosen if p.target == target})
    return {name: text for name, text in result.items() if text}


SAMPLE = (
    "GELU without fusion",
    "a + b + c in another order",
    "tf32 or bf16x3",
    "K split in 2",
    "early cast",
    "tf32 or ieee on B200",
)


def test_the_line_and_the_reason_of_some_planted_changes(tmp_path: Path, triton_cache: Path):
    assert not mistakes(tmp_path, triton_cache, SAMPLE)


@pytest.mark.slow
def test_the_line_and_the_reason_of_sixty_planted_changes(tmp_path: Path, triton_cache: Path):
    names = tuple(planted.name for planted in PLANTED)
    wrong = mistakes(tmp_path, triton_cache, names)
    print(f"{len(names) - len(wrong)} of {len(names)} are right; wrong: {wrong}")
    assert len(names) == 60 and len(wrong) <= 3, wrong
