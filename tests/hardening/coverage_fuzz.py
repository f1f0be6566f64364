"""Coverage-guided fuzzing of the parsers and of the capture reader, with atheris (libFuzzer for Python).

    python -m tests.hardening.coverage_fuzz --seconds 3600            # all targets, one after another
    python -m tests.hardening.coverage_fuzz --target ptx --seconds 60

Each target starts from its committed corpus (`corpus/TARGET.json`) and pieces of real stages, keeps the
inputs that reach new code, and saves those that raise, one per place, in FOLDER/found. `--keep` then
minimizes the corpus and writes it back. `make fuzz-coverage` runs it; the default tests replay the corpus
without atheris.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

from tests.hardening.fuzz_targets import TARGETS, Target, corpus_file, seeds

# A step from one line to another within a function.
Step = tuple[CodeType, int, int]
TraceFunction = Callable[[FrameType, str, object], object]
# Larger inputs find little that is new, and are slower.
MAX_BYTES = 4096
# The budget of one target's file: seven of them stay below 300 kB.
_KEPT_BYTES = 36_000
_MAX_SECONDS, _MAX_MEGABYTES = 10, 1000


def fuzz(target: Target, folder: Path, options: list[str]) -> None:
    """Runs libFuzzer in this process, which it ends."""
    import atheris  # Apache-2.0; not a dependency: `make fuzz-coverage` installs it

    with atheris.instrument_imports(include=["irscope"]):
        target.load()
    found = folder / "found"
    found.mkdir(exist_ok=True)

    def one_input(content: bytes) -> None:
        start = time.process_time()
        try:
            target.check(content)
        except Exception as error:  # noqa: BLE001 - a bug, which is saved; the others are looked for
            place = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{target.name}-{type(error).__name__}-{Path(place.filename).stem}-{place.lineno}"
            _save(found / name, content, traceback.format_exc())
        if time.process_time() - start > _MAX_SECONDS / 5:
            _save(found / f"{target.name}-slow", content, "slow")

    atheris.Setup([sys.argv[0], *options], one_input)
    atheris.Fuzz()


def _save(path: Path, content: bytes, reason: str) -> None:
    if not path.exists():
        path.write_bytes(content)
        path.with_suffix(".txt").write_text(reason, "utf-8", "backslashreplace")


def run_target(target: Target, folder: Path, seconds: int, keep: bool) -> str:
    """Fuzzes a target in a child process, minimizes its corpus; returns libFuzzer's last statistics."""
    corpus, seeded = folder / target.name, folder / f"{target.name}-seeds"
    for each in (corpus, seeded):
        each.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds(target)):
        (seeded / str(number)).write_bytes(content[:MAX_BYTES])
    limits = [f"-max_len={MAX_BYTES}", f"-timeout={_MAX_SECONDS}", f"-rss_limit_mb={_MAX_MEGABYTES}"]
    folders = [str(corpus), str(seeded)]
    log = _child(target, folder, [*limits, f"-max_total_time={seconds}", *folders]) if seconds else ""
    if keep:
        inputs = [path.read_bytes() for each in (corpus, seeded) for path in each.iterdir()]
        write_corpus(target, minimized(target, inputs))
    done = [line for line in log.splitlines() if line.startswith("#") and " cov: " in line]
    return done[-1] if done else log[-2000:]


def _child(target: Target, folder: Path, options: list[str]) -> str:
    words = [sys.executable, "-m", "tests.hardening.coverage_fuzz", "--inside", target.name]
    done = subprocess.run(
        [*words, "--folder", str(folder), *options, f"-artifact_prefix={folder}/found/{target.name}-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env=os.environ | {"PYTHONHASHSEED": "0"},
    )
    return done.stdout.decode("utf-8", "replace")


def minimized(target: Target, inputs: list[bytes]) -> list[bytes]:
    """The inputs that reach a step from line to line of irscope that no shorter one of them reaches."""
    target.load()
    known: set[Step] = set()
    kept = []
    for content in sorted(set(inputs), key=lambda each: (len(each), each)):
        steps = _steps(target, content)
        if not steps <= known:
            known |= steps
            kept.append(content)
    return kept


def _steps(target: Target, content: bytes) -> set[Step]:
    """The steps from line to line within functions of irscope that an input takes."""
    found: set[Step] = set()
    before: dict[int, int] = {}

    def trace(frame: FrameType, event: str, arg: object) -> TraceFunction | None:
        code = frame.f_code
        if "irscope/" not in code.co_filename or "hardening" in code.co_filename:
            return None
        if event == "line":
            found.add((code, before.get(id(frame), 0), frame.f_lineno))
            before[id(frame)] = frame.f_lineno
        elif event == "return":
            before.pop(id(frame), None)
        return trace

    sys.settrace(trace)
    try:
        target.check(content)
    except Exception as error:  # noqa: BLE001 - fuzzing reported it
        print(f"{target.name}: {error!r}")
    finally:
        sys.settrace(None)
    return found


def write_corpus(target: Target, inputs: list[bytes]) -> None:
    """Writes the smallest inputs that fit into the budget."""
    kept: list[str] = []
    size = 0
    for content in sorted(set(inputs), key=lambda each: (len(each), each)):
        text = content.decode("latin-1")
        size += len(json.dumps(text)) + 3
        if size > _KEPT_BYTES:
            break
        kept.append(text)
    corpus_file(target).parent.mkdir(exist_ok=True)
    corpus_file(target).write_text(json.dumps(kept, indent=0) + "\n")


def main() -> int:
    """Fuzzes each target for an equal part of the time; exits with 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seconds", type=int, default=3600, help="for all targets together; 0: only minimize"
    )
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--folder", type=Path, help="for corpora and findings (default: a new one)")
    parser.add_argument("--keep", action="store_true", help="minimize and write the committed corpus")
    parser.add_argument("--inside", choices=list(TARGETS), help=argparse.SUPPRESS)
    args, options = parser.parse_known_args()
    folder: Path = args.folder or Path(tempfile.mkdtemp(prefix="irscope-fuzz-"))
    if args.inside:
        fuzz(TARGETS[args.inside], folder, options)
        return 0
    names = args.target or list(TARGETS)
    (folder / "found").mkdir(parents=True, exist_ok=True)
    for name in names:
        print(
            f"{name:<16} {run_target(TARGETS[name], folder, args.seconds // len(names), args.keep)}",
            flush=True,
        )
    found = sorted((folder / "found").glob("*.txt"))
    for path in found:
        print(f"{path.with_suffix('')}\n{path.read_text('utf-8')}")
    crashes = sorted(path.name for path in (folder / "found").iterdir() if path.suffix != ".txt")
    print("found:", ", ".join(crashes) or "nothing")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
