"""Whether rebuilding an unedited stage gives the original's machine code, per sample, target and Triton.

    python benchmarks/rebuild_identity.py
    python benchmarks/rebuild_identity.py --triton 3.9.0 --target cuda:90 --sample matmul.py

Compiles the first config of each sample for each target with each Triton, then rebuilds it from every stage
as `irscope build` does, and compares the sections of the binary that hold machine code (ptxas writes the time
of the source file into `.debug_line`). Prints a table, and a line per difference. Versions of Triton that are
not installed here are installed with uv into --cache. Takes about 0.4 s of CPU per rebuild.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from irscope.backends import TARGETS, backend_of, parse_target
from irscope.backends.elf import code_digest
from irscope.capturing.compile.sweep import compile_plan, planned
from irscope.cli import compile as compile_command
from irscope.cli import options
from irscope.learn.sample_commands import find_sample, samples
from irscope.model import Target, UserError, Variant
from irscope.model.stage import gluon_stage
from irscope.store import CaptureReader, CaptureWriter
from irscope.toolchain.rebuild import RebuildError, rebuild

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
    print(f"{'Triton':<8}{'backend':<9}" + "".join(f"{stage:>12}" for stage in STAGES))
    for version in versions:
        for backend in ("cuda", "hip"):
            cells = []
            for stage in STAGES:
                found = {o: counts[version, backend, stage, o] for o in ("equal", "differs", "rejected")}
                total = sum(found.values())
                cells.append(f"{found['equal']} of {total}" if total else "-")
            print(f"{version:<8}{backend:<9}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


def _work(name: str, targets: list[Target]) -> int:
    """Compiles and rebuilds one sample with the Triton of this process; a JSON line per rebuild."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "sample.irscope")
        for target in targets:
            _compile_first(name, target, capture)
        with CaptureReader(capture) as reader:
            for variant in reader.variants():
                if variant.failure is None:
                    for stage in STAGES:
                        if stage in variant.artifacts:
                            outcome, detail = _rebuild(reader, variant, stage)
                            found = {"sample": name, "target": str(variant.target), "stage": stage}
                            print(json.dumps({**found, "outcome": outcome, "detail": detail}), flush=True)
    return 0


def _compile_first(name: str, target: Target, capture: Path) -> None:
    parser = argparse.ArgumentParser()
    compile_command.add_arguments(parser)
    args = parser.parse_args([*find_sample(name).arguments, "--target", str(target)])
    args.target = [str(target)]
    request = options.sweep_request(args, args.kernel)
    writer = CaptureWriter.resume(capture) if capture.exists() else CaptureWriter.create(capture)
    with writer, suppress(UserError), planned(request, 1) as (plan, workers):  # some are for one target only
        first = replace(plan, jobs=plan.jobs[:1])
        compile_plan(first, workers, writer, "benchmark", 300.0, lambda progress, id_: None)


def _rebuild(reader: CaptureReader, variant: Variant, stage: str) -> tuple[str, str]:
    """Whether the rebuild is "equal", "differs" or was "rejected", and why."""
    binary = backend_of(variant.target).binary
    text = (reader.read(variant, stage) or b"").decode()
    try:
        built = rebuild(
            stage,
            text,
            variant.target,
            {**variant.metadata, **dict(variant.config.values)},
            metadata=variant.metadata,
            gluon=gluon_stage(variant.artifacts) is not None,
        )
    except RebuildError as error:
        return "rejected", str(error)
    before, after = reader.read(variant, binary) or b"", built.artifacts[binary]
    if code_digest(before) == code_digest(after):
        return "equal", ""
    return "differs", _first_different(reader, variant, built.artifacts)


def _first_different(reader: CaptureReader, variant: Variant, made: object) -> str:
    assert isinstance(made, dict)
    return "in " + ", ".join(name for name, content in made.items() if reader.read(variant, name) != content)


if __name__ == "__main__":
    sys.exit(main())
