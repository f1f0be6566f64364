"""Whether rebuilding an unedited stage gives the original's machine code, per sample, target and Triton.

    python -m tests.truth.rebuild_identity
    python -m tests.truth.rebuild_identity --triton 3.9.0 --target cuda:90 --sample matmul.py

Compiles the first config of each sample for each target with each Triton, then rebuilds it from every stage
as `irscope build` does, and compares the sections of the binary that hold machine code (ptxas writes the time
of the source file into `.debug_line`). Prints a table, and a line per difference. Versions of Triton that are
not installed here are installed with uv into --cache. Each rebuild is a process that loads Triton.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from irscope.cli import compile as compile_command
from irscope.cli import options
from irscope.compiling.sweep import compile_plan, planned
from irscope.compiling.toolchain.rebuild import RebuildError, Rebuilt, rebuild
from irscope.learn.sample_commands import samples
from irscope.model import Target, Variant
from irscope.model.stage import gluon_stage
from irscope.store import CaptureReader, CaptureWriter
from irscope.targets import TARGETS, backend_of, parse_target
from irscope.targets.elf import code_digest

VERSIONS = ("3.6.0", "3.7.1", "3.8.0", "3.9.0")
STAGES = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
# cc 7.0, 7.2: ptxas 13 does not assemble for them.
DEFAULT_TARGETS = tuple(str(t) for t in TARGETS if str(t) not in ("cuda:70", "cuda:72"))


def main() -> int:
    """Prints the table; 1 if a rebuild differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--triton", action="append", help="default: " + ", ".join(VERSIONS))
    parser.add_argument("--target", action="append")
    parser.add_argument("--sample", action="append")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir(), "irscope-triton"))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.sample or [sample.path.name for sample in samples()]
    targets = args.target or DEFAULT_TARGETS
    if args.worker:
        return _work(names[0], [parse_target(target) for target in targets])
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for name in names:
        for version in args.triton or VERSIONS:
            for line in _results(name, version, targets, args.cache):
                _count(line, version, counts)
        print(f"after {name}:", flush=True)
        _print_table(counts, args.triton or VERSIONS)
    return int(any(outcome == "differs" for *_, outcome in counts))


def _results(name: str, version: str, targets: tuple[str, ...], cache: Path) -> list[dict[str, str]]:
    """The results of one sample with one version, from a process that has it."""
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache / f"cache-{version}")}
    if metadata.version("triton") != version:
        paths = [str(_installed(version, cache)), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    words = [word for target in targets for word in ("--target", target)]
    command = [sys.executable, __file__, "--worker", "--sample", name, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name} {version}: {done.stderr.strip().splitlines()[-1:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _installed(version: str, cache: Path) -> Path:
    folder = cache / f"triton-{version}"
    if not (folder / "triton").is_dir():
        command = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--python",
            sys.executable,
        ]
        subprocess.run([*command, "--target", str(folder), f"triton=={version}"], check=True)
    return folder


def _count(line: dict[str, str], version: str, counts: Counter[tuple[str, str, str, str]]) -> None:
    counts[version, line["target"].partition(":")[0], line["stage"], line["outcome"]] += 1
    if line["outcome"] != "equal":
        place = f"{line['sample']} {line['target']} Triton {version} {line['stage']}"
        print(f"{place}: {line['outcome']} {line['detail']}", flush=True)


def _print_table(counts: Counter[tuple[str, str, str, str]], versions: tuple[str, ...]) -> None:
    """A row per version and backend, a column per stage: equal of all that were rebuilt."""
    print("* equal assembly, for which the assembler gave another binary")
    print(f"{'Triton':<8}{'backend':<9}" + "".join(f"{stage:>15}" for stage in STAGES))
    for version in versions:
        for backend in ("cuda", "hip"):
            cells = []
            for stage in STAGES:
                found = {
                    o: counts[version, backend, stage, o]
                    for o in ("equal", "assembler", "differs", "rejected")
                }
                total = sum(found.values())
                random = f" ({found['assembler']}*)" if found["assembler"] else ""
                cells.append(f"{found['equal']} of {total}{random}" if total else "-")
            print(f"{version:<8}{backend:<9}" + "".join(f"{cell:>15}" for cell in cells), flush=True)


def _work(name: str, targets: list[Target]) -> int:
    """Compiles and rebuilds one sample with the Triton of this process; a JSON line per rebuild."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "sample.irscope")
        _compile_first(name, targets, capture)
        with CaptureReader(capture) as reader:
            for variant in reader.variants():
                if variant.failure is None:
                    for stage, (outcome, detail) in _rebuilds(reader, variant).items():
                        found = {"sample": name, "target": str(variant.target), "stage": stage}
                        print(json.dumps({**found, "outcome": outcome, "detail": detail}), flush=True)
    return 0


def _compile_first(name: str, targets: list[Target], capture: Path) -> None:
    """Compiles the first config of a sample for each target."""
    parser = argparse.ArgumentParser()
    compile_command.add_arguments(parser)
    sample = next(one for one in samples() if one.path.name == name)
    args = parser.parse_args([*sample.arguments])
    args.target = list(map(str, targets))
    request = options.sweep_request(args, args.kernel)
    with CaptureWriter.create(capture) as writer, planned(request, 1) as (plan, workers):
        jobs = {job.target: job for job in reversed(plan.jobs)}
        first = replace(plan, jobs=tuple(jobs.values()))
        compile_plan(first, workers, writer, "benchmark", 300.0, lambda progress, id_: None)


def _rebuilds(reader: CaptureReader, variant: Variant) -> dict[str, tuple[str, str]]:
    """Per stage, whether the rebuild is "equal", "differs" or was "rejected", and why.

    "assembler": the assembly is equal, but the assembler gave another binary, as ptxas-blackwell can.
    """
    texts = {s: (reader.read(variant, s) or b"").decode() for s in reversed(STAGES) if s in variant.artifacts}
    options_ = {**variant.metadata, **dict(variant.config.values)}
    gluon = gluon_stage(variant.artifacts) is not None
    verdicts = {}
    for stage, text in texts.items():
        built: Rebuilt | RebuildError
        try:
            built = rebuild(stage, text, variant.target, options_, metadata=variant.metadata, gluon=gluon)
        except RebuildError as error:
            built = error
        verdicts[stage] = _verdict(reader, variant, built)
    return verdicts


def _verdict(reader: CaptureReader, variant: Variant, built: Rebuilt | RebuildError) -> tuple[str, str]:
    if isinstance(built, RebuildError):
        return "rejected", str(built)
    binary = backend_of(variant.target).binary
    if code_digest(reader.read(variant, binary) or b"") == code_digest(built.artifacts[binary]):
        return "equal", ""
    assembly = backend_of(variant.target).assembly
    if built.artifacts.get(assembly, b"") == (reader.read(variant, assembly) or b"differs"):
        return "assembler", f"gave another {binary} for the same {assembly}"
    made = built.artifacts.items()
    return "differs", "in " + ", ".join(name for name, text in made if reader.read(variant, name) != text)


if __name__ == "__main__":
    sys.exit(main())
