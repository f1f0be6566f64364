"""Ten regressions with a known cause: does irscope bisect name the version or commit, the layer and the pass?

    python benchmarks/bisect_regressions.py [--only NAME]

Two are from a public thread, whose author found the cause by other means; the others are planted: a pass
taken out of a copy of the installed Triton, a variable that turns LLVM's optimizer off, a ptxas that does not
optimize as much, a commit in a repository that this makes. In the last one two causes are planted at once,
each of which does half of the harm: the right answer is that the layer is unknown. Each case runs alone, with
an empty cache of results. Needs Triton 3.9 and, for other versions, the network or the user's cache folder.
Exits with 1 if fewer than nine are right, or one takes more than ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from irscope.versions.environments import own_triton

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "benchmarks" / "bisect_kernels"
SAMPLES = ROOT / "samples"
LIMIT = 600.0
NVIDIA = "backends/nvidia/compiler.py"
LAYER_NORM = ["--signature", "*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16"]
LAYER_NORM += ["--const", "BLOCK=16384", "--config", "num_warps=16", "--target", "cuda:100"]


@dataclass(frozen=True)
class Case:
    """A regression: `words` makes the arguments in a folder of its own.

    `bad` is part of the version, or the commit's subject; `layer` None: it cannot be known; `pass_` "": any.
    `source` says who knows the cause.
    """

    name: str
    source: str
    words: Callable[[Path], Sequence[str]]
    bad: str
    layer: str | None
    pass_: str = ""


def without(folder: Path, line: str, name: str = "edited") -> str:
    """A copy of the installed Triton (links, but for one file) without a line of the NVIDIA backend."""
    own = own_triton()
    if own is None:
        raise SystemExit("needs Triton 3.9")
    copy = folder / name / "triton"
    shutil.copytree(
        own[1] / "triton", copy, copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__")
    )
    file = copy / NVIDIA
    text = file.read_text()
    if line not in text:
        raise SystemExit(f"{NVIDIA} has no line {line}")
    file.unlink()
    file.write_text(text.replace(line, "pass"))
    return str(copy.parent)


def slower_ptxas(folder: Path) -> str:
    """A ptxas that optimizes less than the installed one."""
    own = own_triton()
    if own is None:
        raise SystemExit("needs Triton 3.9")
    script = folder / "ptxas"
    script.write_text(f'#!/bin/sh\nexec {own[1]}/triton/backends/nvidia/bin/ptxas "$@" {LESS}\n')
    script.chmod(0o755)
    return str(script)


# An option of ptxas that changes the code and no other stage.
LESS = "-O1"


def repository(folder: Path, file: Path, edits: Sequence[tuple[str, str, str]]) -> Path:
    """A repository with a kernel's file, and a commit per edit (message, old text, new text)."""
    place = folder / "project"
    place.mkdir()
    copy = place / file.name
    shutil.copy(file, copy)
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Add the kernel")
    for message, old, new in edits:
        text = copy.read_text()
        if old not in text:
            raise SystemExit(f"{file.name} has no text {old!r}")
        copy.write_text(text.replace(old, new))
        git(place, "commit", "-qam", message)
    return copy


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "core.hooksPath=/dev/null"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True)


def notes(first: int, count: int) -> list[tuple[str, str, str]]:
    """Commits that change nothing that matters."""
    head = '"""A'
    return [(f"Note {first}", head, f'"""# {first}\nA')] + [
        (f"Note {n}", f"# {n - 1}\n", f"# {n}\n") for n in range(first + 1, first + count)
    ]


def dtype_commit(folder: Path) -> Sequence[str]:
    """A cast to fp64 among twelve commits, next to three at which the kernel does not compile."""
    edits = [
        *notes(1, 4),
        ("Break the kernel", "tl.zeros(", "tl.zeroes("),
        ("Note while broken", "# 4\n", "# 5\n"),
        ("Mend the kernel", "tl.zeroes(", "tl.zeros("),
        ("Add up in fp64", "(BLOCK,), tl.float32", "(BLOCK,), tl.float64"),
        ("Note 6", "# 5\n", "# 6\n"),
        ("Note 7", "# 6\n", "# 7\n"),
    ]
    file = repository(folder, KERNELS / "polynomial.py", edits)
    return [
        f"{file}::polynomial_kernel",
        *POLYNOMIAL,
        "--git",
        f"HEAD~{len(edits)}..HEAD",
        "--fact",
        "instructions",
    ]


def constexpr_commit(folder: Path) -> Sequence[str]:
    """Another factor of unrolling, a constexpr of the file, and the same kernel under two versions."""
    edits = [
        *notes(1, 3),
        ("Unroll more", "loop_unroll_factor=8", "loop_unroll_factor=32"),
        ("Note 4", "# 3\n", "# 4\n"),
    ]
    file = repository(folder, KERNELS / "polynomial.py", edits)
    return [
        f"{file}::polynomial_kernel",
        *POLYNOMIAL,
        "--git",
        f"HEAD~{len(edits)}..",
        "--fact",
        "instructions",
    ]


POLYNOMIAL = ["--signature", "*fp32:16,*fp32:16,*fp32:16,i32", "--const", "BLOCK=256"]
MATMUL = [f"{SAMPLES}/matmul.py::matmul_kernel", "--guess", "--variant", "#2"]
ADD = [f"{SAMPLES}/vector_add.py::add_kernel", "--guess", "--config", "BLOCK_SIZE=1024"]
NORM = [f"{SAMPLES}/layer_norm.py::forward_kernel", "--guess", "--config", "BLOCK_SIZE=4096"]
COALESCE, PREFETCH = "passes.ttgpuir.add_coalesce(pm)", "passes.ttgpuir.add_prefetch(pm)"
UNROLL = "passes.ttir.add_loop_unroll(pm)"
THREAD = "triton-lang/triton#11127"


def layer_norm(versions: str, *what: str) -> Callable[[Path], Sequence[str]]:
    """The kernel of the thread under some versions."""
    return lambda _: [
        f"{SAMPLES}/gallery/layer_norm_b200.py::layer_norm_kernel",
        *LAYER_NORM,
        "--triton",
        versions,
        *what,
    ]


def worse_without(line: str, kernel: Sequence[str], *what: str) -> Callable[[Path], Sequence[str]]:
    """A kernel with the installed Triton, and with one that lacks a pass."""
    return lambda folder: [*kernel, "--triton", f"3.9.0,{without(folder, line)}", *what]


def better_without(line: str, kernel: Sequence[str], *what: str) -> Callable[[Path], Sequence[str]]:
    """A kernel with a Triton that lacks a pass, and with the installed one."""
    return lambda folder: [*kernel, "--triton", f"{without(folder, line)},3.9.0", *what]


def ptxas_words(folder: Path) -> Sequence[str]:
    """A kernel with a ptxas that optimizes less, and so keeps fewer values in registers, and with 12.9."""
    ptxas = f"{slower_ptxas(folder)}..12.9"
    return [*MATMUL, "--target", "cuda:80", "--ptxas", ptxas, "--fact", "registers"]


TWO_CAUSES = ["--env-bad", "DISABLE_LLVM_OPT=1", "--fact", "instructions"]
CASES = (
    Case(
        "layer norm on sm_100, registers",
        f"{THREAD}: LLVM selects mixed-precision adds",
        layer_norm("3.6.0..3.9.0", "--fact", "registers"),
        "3.7.1",
        "LLVM",
    ),
    Case(
        "layer norm on sm_100, occupancy",
        f"{THREAD}: LLVM, 50% -> 25%",
        layer_norm("3.6.0,3.7.1", "--check", "occupancy >= 0.5"),
        "3.7.1",
        "LLVM",
    ),
    Case(
        "coalescing skipped",
        "planted: the pass is taken out",
        worse_without(COALESCE, ADD, "--fact", "load_width"),
        "edited",
        "middle",
        "tritongpu-coalesce",
    ),
    Case(
        "prefetch added",
        "planted: the good end lacks the pass",
        better_without(PREFETCH, [*MATMUL, "--target", "cuda:80"], "--fact", "registers"),
        "3.9.0",
        "middle",
        "tritongpu-prefetch",
    ),
    Case(
        "loops unrolled",
        "planted: the good end lacks the pass of TTIR",
        better_without(
            UNROLL, [f"{KERNELS}/polynomial.py::polynomial_kernel", *POLYNOMIAL], "--fact", "instructions"
        ),
        "3.9.0",
        "front end",
        "triton-loop-unroll",
    ),
    Case(
        "LLVM does not optimize",
        "planted: DISABLE_LLVM_OPT=1",
        lambda _: [*MATMUL, "--env-bad", "DISABLE_LLVM_OPT=1", "--fact", "instructions"],
        "DISABLE_LLVM_OPT=1",
        "LLVM",
    ),
    Case("another ptxas", f"planted: the good end has {LESS}", ptxas_words, "ptxas12.9", "ptxas"),
    Case("a cast, by commit", "planted: a commit", dtype_commit, "Add up in fp64", "source"),
    Case("a constexpr, by commit", "planted: a commit", constexpr_commit, "Unroll more", "source"),
    Case(
        "two causes at once",
        "planted: coalescing taken out and DISABLE_LLVM_OPT=1",
        worse_without(COALESCE, NORM, *TWO_CAUSES),
        "edited",
        None,
    ),
)


def run(case: Case) -> tuple[bool, float, float, str]:
    """Whether a case is answered right, the seconds that it took (wall and CPU), and the answer."""
    with tempfile.TemporaryDirectory(prefix="irscope-bench-") as name:
        folder = Path(name)
        words = case.words(folder)
        environment = {**os.environ, "IRSCOPE_CACHE": str(cache(folder)), "PYTHONPATH": str(ROOT)}
        start, used = time.monotonic(), cpu_seconds()
        done = subprocess.run(
            [sys.executable, "-m", "irscope", "bisect", *words, "--format", "json"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds, used = time.monotonic() - start, cpu_seconds() - used
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return False, seconds, used, (done.stderr.strip().splitlines() or ["no output"])[-1]
    return judge(case, found), seconds, used, "; ".join(found["conclusion"][:4])


def cpu_seconds() -> float:
    """The CPU time of all that this process started and that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cache(folder: Path) -> Path:
    """A cache folder without results, with the versions that the user's has."""
    import platformdirs

    own = Path(os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope"))
    (own / "versions").mkdir(parents=True, exist_ok=True)
    place = folder / "cache"
    place.mkdir()
    (place / "versions").symlink_to(own / "versions")
    return place


def judge(case: Case, found: dict) -> bool:  # type: ignore[type-arg]
    """Whether the answer is the truth."""
    if case.layer == "source":
        commit = (found["commits"] or {}).get("first_bad") or {}
        return commit.get("subject") == case.bad and bool(found["source"]["edits"])
    cause = found["cause"]
    if cause is None or case.bad not in cause["bad"] or cause["layer"] != case.layer:
        return False
    return not case.pass_ or (cause["pass"] or {}).get("name") == case.pass_


def main() -> int:
    """Runs the cases and prints a line each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="NAME", help="only cases whose name has NAME in it")
    only = parser.parse_args().only
    right, slowest, cases = 0, 0.0, [case for case in CASES if not only or only in case.name]
    for case in cases:
        good, seconds, used, answer = run(case)
        right, slowest = right + good, max(slowest, seconds)
        verdict = "right" if good else "WRONG"
        print(f"{verdict} {seconds:6.1f} s ({used:.0f} s CPU)  {case.name} ({case.source})")
        print(f"{'':16}{answer}")
        sys.stdout.flush()
    print(f"{right} of {len(cases)} right (asked: 9 of 10)")
    print(f"slowest: {slowest:.0f} s (asked: under {LIMIT:.0f} s)")
    return 0 if right >= len(cases) - 1 and slowest < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
