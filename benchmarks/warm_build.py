"""Builds warm folders of programs of public libraries, and compares that with a plain loop.

    python benchmarks/warm_build.py CORPUS [--site FOLDER] [--only WORD]

For each program of programs.toml that PROGRAMS names, four processes run, each with a folder of its own:

- plain: the program with plain Triton on a fake libcuda (tests/fake_gpu) and an empty cache. It compiles each
  kernel at its launch, one after the other, as on a machine with a GPU.
- build: `irscope warm` with two workers and an empty folder
- production: the program on the fake libcuda with the moved and relocated folder; ptxas and the C compiler
  are replaced by programs that fail. Counts their calls, and the files that Triton adds.
- changed: `irscope warm` again after one kernel of the library's copy was changed

Prints wall and CPU seconds. The ratio of wall times is meaningful on an idle machine with 2 cores only.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.programs import Program, programs  # noqa: E402
from irscope.warming.manifest import Manifest, read_manifest  # noqa: E402
from tests.fake_gpu import build_libcuda, poisoned_programs, production_environment  # noqa: E402

PROGRAMS = (
    "liger norms",
    "liger swiglu, geglu and rope",
    "attorch layers",
)
_COUNTS = re.compile(r"(\d+) (compiled|there already)")


@dataclass
class Timed:
    """A process: its wall and CPU seconds (with its children), exit code and output."""

    seconds: float
    cpu: float
    code: int
    output: str


def run(words: list[str], environment: dict[str, str], folder: Path) -> Timed:
    """Runs a process to its end."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        words, env=environment, cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timed(time.perf_counter() - start, cpu, done.returncode, done.stdout + done.stderr)


class Bench:
    """One program in a folder of its own, with a copy of its library."""

    def __init__(self, program: Program, library: Path, site: Path | None, folder: Path) -> None:
        self.folder = folder
        copy = folder / "library"
        for path in program.library.paths:
            shutil.copytree(
                library / path, copy / path, ignore=shutil.ignore_patterns(".git"), dirs_exist_ok=True
            )
        paths = [*(copy / path for path in program.library.paths), *([site] if site else [])]
        self.paths = os.pathsep.join([*map(str, paths), os.environ.get("PYTHONPATH", "")])
        self.script = folder / "program.py"
        self.script.write_text(program.code.lstrip())
        self.libcuda = build_libcuda(folder / "lib")

    def plain(self, cache: Path, poison: dict[str, str] | None = None) -> Timed:
        """Runs the program on the fake GPU."""
        environment = production_environment(self.libcuda, cache) | {"FAKE_CUDA_TENSORS": "irscope"}
        environment |= {"PYTHONPATH": f"{self.paths}{os.pathsep}{ROOT}"} | (poison or {})
        return run(
            [sys.executable, str(ROOT / "tests/fake_gpu/production.py"), str(self.script)],
            environment,
            self.folder,
        )

    def build(self) -> Timed:
        """Builds the warm folder, or builds it again."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_")}
        environment = kept | {"PYTHONPATH": f"{self.paths}{os.pathsep}{ROOT}"}
        words = [sys.executable, "-m", "irscope", "warm", str(self.script), "--target", "cuda:90"]
        words += ["-o", "warm", "-j", "2", "--libcuda", str(self.libcuda.parent)]
        return run(words, environment, self.folder)

    def manifest(self) -> Manifest:
        """The manifest of the folder."""
        return read_manifest(self.folder / "warm") or Manifest()

    def production(self) -> tuple[Timed, int, int]:
        """The program with a moved folder: calls of ptxas and the C compiler, and new files."""
        moved = self.folder / "moved"
        shutil.copytree(self.folder / "warm", moved)
        subprocess.run([sys.executable, str(moved / "relocate.py")], check=True, capture_output=True)
        poison = poisoned_programs(self.folder / "poison", ptxas_paths())
        before = set(moved.rglob("*"))
        timed = self.plain(moved, poison)
        log = Path(poison["POISON_LOG"])
        calls = len(log.read_text().splitlines()) if log.exists() else 0
        return timed, calls, len(set(moved.rglob("*")) - before)

    def change_a_kernel(self) -> tuple[str, int]:
        """Appends a comment inside one kernel, which is part of Triton's key; its name and variants."""
        manifest = self.manifest()
        entry = next(e for e in manifest.entries if str(self.folder) in manifest.sources[e.sources[0]].file)
        source = manifest.sources[entry.sources[0]]
        lines = Path(source.file).read_text().splitlines(keepends=True)
        index = next(i for i in range(source.line - 1, len(lines)) if lines[i].rstrip().endswith("):"))
        lines[index] = f"{lines[index].rstrip()}  # changed\n"
        Path(source.file).write_text("".join(lines))
        index = manifest.sources.index(source)
        return source.name, sum(index in entry.sources for entry in manifest.entries)


def ptxas_paths() -> dict[str, str]:
    """Triton's own ptxas, by the variable that replaces it."""
    import importlib.util

    spec = importlib.util.find_spec("triton")
    tools = Path(str(spec and spec.origin)).parent / "backends/nvidia/bin"
    found = {"TRITON_PTXAS_PATH": tools / "ptxas", "TRITON_PTXAS_BLACKWELL_PATH": tools / "ptxas-blackwell"}
    return {name: str(path) for name, path in found.items() if path.exists()}


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one program."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _times(timed: Timed) -> str:
    return f"{timed.seconds:6.1f} s  {timed.cpu:6.1f} s CPU"


def main() -> None:
    """Prints a block per program, and the sums."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--site", type=Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    sums = [0.0, 0.0, 0.0, 0.0]
    for program in programs():
        name = f"{program.library.name} {program.name}"
        if name not in PROGRAMS or args.only not in name or not program.code:
            continue
        library = args.corpus / program.library.folder
        if not library.is_dir():
            print(f"{name}: no folder {library}")
            continue
        with scratch() as folder:
            bench = Bench(program, library, args.site, folder)
            plain, built = bench.plain(folder / "plain"), bench.build()
            if plain.code or built.code:
                print(f"{name}: failed:\n{plain.output[-1500:] if plain.code else built.output[-1500:]}")
                continue
            variants = len(bench.manifest().entries)
            timed, calls, added = bench.production()
            kernel, using = bench.change_a_kernel()
            again = bench.build()
            counts = {what: int(number) for number, what in _COUNTS.findall(again.output)}
        sums = [
            a + b for a, b in zip(sums, (plain.seconds, plain.cpu, built.seconds, built.cpu), strict=True)
        ]
        print(f"{name}: {variants} variants")
        print(f"  plain       {_times(plain)}")
        wall, cpu = built.seconds / plain.seconds, built.cpu / plain.cpu
        print(f"  build       {_times(built)}, {wall:.2f} of plain (CPU {cpu:.2f})")
        state = "ended" if not timed.code else f"FAILED: {timed.output[-300:]}"
        print(f"  production  {_times(timed)}, {calls} compilations, {added} new files, {state}")
        compiled, kept = counts.get("compiled", 0), counts.get("there already", 0)
        print(f"  changed     {_times(again)}, {kernel}, which {using} variants use:", end=" ")
        print(f"{compiled} compiled, {kept} there already", flush=True)
    if sums[0]:
        print(f"all: build {sums[2]:.1f} s, plain {sums[0]:.1f} s: {sums[2] / sums[0]:.2f}", end=" ")
        print(f"(CPU {sums[3]:.1f} s, {sums[1]:.1f} s: {sums[3] / sums[1]:.2f})")


if __name__ == "__main__":
    main()
