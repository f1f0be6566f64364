"""Runs the examples of Helion's repository without a GPU and counts the kernels that are captured.

    python benchmarks/helion_examples.py ~/helion [NAME ...] -o /tmp/captures

Helion (and what its examples import) must be importable. Prints a line per example: its exit code, the
kernels of its file that were captured, the variants, and if it is not captured whole the last line on stderr.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import irscope
from irscope.model import UserError
from irscope.toolchain.helion_kernels import helion_kernels

# Runs an example whose kernels are called once instead of compared with torch and timed.
_ONCE = """
import runpy, sys
import torch
import helion._testing

def run_example(kernel_fn, baseline_fn, args, *_, bwd=False, **__):
    for function in kernel_fn.values() if isinstance(kernel_fn, dict) else [kernel_fn]:
        made = function(*args)
        made = made if isinstance(made, torch.Tensor) else made[0]
        if bwd:
            made.backward(torch.randn_like(made))
    return {}

helion._testing.run_example = run_example
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""
# Helion names a kernel's Triton after its function.
_PREFIX = "_helion_"


@dataclass(frozen=True)
class Run:
    """The result of an example: `defined` are the kernels of its file, `captured` those in the capture."""

    name: str
    code: int
    seconds: float
    defined: frozenset[str]
    captured: frozenset[str]
    variants: int
    failed: int
    reason: str

    @property
    def whole(self) -> bool:
        """Whether the example ended well and a kernel of it was captured."""
        return self.code == 0 and bool(self.captured) and not self.failed

    def __str__(self) -> str:
        kernels = f"{len(self.captured & self.defined)} of {len(self.defined)} kernels"
        others = f" and {more} of other files" if (more := len(self.captured - self.defined)) else ""
        failed = f", {self.failed} failed" if self.failed else ""
        line = f"{self.name:<28} exit {self.code:>3}  {kernels}{others}, {self.variants} variants{failed}"
        return f"{line}, {self.seconds:.0f} s{'' if self.whole else f'{chr(10)}    {self.reason}'}"


def main() -> None:
    """Runs the examples."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--configs", type=int, default=2, help="per kernel that Helion would tune (2)")
    parser.add_argument("--once", action="store_true", help="call each kernel once; compare and time nothing")
    parser.add_argument("--timeout", type=float, default=300, help="seconds per example (300)")
    args = parser.parse_intermixed_args()
    args.output.mkdir(parents=True, exist_ok=True)
    runs = []
    for path in sorted((args.repository / "examples").glob("*.py")):
        if path.stem != "__init__" and (not args.names or path.stem in args.names):
            runs.append(_run(path, args))
            print(runs[-1], flush=True)
    whole = sum(run.whole for run in runs)
    kernels, variants = sum(len(run.captured) for run in runs), sum(run.variants for run in runs)
    print(f"{whole} of {len(runs)} examples captured; {kernels} kernels, {variants} variants")


def _run(path: Path, args: argparse.Namespace) -> Run:
    capture = (args.output / f"{path.stem}.irscope").absolute()
    command = [sys.executable, "-m", "irscope", "run", "--target", args.target]
    command += ["--configs", str(args.configs), "--force", "-o", str(capture)]
    if args.once:
        once = args.output / "once.py"
        once.write_text(_ONCE)
        command.append(str(once))
    command.append(str(path.absolute()))
    environment = {**os.environ, "HELION_SKIP_CACHE": "1"}
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environment, timeout=args.timeout,
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        code, output = done.returncode, done.stderr
    except subprocess.TimeoutExpired as error:
        code, output = 124, (error.stderr or b"").decode("utf-8", "replace")
    (args.output / f"{path.stem}.txt").write_text(output)
    captured, variants, failed = _captured(capture)
    defined = frozenset(helion_kernels(ast.parse(path.read_text())))
    seconds = time.monotonic() - start
    return Run(path.stem, code, seconds, defined, captured, variants, failed, _reason(output))


def _captured(path: Path) -> tuple[frozenset[str], int, int]:
    """The kernels in a capture, its variants, and how many of these failed."""
    try:
        with irscope.open(path) as capture:
            names = frozenset(variant.kernel.name.removeprefix(_PREFIX) for variant in capture.variants)
            return names, len(capture.variants), sum(v.failure is not None for v in capture.variants)
    except UserError:
        return frozenset(), 0, 0


def _reason(output: str) -> str:
    """The last line that is not part of irscope's summary."""
    summaries = ("browse: irscope", "no Triton kernel was captured", "this process launched no")
    lines = (line.strip() for line in reversed(output.splitlines()) if line.strip())
    others = (line for line in lines if not any(summary in line for summary in summaries))
    return next(others, "nothing was printed")[:300]


if __name__ == "__main__":
    main()
