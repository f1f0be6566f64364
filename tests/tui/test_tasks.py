"""The thirty tasks (tasks.py) at three sizes in a real terminal, on real compiled kernels."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tui.tasks import ENDED, SIZES, TASKS, Driver, Outcome
from tests.tui.terminal import Terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
    pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed"),
]
SAMPLE = Path(__file__).parents[2] / "samples" / "matmul.py"
_ARGUMENTS = "*fp16:16, *fp16:16, *fp16:16, {0}, {0}, {0}, {0}, 1, {0}, 1, {0}, 1"
_CONFIG = ("BLOCK_M=64", "BLOCK_K=32", "num_stages=3")


def run(triton_cache: Path, *words: str) -> None:
    """Runs irscope."""
    environment = os.environ | {"TRITON_CACHE_DIR": str(triton_cache)}
    command = [sys.executable, "-m", "irscope", *words]
    subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def captures(triton_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, ...]]:
    """The captures that tasks name. The last variant of "sweep" has strides that 16 does not divide."""
    folder = tmp_path_factory.mktemp("captures")
    made = {}
    builds = []
    for line in ("acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc * 1.0)"):
        builds.append(folder / f"build{len(builds)}" / SAMPLE.name)
        builds[-1].parent.mkdir()
        builds[-1].write_text(SAMPLE.read_text().replace("acc = tl.dot(a, b, acc)", line))
    for name, file, divisible, more in (
        ("first", builds[0], True, ("BLOCK_N=64", "num_warps=4")),
        ("second", builds[1], True, ("BLOCK_N=64", "num_warps=4")),
        ("registers", SAMPLE, True, ("BLOCK_N=64,128", "num_warps=4")),
        ("wide", SAMPLE, True, ("BLOCK_N=64,128", "num_warps=8")),
        ("aligned", SAMPLE, True, ("BLOCK_N=64", "num_warps=4")),
        ("unaligned", SAMPLE, False, ("BLOCK_N=64", "num_warps=4")),
        ("passes", SAMPLE, True, ("BLOCK_N=64,128", "num_warps=4", "--passes")),
    ):
        made[name] = folder / f"{name}.irscope"
        signature = _ARGUMENTS.format("i32:16" if divisible else "i32")
        configs = [
            word
            for value in (*_CONFIG, *more)
            for word in ([value] if value.startswith("--") else ["--config", value])
        ]
        words = ["compile", str(file), "--signature", signature, *configs, "--const", "GROUP_M=8"]
        run(triton_cache, *words, "-o", str(made[name]))
    for name, parts in (("narrow", ("aligned", "unaligned")), ("sweep", ("registers", "wide", "unaligned"))):
        made[name] = folder / f"{name}.irscope"
        run(triton_cache, "merge", *(str(made[part]) for part in parts), "-o", str(made[name]))
    opened = {name: (path,) for name, path in made.items()}
    return opened | {"builds": (made["first"], made["second"], made["registers"])}


@pytest.fixture(scope="module")
def outcomes(
    captures: dict[str, tuple[Path, ...]], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[int, int], list[Outcome]]:
    """The outcomes per size, of one terminal each; all run at once because a task mostly waits."""
    with ThreadPoolExecutor(len(SIZES)) as pool:
        folders = [tmp_path_factory.mktemp("size") for _ in SIZES]
        found = pool.map(lambda size, folder: do_all(captures, folder, size), SIZES, folders)
        return dict(zip(SIZES, found, strict=True))


def do_all(captures: dict[str, tuple[Path, ...]], folder: Path, size: tuple[int, int]) -> list[Outcome]:
    """Does all tasks in one terminal, with its own state, config and working directory."""

    def command(opened: Sequence[Path]) -> list[str]:
        program = shlex.join([sys.executable, "-m", "irscope", *map(str, opened)])
        return ["sh", "-c", f"cd {shlex.quote(str(folder))}; {program}; echo {ENDED} $?; sleep 600"]

    home = folder / "home"
    home.mkdir()
    own = {name: str(home / name.lower()) for name in ("IRSCOPE_STATE", "IRSCOPE_CONFIG", "IRSCOPE_CACHE")}
    colors = {"COLORTERM": "truecolor", "PYTHONPATH": str(SAMPLE.parents[1])}
    terminal = Terminal(folder / "t", ["sleep", "600"], size, {**own, **colors})
    try:
        terminal.run("set", "-g", "remain-on-exit", "on")
        driver = Driver(terminal, command)
        return [driver.run(task, captures[task.capture]) for task in TASKS]
    finally:
        terminal.close()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_every_task_takes_at_most_four_keys(
    outcomes: dict[tuple[int, int], list[Outcome]], size: tuple[int, int]
) -> None:
    for one in outcomes[size]:  # pytest -rP shows them
        print(f"{one.task.name}: {one.keys} keys")
    failed = [f"{one.task.name}: {one.problem}\n{one.screen}" for one in outcomes[size] if one.problem]
    assert not failed, "\n".join(failed)
