"""The gate on planted regressions and harmless commits: python benchmarks/ci_gate.py [LIGER_KERNEL].

Makes a git repository of samples and, if its folder is given, of Liger-Kernel's kernels (the folder with
`liger_kernel`), and captures what benchmarks/ci_gate_commits/launch.py launches on a simulated GPU. Then it
makes a commit per edit on top of that, captures again and compares with

    irscope diff base.irscope head.irscope --fail-on "spills>0, registers>+10%, worse, removed"

Prints a line per commit with the exit code and the reason, and how many regressions were found (exit code 1)
and how many harmless commits failed. Exits with 1 if a regression was missed or a harmless commit failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ci_gate_commits.edits import HARMLESS, LIBRARY, REGRESSIONS, Edit

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
NAMES = ("vector_add", "fused_softmax", "layer_norm", "matmul", "flash_attention", "heuristics")
FAIL_ON = "spills>0, registers>+10%, worse, removed"
_GIT = ("git", "-c", "user.name=gate", "-c", "user.email=gate@localhost", "-c", "commit.gpgsign=false")


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", nargs="?", type=Path, help="the folder that has liger_kernel")
    parser.add_argument("--only", help="only commits whose title contains this")
    args = parser.parse_args()
    results: dict[str, list[bool]] = {"regression": [], "harmless": []}
    with tempfile.TemporaryDirectory(prefix="ci-gate-") as folder:
        repository = Path(folder) / "repository"
        make_repository(repository, args.library)
        base = Path(folder) / "base.irscope"
        started = time.monotonic()
        capture(repository, base)
        print(f"base: captured in {time.monotonic() - started:.0f} s; --fail-on '{FAIL_ON}'")
        for kind, edits in (("regression", REGRESSIONS), ("harmless", HARMLESS)):
            for number, edit in enumerate(edits, 1):
                if (args.only and args.only not in edit.title) or (edit.needs_library and not args.library):
                    continue
                failed = judge(repository, base, Path(folder) / "head.irscope", edit, f"{kind} {number}")
                results[kind].append(failed)
    found, false = sum(results["regression"]), sum(results["harmless"])
    print(f"found: {found} of {len(results['regression'])} planted regressions")
    print(f"false: {false} of {len(results['harmless'])} harmless commits")
    return int(found < len(results["regression"]) or false > 0)


def make_repository(folder: Path, library: Path | None) -> None:
    """A repository with one commit: the samples as `kernels`, the library, and the program."""
    (folder / "kernels").mkdir(parents=True)
    for name in NAMES:
        shutil.copy(SAMPLES / f"{name}.py", folder / "kernels")
    shutil.copy(HERE / "ci_gate_commits" / "launch.py", folder)
    if library is not None:
        ignore = shutil.ignore_patterns("*.pyc", "__pycache__")
        shutil.copytree(library / LIBRARY, folder / LIBRARY, ignore=ignore)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "Base")


def judge(repository: Path, base: Path, head: Path, edit: Edit, name: str) -> bool:
    """Whether the gate fails for a commit with an edit on top of the base; prints the line of the table."""
    started = time.monotonic()
    git(repository, "checkout", "--quiet", "--detach", "main")
    edit.apply(repository)
    commit(repository, edit.title)
    capture(repository, head)
    words = [sys.executable, "-m", "irscope", "diff", str(base), str(head), "--fail-on", FAIL_ON]
    done = subprocess.run([*words, "--format", "github"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{name}: irscope diff failed: {done.stderr}")
    first = next((line for line in done.stdout.splitlines() if line.startswith("::error")), "")
    reason = first.rpartition("::")[2].partition("%0A")[0].replace("%25", "%")
    title = first.partition("title=")[2].partition("::")[0].replace("%3A", ":").replace("%25", "%")
    seconds = time.monotonic() - started
    cause = f"{title}: {reason}" if title else ""
    print(f"{name:13} {done.returncode}  {edit.title:68} {seconds:4.0f} s  {cause[:90]}")
    sys.stdout.flush()
    return done.returncode == 1


def capture(repository: Path, path: Path) -> None:
    """Captures what the program launches, on a simulated GPU."""
    words = [
        sys.executable,
        "-m",
        "irscope",
        "run",
        "--target",
        "cuda:90",
        "--force",
        "-o",
        str(path),
        "launch.py",
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parent), str(repository)])}
    done = subprocess.run(words, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    if not path.exists() or "Traceback" in done.stderr:
        raise SystemExit(f"{' '.join(words)}:\n{done.stderr}")


def git(folder: Path, *words: str) -> None:
    """Runs git in a repository. Raises CalledProcessError if it fails."""
    subprocess.run([*_GIT, *words], cwd=folder, check=True)


def commit(folder: Path, message: str) -> None:
    """Commits everything in the work tree."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", message)


if __name__ == "__main__":
    sys.exit(main())
