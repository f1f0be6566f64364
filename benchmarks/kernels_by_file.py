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
import ast
import hashlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from irscope.capturing.compile.pool import Stop, Worker, run_jobs
from irscope.capturing.messages import SweepRequest
from irscope.model import Target, UserError, parse_value
from irscope.toolchain.argument_uses import Resolve
from irscope.toolchain.guess import Guess, guess
from irscope.workspace import parse_target

SECONDS = 60
STUB = "import sys\nfrom unittest.mock import MagicMock\nm = MagicMock(name=__name__)\nm.__path__ = []\n"
STUB += "m.__spec__ = __spec__\nm.__name__ = __name__\nm.__version__ = '99.0'\nsys.modules[__name__] = m\n"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a library and its kernels."""

    library: str
    path: Path
    kernels: tuple[ast.FunctionDef, ...]
    resolve: Resolve = field(compare=False)


@dataclass(slots=True)
class Result:
    """One kernel: what plain Triton and irscope said, and the stages that differ."""

    library: str
    file: str
    kernel: str
    plain: bool = False
    plain_error: str = ""
    irscope: bool = False
    refusal: str = ""
    different: list[str] = field(default_factory=list)
    stubbed: list[str] = field(default_factory=list)


# Finding kernels.


def libraries(folders: Sequence[Path]) -> list[Path]:
    """Each folder with Python files below it: a library, or the libraries in the folder."""
    return [
        library
        for folder in folders
        for library in ([folder] if any(folder.glob("*.py")) else sorted(folder.iterdir()))
        if library.is_dir()
    ]


def sources(library: Path) -> list[Source]:
    """The files of a library that define kernels, in a fixed pseudorandom order."""
    functions: dict[Path, list[ast.FunctionDef]] = {}
    for path in sorted(library.rglob("*.py")):
        functions[path] = list(jit_functions(path))
    index: dict[str, list[ast.FunctionDef]] = defaultdict(list)
    for found in functions.values():
        for function in found:
            index[function.name].append(function)
    result = []
    for path, found in functions.items():
        own = {function.name: function for function in found}
        called = {name for function in found for name in called_names(function)}
        kernels = [one for one in found if one.name not in called and not returns_value(one)]
        if kernels:
            result.append(Source(library.name, path, tuple(kernels), partial(resolve, own, index)))
    return sorted(
        result, key=lambda one: hashlib.sha256(str(one.path.relative_to(library)).encode()).digest()
    )


def jit_functions(path: Path) -> Iterator[ast.FunctionDef]:
    """The `@triton.jit` functions at the top level of a file, also within `if` and `try`."""
    try:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings(action="ignore"):
            pending: list[ast.AST] = [ast.parse(text)] if "triton" in text else []
    except (SyntaxError, ValueError):
        return
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef):
            decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            if any(ast.unparse(decorator) in ("triton.jit", "jit") for decorator in decorators):
                yield node
        elif isinstance(node, ast.Module | ast.If | ast.Try):
            pending += list(ast.iter_child_nodes(node))[::-1]


def returns_value(function: ast.FunctionDef) -> bool:
    """Whether it is a helper of kernels."""
    returns = (node for node in ast.walk(function) if isinstance(node, ast.Return))
    return any(node.value is not None for node in returns)


def called_names(function: ast.FunctionDef) -> set[str]:
    """The names that a function calls."""
    return {n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def resolve(
    own: dict[str, ast.FunctionDef], index: dict[str, list[ast.FunctionDef]], node: ast.expr
) -> ast.FunctionDef | None:
    """The definition that a call refers to: in the same file, else the only one of its name."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    found = [own[name]] if name in own else index.get(name, [])
    return found[0] if len(found) == 1 else None


def sample(found: list[Source], number: int) -> list[Source]:
    """The first files with `number` kernels in all; no file gives more than a quarter of them."""
    chosen, left = [], number
    for source in found:
        if left <= 0:
            break
        kernels = source.kernels[: min(left, max(number // 4, 1))]
        chosen.append(Source(source.library, source.path, kernels, source.resolve))
        left -= len(kernels)
    return chosen


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
        output = self._folder / hashlib.sha256(str(source.path).encode()).hexdigest()[:12]
        output.mkdir(exist_ok=True)
        tried = {one.name: attempts(guess(one, source.resolve)) for one in source.kernels}
        plain, stubs = self._plain(source, tried, output)
        results = []
        environment = self._environment("irscope", None)
        worker = Worker(partial(start, environment))
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
                worker = Worker(partial(start, self._environment("irscope", output / "stubs")))
                worker = self._irscope(worker, request, result, said, output)
        worker.stop()
        return results

    def _environment(self, side: str, stubs: Path | None) -> dict[str, str]:
        paths = [str(stubs)] if stubs else []
        paths += filter(None, [os.environ.get("PYTHONPATH")])
        cache = str(self._folder / f"{side}-cache")
        return {**os.environ, "TRITON_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(paths)}

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
            "kernels": [{"name": name, "attempts": tries} for name, tries in tried.items()],
        }
        stubs: set[str] = set()
        while True:
            lines = self._run_plain(request, output / "stubs")
            first = lines[0] if lines else {"import": "the process ended", "missing": None}
            missing = first.get("missing")
            if not missing or missing in stubs or len(stubs) > 30 or not may_be_stubbed(missing, root, stubs):
                break
            stubs.add(missing)
            write_stub(output / "stubs", missing)
        if first["import"]:
            return {name: {"errors": [f"import: {first['import']}"]} for name in tried}, stubs
        return {line["name"]: line for line in lines[1:]}, stubs

    def _run_plain(self, request: dict[str, Any], stubs: Path) -> list[dict[str, Any]]:
        script = Path(__file__).with_name("plain_triton.py")
        limit = 60 + 4 * SECONDS * len(request["kernels"])
        environment = self._environment("plain", stubs)
        with (stubs.parent / "plain.log").open("ab") as log:
            done = subprocess.run(
                [sys.executable, str(script)], input=json.dumps(request).encode(), stdout=subprocess.PIPE,
                stderr=log, env=environment, timeout=limit, check=False,
            )  # fmt: skip
        return [json.loads(line) for line in done.stdout.splitlines()]

    def _request(
        self, path: Path, kernel: str, tried: list[dict[str, Any]], said: dict[str, Any]
    ) -> SweepRequest:
        """The attempt that plain Triton compiled, without what the kernel's decorators give."""
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
            plan = worker.plan(request, Stop())
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


def start(environment: dict[str, str], pipe: socket.socket, printed: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts irscope's worker, as `irscope compile` does, in this environment."""
    command = [sys.executable, "-m", "irscope.capturing.compile.worker", str(pipe.fileno())]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, pass_fds=[pipe.fileno()],
        start_new_session=True, env=environment,
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
        for one in enumerate(sample(sources(library), args.per_library))
    ]
    # One file per library in turn, so that an unfinished run has some of each.
    waiting = [one for _, one in sorted(chosen, key=lambda pair: pair[0]) if str(one.path) not in kept]
    print(f"{sum(len(one.kernels) for one in waiting)} kernels of {len(waiting)} files", flush=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        for done in as_completed(
            pool.submit(Bench(folder.resolve(), args.target).compare, one) for one in waiting
        ):
            kept[str(done.result()[0].file)] = done.result()
            listed = [asdict(one) for found in kept.values() for one in found]
            (folder / "results.json").write_text(json.dumps(listed, indent=1))
    results = [one for _, source in chosen for one in kept[str(source.path)]]
    print(report(results))
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
