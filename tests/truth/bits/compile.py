"""Compiles the spaces without a GPU, each to a capture that knows its launches.

    python -m tests.truth.bits.compile --output FOLDER [--triton 3.6.0] [--target cuda:90] [GLOB ...]

`irscope run` simulates the device for `launches.py`: the variants of a capture have the specialization of a real
launch, its grid and its arguments. Captures that FOLDER has are left. Prints what does not compile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import irscope
from irscope.jobs.versions.environments import prepare
from tests.truth.bits.spaces import spaces

_ROOT = Path(__file__).resolve().parents[3]


def compile_space(name: str, output: Path, package: Path, target: str, jobs: int, configs: int | None) -> str:
    """Capture a space in a process with the Triton of `package`; return what failed."""
    unfinished = output.with_suffix(".part.irscope")
    command = [
        sys.executable, "-m", "irscope", "run", "--target", target, "--force", "-j", str(jobs),
        "-o", str(unfinished), "-m", "tests.truth.bits.launches", name,
    ]  # fmt: skip
    if configs:
        command += ["--configs", str(configs)]
    path = os.pathsep.join([str(package), str(_ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if not unfinished.exists():
        return f"{done.stdout}{done.stderr}"
    with irscope.open(unfinished) as capture:
        failed = [
            f"#{variant.id} {variant.config}: {variant.failure.summary}"
            for variant in capture.variants
            if variant.failure
        ]
    unfinished.rename(output)
    return "\n".join([*done.stdout.splitlines(), *failed])


def main() -> None:
    """Compile the spaces that are asked for."""
    parser = argparse.ArgumentParser(
        "python -m tests.truth.bits.compile", description="Compiles the spaces without a GPU."
    )
    parser.add_argument("names", nargs="*", default=["*"], metavar="GLOB", help="only these spaces")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--triton", default="3.6.0", help="a version, or a folder or Python that has one (3.6.0)"
    )
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--configs", type=int, help="only about CONFIGS configs of each space")
    options = parser.parse_args()
    package = prepare(options.triton, report=print).package
    options.output.mkdir(parents=True, exist_ok=True)
    for space in spaces(options.names):
        output = options.output / f"{space.name}.irscope"
        if output.exists():
            continue
        started = time.monotonic()
        failed = compile_space(space.name, output, package, options.target, options.jobs, options.configs)
        print(f"{space.name}: {len(space.configs)} configs, {time.monotonic() - started:.0f} s", flush=True)
        if failed:
            print(failed, flush=True)


if __name__ == "__main__":
    main()
