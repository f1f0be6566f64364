"""Compiles the kernels of libraries by file with irscope and with plain Triton, and compares every stage.

    python benchmarks/kernels_by_file.py FOLDER... [--per-library 30] [--target cuda:90] [--output OUT]

Each FOLDER is a library, or has a folder per library. Every `@triton.jit` function that returns nothing and
that no other one of its file calls is a kernel; the sample takes whole files in a fixed pseudorandom order.
Types and constexprs are guessed from the kernel's text; the configs are its own, of which the first is
compiled. Plain Triton (plain_triton.py, a process per file that imports the module as the library's users do)
tries a few guesses; the first that compiles is then given to irscope, and all stages are compared byte by
byte, debug locations included. A third-party module that is missing is replaced by an empty stub, for irscope
only if it named the module. With the --output of an earlier run, only files with refusals are run again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch  # noqa: F401 - for the forked workers
import triton  # noqa: F401
from library_kernels import Library, Source, libraries

from irscope.capturing.compile.pool import Stop, Worker, run_jobs
from irscope.capturing.compile.worker import serve_requests
from irscope.capturing.messages import SweepRequest
from irscope.capturing.record.forked import fork
from irscope.model import Target, UserError, parse_value
from irscope.toolchain.guess import Guess, guess
from irscope.toolchain.triton_cache import digest
from irscope.workspace import parse_target

SECONDS = 600  # per kernel
STUB = "import sys\nfrom unittest.mock import MagicMock\nm = MagicMock(name=__name__)\nm.__path__ = []\n"
STUB += "m.__spec__ = __spec__\nm.__name__ = __name__\nm.__version__ = '99.0'\nsys.modules[__name__] = m\n"


@dataclass(slots=True)
class Result:
    """One kernel: the outcomes of plain Triton and of irscope, and the stages that differ."""

    library: str
    file: str
    kernel: str
    plain: bool = False
    plain_error: str = ""
    irscope: bool = False
    refusal: str = ""
    different: list[str] = field(default_factory=list)
    stubbed: list[str] = field(default_factory=list)


# Guessing.


def attempts(found: Guess) -> list[dict[str, Any]]:
    """The guess, then the variations that a user would try after an error."""
    fp32 = {name: type_.replace("fp16", "fp32") for name, type_ in found.types.items()}
    small = {name: "16" if text in ("64", "32", "1024") else text for name, text in found.constants.items()}
    true = {name: "True" if text == "False" else text for name, text in found.constants.items()}
    tried = [(found.types, found.constants), (fp32, found.constants), (fp32, small), (found.types, true)]
    integers = {name: type_.replace("fp16", "i32") for name, type_ in found.types.items()}
    tried += [(integers, found.constants), (fp32, true)]
    return [{"types": types, "constants": texts} for types, texts in tried]


# Compiling.


def package_root(path: Path) -> tuple[Path, str]:
    """The folder that users have on sys.path for a file, and the module's name."""
    folders = [folder for folder in path.parents if (folder / "__init__.py").is_file()]
    root = folders[-1].parent if folders else path.parent
    return root, ".".join(path.relative_to(root).with_suffix("").parts)


class Bench:
    """Compiles files with both; `folder` keeps the stages, caches and stubs."""

    def __init__(self, folder: Path, target: Target) -> None:
        self._folder, self._target = folder, target

    def compare(self, source: Source) -> list[Result]:
        """A result per kernel of a file."""
        output = self._folder / digest(str(source.path))[:12]
        output.mkdir(exist_ok=True)
        tried = {one.name: attempts(guess(one, source.resolve)) for one in source.kernels}
        plain, stubs = self._plain(source, tried, output)
        results = []
        worker = self._worker([])
        for kernel in source.kernels:
            result = Result(source.library, str(source.path), kernel.name)
            results.append(result)
            said = plain.get(kernel.name, {"errors": ["no answer"]})
            result.plain = "attempt" in said
            result.plain_error = "" if result.plain else said["errors"][0]
            if not result.plain and not result.plain_error.startswith("import:"):
                continue
            request = self._request(source.path, kernel.name, tried[kernel.name], said)
            worker = self._irscope(worker, request, result, said, output)
            if "needs the module" in result.refusal and stubs:
                result.stubbed = sorted(stubs)
                worker.stop()
                worker = self._worker([str(output / "stubs")])
                worker = self._irscope(worker, request, result, said, output)
        worker.stop()
        return results

    def _plain(
        self, source: Source, tried: dict[str, list[dict[str, Any]]], output: Path
    ) -> tuple[dict[str, dict[str, Any]], set[str]]:
        """Plain Triton's result per kernel, and the missing modules that were stubbed."""
        root, module = package_root(source.path)
        arch = int(self._target.arch) if self._target.backend == "cuda" else self._target.arch
        request = {
            "root": str(root),
            "module": module,
            "target": [self._target.backend, arch],
            "output": str(output),
            "paths": [str(output / "stubs")],
            "kernels": [{"name": name, "attempts": tries} for name, tries in tried.items()],
        }
        stubs: set[str] = set()
        while True:
            lines = self._run_plain(request)
            first = lines[0] if lines else {"import": "the process ended", "missing": None}
            missing = first.get("missing")
            if not missing or missing in stubs or len(stubs) > 30 or not may_be_stubbed(missing, root, stubs):
                break
            stubs.add(missing)
            write_stub(output / "stubs", missing)
        if first["import"]:
            return {name: {"errors": [f"import: {first['import']}"]} for name in tried}, stubs
        return {line["name"]: line for line in lines[1:]}, stubs

    def _run_plain(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        server = plain_server(self._folder)
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        return [json.loads(line) for line in iter(server.stdout.readline, "\n")]

    def _worker(self, paths: list[str]) -> Worker:
        """A worker of `irscope compile` in a fork of this process, which has torch and Triton already."""
        cache_folder = str(self._folder / "irscope-cache")

        def serve(pipe: Connection) -> None:
            os.environ["TRITON_CACHE_DIR"] = cache_folder
            sys.path[:0] = paths
            serve_requests(pipe)

        return Worker(partial(fork, serve=serve))

    def _request(
        self, path: Path, kernel: str, tried: list[dict[str, Any]], said: dict[str, Any]
    ) -> SweepRequest:
        """The attempt that plain Triton compiled, without the values that the kernel's decorators set."""
        attempt = tried[said.get("attempt", 0)]
        signature = ", ".join(f"{name}={type_}" for name, type_ in attempt["types"].items())
        texts = {k: text for k, text in attempt["constants"].items() if k not in said.get("given", ())}
        constants = {name: parse_value(text) for name, text in texts.items()}
        return SweepRequest(path, kernel, signature or None, constants, {}, (self._target,))

    def _irscope(
        self, worker: Worker, request: SweepRequest, result: Result, said: dict[str, Any], output: Path
    ) -> Worker:
        """Fills in irscope's part of the result; returns the worker for the next kernel."""
        result.irscope, result.refusal, result.different = False, "", []
        if not worker.alive:
            worker = worker.replacement()
        try:
            plan = worker.plan(request, Stop(), 300.0)
        except UserError as error:
            unknown = [name for name in said.get("heuristics", {}) if f"'{name}'" in str(error)]
            if not unknown or unknown[0] in request.constants or "run-time argument" not in str(error):
                result.refusal = str(error)
                return worker
            value = parse_value(said["heuristics"][unknown[0]])
            more = {**request.constants, unknown[0]: value}
            changed = SweepRequest(request.file, request.kernel, request.signature, more, {}, request.targets)
            return self._irscope(worker, changed, result, said, output)
        workers = [worker]
        for _, outcome in run_jobs(plan.jobs[:1], workers, SECONDS, lambda _: None):
            if outcome.failure is not None:
                result.refusal = f"compiling: {outcome.failure.summary}"
                continue
            result.irscope = True
            for stage in said.get("stages", ()):
                expected = (output / f"{result.kernel}.{stage}").read_bytes()
                if outcome.artifacts.get(stage) != expected:
                    result.different.append(stage)
                    (output / f"{result.kernel}.{stage}.irscope").write_bytes(
                        outcome.artifacts.get(stage, b"")
                    )
        return workers[0]


@cache
def plain_server(folder: Path) -> subprocess.Popen[str]:
    """The server of plain Triton for this process."""
    script = Path(__file__).with_name("plain_triton.py")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "plain-cache")}
    log = (folder / f"plain-{os.getpid()}.log").open("a")
    return subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
        env=environment, text=True,
    )  # fmt: skip


def may_be_stubbed(module: str, root: Path, stubs: set[str]) -> bool:
    """Whether a module is of a third party that is not installed."""
    top = module.partition(".")[0]
    return top in stubs or (importlib.util.find_spec(top) is None and not (root / top).exists())


def write_stub(folder: Path, module: str) -> None:
    """An empty module, and the packages that it is in."""
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        file = folder.joinpath(*parts[:depth], "__init__.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(STUB.replace("m.__path__ = []", f"m.__path__ = [{str(file.parent)!r}]"))


_WAITING: list[Source] = []  # for the forked processes: a Source cannot be pickled
_BENCH: Bench | None = None


def compare(number: int) -> list[Result]:
    """The results of one of the files."""
    assert _BENCH is not None
    return _BENCH.compare(_WAITING[number])


# Reporting.


def report(results: Sequence[Result]) -> str:
    """A line per library, then each refusal with its reason."""
    heading = f"{'library':24}{'kernels':>8}{'plain':>7}{'irscope':>9}{'equal':>7}{'refused':>9}{'more':>6}"
    lines, groups = [heading], defaultdict(list)
    for result in results:
        groups[result.library].append(result)
    for name, group in [*groups.items(), ("all", list(results))]:
        plain = [one for one in group if one.plain]
        compiled = [one for one in plain if one.irscope]
        equal = sum(not one.different for one in compiled)
        more = sum(one.irscope and not one.plain for one in group)
        refused = len(plain) - len(compiled)
        lines.append(f"{name:24}{len(group):8}{len(plain):7}{len(compiled):9}{equal:7}{refused:9}{more:6}")
    for one in results:
        place = f"{one.file}::{one.kernel}"
        if one.plain and (not one.irscope or one.different):
            lines.append(f"{place}: {one.refusal or 'differs: ' + ', '.join(one.different)}")
    reasons = Counter(one.plain_error[:100] for one in results if not one.plain)
    lines += ["", "plain Triton fails:", *(f"{count:5}  {text}" for text, count in reasons.most_common(25))]
    return "\n".join(lines)


def finished(path: Path) -> dict[str, list[Result]]:
    """The results of an earlier run by file, without the files of which irscope refused a kernel."""
    results: dict[str, list[Result]] = {}
    for one in json.loads(path.read_text()) if path.is_file() else []:
        results.setdefault(one["file"], []).append(Result(**one))
    return {
        file: found
        for file, found in results.items()
        if not any(one.plain and (not one.irscope or one.different) for one in found)
    }


def main() -> None:
    """Compares the sample of each library."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--per-library", type=int, default=30, metavar="N")
    parser.add_argument("--target", type=parse_target, default=parse_target("cuda:90"))
    parser.add_argument("--output", type=Path, help="keep stages and results.json here")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    folder = args.output or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    kept = finished(folder / "results.json")
    chosen = [
        one
        for library in libraries([one.resolve() for one in args.folders])
        for one in enumerate(Library(library).sample(args.per_library))
    ]
    # One file per library in turn, so that an unfinished run has some of each.
    waiting = [one for _, one in sorted(chosen, key=lambda pair: pair[0]) if str(one.path) not in kept]
    print(f"{sum(len(one.kernels) for one in waiting)} kernels of {len(waiting)} files", flush=True)
    global _WAITING, _BENCH
    _WAITING, _BENCH = waiting, Bench(folder.resolve(), args.target)
    with ProcessPoolExecutor(args.jobs, get_context("fork")) as pool:
        for done in as_completed(pool.submit(compare, number) for number in range(len(waiting))):
            kept[str(done.result()[0].file)] = done.result()
            listed = [asdict(one) for found in kept.values() for one in found]
            (folder / "results.json").write_text(json.dumps(listed, indent=1))
    results = [one for _, source in chosen for one in kept[str(source.path)]]
    print(report(results))
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
