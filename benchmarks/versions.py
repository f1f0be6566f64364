"""Every sample under several versions of Triton: what fails, and what a variant costs against one version.

    python -m benchmarks.versions [--triton 3.6.0,3.7.1,3.8.0,3.9.0] [--only NAME] [--cold]

Each sample is compiled as its docstring says, with an empty Triton cache: under one version, then under all.
--cold also makes the environments anew, first with an empty and then with a full cache of uv.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import IRSCOPE, run
from irscope.learn.sample_commands import Sample, samples

# Options that irscope compile has and irscope versions does not.
_ONLY_COMPILE = ("--sass", "-o")


def main() -> None:
    """Prints a line per sample, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triton", default="3.6.0,3.7.1,3.8.0,3.9.0")
    parser.add_argument("--only", default="", help="samples whose file name contains this")
    parser.add_argument("--cold", action="store_true", help="time the making of environments too")
    args = parser.parse_args()
    versions = args.triton.split(",")
    with tempfile.TemporaryDirectory() as folder:
        if args.cold:
            _time_environments(versions, Path(folder))
        totals = [0.0, 0.0, 0.0, 0.0]
        for sample in samples():
            if args.only in sample.path.name:
                totals = [a + b for a, b in zip(totals, _time(sample, versions, Path(folder)), strict=True)]
    one, variants, every, more = totals
    if variants and more:
        print(f"{variants:.0f} variants under {versions[-1]}: {one:.1f} s, {one / variants:.2f} s each")
        print(f"{more:.0f} variants under {len(versions)}: {every:.1f} s, {every / more:.2f} s each")


def _time(sample: Sample, versions: Sequence[str], folder: Path) -> tuple[float, float, float, float]:
    one, compiled, _ = _compile(sample, versions[-1:], folder)
    every, more, failed = _compile(sample, versions, folder)
    print(
        f"{sample.path.name:28} {compiled:3} variants {one:6.1f} s   all versions {more:4} variants "
        f"{every:6.1f} s, {failed} failed",
        flush=True,
    )
    return one, compiled, every, more


def _compile(sample: Sample, versions: Sequence[str], folder: Path) -> tuple[float, int, int]:
    """Seconds, variants and failures of one command in an empty cache."""
    capture = folder / "capture.irscope"
    cache = Path(tempfile.mkdtemp(dir=folder))
    words = [word for word in sample.arguments if word not in _ONLY_COMPILE]
    command = ["versions", *words, "--triton", ",".join(versions), "-o", str(capture), "--force"]
    environment = os.environ | {"TRITON_CACHE_DIR": str(cache)}
    used = run([*IRSCOPE, *command, "--format", "json"], environment=environment, codes=None)
    shutil.rmtree(cache)
    if used.code == 2:
        print(f"{sample.path.name}: {used.errors.strip().splitlines()[-1]}")
        return used.wall, 0, 0
    listed = json.loads(run([*IRSCOPE, "list", capture, "--format", "json"]).output)
    variants = [variant for kernel in listed["kernels"] for variant in kernel["variants"]]
    failed = [variant for variant in variants if variant["failure"]]
    for variant in failed:
        print(f"  {variant['versions']['triton']}: {variant['failure']['summary'][:150]}")
    return used.wall, len(variants), len(failed)


def _time_environments(versions: Sequence[str], folder: Path) -> None:
    """Prints how long making each environment takes: without and with the files in uv's cache, and again."""
    script = "import sys; from irscope.jobs.versions.environments import prepare; prepare(sys.argv[1])"
    for name, remove in (("empty uv cache", True), ("full uv cache", True), ("made before", False)):
        for version in versions:
            cache = folder / f"environment-{version}"
            if remove:
                shutil.rmtree(cache, ignore_errors=True)
            environment = os.environ | {"IRSCOPE_CACHE": str(cache), "UV_CACHE_DIR": str(folder / "uv")}
            used = run([sys.executable, "-c", script, version], environment=environment)
            print(f"environment {version}, {name}: {used.wall:.1f} s", flush=True)


if __name__ == "__main__":
    main()
