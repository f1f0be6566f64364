"""Triggers every cause of a recompilation through Triton's JIT, and checks that `irscope why` names it.

  python -m tests.truth.causes_of_recompilation [--triton FOLDER]

For each cause, a kernel is launched twice without a GPU (`irscope run`), so that exactly one thing
differs. The two variants must have exactly one reason, with both values, and the remedy if their machine code
is identical. FOLDER holds another version of Triton, for the cause "Triton version":
`pip install --no-deps --target FOLDER triton==3.6.0`. Exits with 1 if a cause is not named.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import irscope


@dataclass(frozen=True)
class Cause:
    """A cause: the kernel, how its two compilations differ, and the only reason that `why` may give.

    `first` and `second` are the arguments of the launches in the first run. Without `second`, a later run
    launches the kernel again, with `environment`, for `target`, after replacing `edit` in its file, or with
    another Triton. `remedy` is a part of the text if the compilation was redundant.
    """

    name: str
    reason: str
    first: str = "x, 1024, BLOCK=256"
    second: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    target: str = "cuda:90"
    edit: tuple[str, str] = ("", "")
    other_triton: bool = False
    remedy: str = ""

    @property
    def kernel(self) -> str:
        """The name of the kernel and of its file."""
        return f"kernel_{self.name.replace(' ', '_').replace('-', '_')}"


CAUSES = (
    Cause("constexpr", "constexpr BLOCK: 256 -> 512", second="x, 1024, BLOCK=512"),
    Cause("num_warps", "num_warps: 4 -> 8", second="x, 1024, BLOCK=256, num_warps=8"),
    Cause(
        "num_stages", "num_stages: 3 -> 2", second="x, 1024, BLOCK=256, num_stages=2",
        remedy="drop num_stages=3 or 2; both compile to the same program",
    ),
    Cause("num_ctas", "num_ctas: 1 -> 2", second="x, 1024, BLOCK=256, num_ctas=2"),
    Cause("maxnreg", "maxnreg: None -> 32", second="x, 1024, BLOCK=256, maxnreg=32"),
    Cause("debug", "debug: False -> True", second="x, 1024, BLOCK=256, debug=True"),
    Cause(
        "floating-point fusion", "enable_fp_fusion: True -> False",
        second="x, 1024, BLOCK=256, enable_fp_fusion=False",
    ),
    Cause(
        "type", "argument x: *fp32 divisible by 16 -> *fp16 divisible by 16",
        second="x.half(), 1024, BLOCK=256",
    ),
    Cause(
        "pointer alignment", "argument x: *fp32 divisible by 16 -> *fp32", second="x[1:], 1024, BLOCK=256"
    ),
    Cause(
        "unused integer", "argument n: i32 divisible by 16 -> i32",
        "described(x, [128]), 1024, BLOCK=256", "described(x, [128]), 1023, BLOCK=256",
        remedy="do_not_specialize=['n']",
    ),
    Cause("integer divisible by 16", "argument n: i32 divisible by 16 -> i32", second="x, 1023, BLOCK=256"),
    Cause(
        "integer equal to 1", "argument n: i32 divisible by 16 -> equal to 1, a constant",
        second="x, 1, BLOCK=256",
    ),
    Cause(
        "integer of 64 bits", "argument n: i32 divisible by 16 -> i64 divisible by 16",
        second="x, 2**31, BLOCK=256",
    ),
    Cause(
        "None", "argument x: *fp32 divisible by 16 -> None, a constant", second="None, 1024, BLOCK=256"
    ),
    Cause(
        "descriptor", "argument x: tensordesc<fp32[128]> -> tensordesc<fp32[256]>",
        "described(x, [128]), 1024, BLOCK=256", "described(x, [256]), 1024, BLOCK=256",
    ),
    Cause(
        "environment variable", "environment variable DISABLE_LLVM_OPT: unset -> 1",
        environment={"DISABLE_LLVM_OPT": "1"},
    ),
    Cause(
        "ptxas options", "environment variable PTXAS_OPTIONS (ptx_options): unset -> -O1",
        environment={"PTXAS_OPTIONS": "-O1"},
    ),
    Cause(
        "fusion by the environment",
        "environment variable TRITON_DEFAULT_FP_FUSION: unset -> 0",
        environment={"TRITON_DEFAULT_FP_FUSION": "0"},
    ),
    Cause("source", "source of the kernel changed", edit=("* SCALE", "+ SCALE")),
    Cause("helper", "source of the helper scaled changed", edit=("value * 3", "value * 4")),
    Cause("global", "global SCALE: 2.0 -> 5.0", edit=("expr(2.0)", "expr(5.0)")),
    Cause(
        "line", "first line of kernel_line: 14 -> 15 (Triton's key has it)",
        edit=("SCALE =", "# Moved.\nSCALE ="),
    ),
    Cause("target", "target: cuda:90 -> cuda:80", target="cuda:80"),
    Cause("Triton version", "compiler: triton: ", other_triton=True),
)  # fmt: skip

FILE = """
import triton
import triton.language as tl


@triton.jit
def scaled(value):
    return value * 3


SCALE = tl.constexpr(2.0)


@triton.jit
def {name}(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
{body}
"""
POINTERS = """    if x is not None:
        value = tl.load(x + offsets, mask=offsets < n)
        tl.store(x + offsets, scaled(value) * SCALE + offsets, mask=offsets < n)"""
DESCRIPTOR = """    x.store([0], scaled(x.load([0])) * SCALE)"""
PROGRAM = """
import importlib, sys
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

described = TensorDescriptor.from_tensor
x = torch.zeros(4096, device="cuda")
for launch in sys.argv[1:]:
    name, arguments = launch.split(":", 1)
    exec(f"kernel[(1,)]({arguments})", {**globals(), "kernel": getattr(importlib.import_module(name), name)})
"""


@dataclass(frozen=True)
class Named:
    """The output of `why` for the two variants of a cause."""

    cause: Cause
    reasons: tuple[str, ...]
    remedies: tuple[str, ...]

    @property
    def correct(self) -> bool:
        """Whether it names exactly the cause, and the remedy if there is one."""
        if len(self.reasons) != 1 or self.cause.remedy not in "; ".join(self.remedies):
            return False
        if self.cause.other_triton:  # the versions and builds depend on the installation
            return self.reasons[0].startswith(self.cause.reason)
        return self.reasons[0].partition(" (and with it")[0] == self.cause.reason


def causes_named(folder: Path, causes: tuple[Cause, ...], other_triton: Path | None = None) -> list[Named]:
    """Runs the launches of all causes in `folder` and asks why each was compiled twice."""
    for cause in causes:
        body = DESCRIPTOR if "described" in cause.first else POINTERS
        (folder / f"{cause.kernel}.py").write_text(FILE.format(name=cause.kernel, body=body))
    (folder / "program.py").write_text(PROGRAM)
    run(folder, [f"{c.kernel}:{text}" for c in causes for text in (c.first, c.second) if text])
    edited = [cause for cause in causes if cause.edit[0]]
    for cause in edited:
        file = folder / f"{cause.kernel}.py"
        file.write_text(file.read_text().replace(*cause.edit, 1))
    if edited:
        run(folder, [f"{cause.kernel}:{cause.first}" for cause in edited])
    for cause in causes:
        launch = [f"{cause.kernel}:{cause.first}"]
        if cause.environment or cause.target != "cuda:90":
            run(folder, launch, cause.target, **cause.environment)
        if cause.other_triton and other_triton is not None:
            run(folder, launch, PYTHONPATH=str(other_triton))
    with irscope.open(folder / "causes.irscope") as capture:
        found = []
        for cause in causes:
            pair = [variant for variant in capture.variants if variant.kernel.name == cause.kernel]
            compared = capture.compare(*pair) if len(pair) == 2 else None
            reasons = tuple(reason.text for reason in compared.recompilation.reasons) if compared else ()
            found.append(Named(cause, reasons, tuple(compared.remedies) if compared else ()))
        return found


def run(folder: Path, launches: list[str], target: str = "cuda:90", **environment: str) -> None:
    words = ["run", "--target", target, "--resume", "-o", "causes.irscope", "program.py", *launches]
    cache = {"TRITON_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "irscope", *words],
        cwd=folder, env=os.environ | cache | environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--triton", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    causes = tuple(cause for cause in CAUSES if not cause.other_triton or args.triton)
    with tempfile.TemporaryDirectory() as folder:
        found = causes_named(Path(folder), causes, args.triton)
    for named in found:
        verdict = "ok" if named.correct else "WRONG"
        print(f"{verdict:6}{named.cause.name:28}{'; '.join(named.reasons) or 'nothing'}")
        for remedy in named.remedies:
            print(f"{'':34}to avoid it: {remedy}")
    right = sum(named.correct for named in found)
    print(f"{right} of {len(found)} causes named, each as the only reason and with both values")
    return 0 if right == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
