"""Compiles one variant with the Triton of a side, in a process of that side's Python, and keeps the result.

Results are captures of one variant in the user's cache folder, named after everything that they depend on, so
that a second bisection compiles nothing.

A digest of a Python file and of the user's files that it imports, read as text: nothing is executed.

Results that bisections keep in the user's cache folder, by the digest of all that they depend on.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import get_ident

import irscope
from irscope.compiling.executor import started_workers
from irscope.compiling.messages import Plan, SweepRequest, WhatIfRequest
from irscope.compiling.pool import run_jobs
from irscope.facts.fact import Fact
from irscope.findings.passes import PassModule, PassStep
from irscope.jobs.versions.environments import Environment
from irscope.languages.document import Document
from irscope.model import Argument, Config, Target, Toolchain, UserError, Variant
from irscope.model.records import frozen
from irscope.store import CaptureWriter
from irscope.targets import is_source_stage, stages_of
from irscope.workspace import Workspace

# Beyond this, files are not followed: a package of the user's has fewer.
_MOST_FILES = 400


def source_state(file: Path, root: Path | None = None) -> str:
    """Return the digest of `file` and the files it imports from its own folders; names count from `root`.

    Imports are found in the text, also those inside functions. Installed packages are not followed. Paths
    below `root` enter relative to it, so that the same files in two folders have the same digest.
    """
    digest = hashlib.sha256()
    for path in source_files(file, root):
        name = path.relative_to(root) if root and path.is_relative_to(root) else path
        digest.update(f"{name}\0".encode("utf-8", "replace"))
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def source_files(file: Path, root: Path | None = None) -> list[Path]:
    """Return the file and those that it imports from its own folders, in the order they are found."""
    first = file.resolve()
    bases = [first.parent, *_package_roots(first), *([root.resolve()] if root else [])]
    found: dict[Path, None] = {first: None}
    waiting = [first]
    while waiting and len(found) < _MOST_FILES:
        path = waiting.pop()
        for each in _imported(path, bases):
            if each not in found:
                found[each] = None
                waiting.append(each)
    return list(found)


def _package_roots(file: Path) -> Iterator[Path]:
    """Yield the folder above the outermost package that a file is in."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    yield folder


def _imported(path: Path, bases: list[Path]) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name, (), bases)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            places = bases
            if node.level:
                places = [path.parents[min(node.level, len(path.parents)) - 1]]
            yield from _files(node.module or "", names, places)


def _files(module: str, names: tuple[str, ...], bases: list[Path]) -> Iterator[Path]:
    """Yield the files of a module, of the packages around it, and of the modules that `names` may be."""
    if module.partition(".")[0] in sys.stdlib_module_names:
        return
    parts = module.split(".") if module else []
    for base in bases:
        wanted = [parts[:number] for number in range(1, len(parts) + 1)]
        wanted += [[*parts, name] for name in names if name.isidentifier()]
        for each in wanted:
            for file in (base.joinpath(*each).with_suffix(".py"), base.joinpath(*each, "__init__.py")):
                if file.is_file():
                    yield file.resolve()


# The oldest files are removed beyond this. A compiled variant with its passes takes 0.2 to 2 MB.
_MAX_BYTES = 512 << 20


def default_folder() -> Path:
    """Return the folder `bisect` in the user's cache folder, or where IRSCOPE_CACHE points."""
    import platformdirs

    return Path(os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope")) / "bisect"


class KeptResults:
    """The files of a folder; `made` counts those that were made since this was created."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or default_folder()
        self.made = 0

    def get(self, key: str, make: Callable[[Path], None], suffix: str = ".irscope") -> Path:
        """Return the file of a key, which `make` writes if there is none. Raises what that raises.

        The file appears when it is complete.
        """
        path = self._folder / f"{key}{suffix}"
        if path.exists():
            with contextlib.suppress(OSError):
                os.utime(path)  # the oldest are removed first
            return path
        self._folder.mkdir(parents=True, exist_ok=True)
        part = self._folder / f"{key}.{os.getpid()}-{get_ident()}.part"
        try:
            make(part)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        self.made += 1
        self._remove_oldest(path)
        return path

    def discard_unfinished(self) -> None:
        """Remove what threads of this process that were left behind have begun to write."""
        with contextlib.suppress(OSError):
            for part in self._folder.glob(f"*.{os.getpid()}-*.part*"):
                part.unlink(missing_ok=True)

    def _remove_oldest(self, keep: Path) -> None:
        with contextlib.suppress(OSError):
            states = sorted(
                ((file.stat(), file) for file in self._folder.iterdir()), key=lambda pair: pair[0].st_mtime
            )
            total = sum(state.st_size for state, _ in states)
            for state, file in states:
                if total <= _MAX_BYTES:
                    break
                if file != keep:
                    file.unlink(missing_ok=True)
                    total -= state.st_size


COMMAND = "irscope bisect"
# Failures that another attempt may not have: the process was ended, or could not start.
_MAYBE_PASSING = ("exited", "timeout")
# Part of every key: results of another version of irscope are made again.
_FORMAT = f"2 {irscope.__version__}"


@frozen
class Subject:
    """The variant that is bisected: a kernel of a file with one specialization, config and target."""

    file: Path
    kernel: str
    target: Target
    specialization: tuple[Argument, ...]
    config: Config

    def request(self) -> WhatIfRequest:
        """Return the request to compile it, with its passes."""
        of = self.file, self.kernel, self.target, self.specialization, self.config
        return WhatIfRequest(*of, axes={}, passes=True)


class CompiledVariant:
    """A variant as a side compiled it, in a capture of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.workspace = Workspace(path)
        (self.variant,) = self.workspace.variants
        # In the order in which they were made; without those of a front end.
        self.stages = pipeline(self.variant)

    @property
    def facts(self) -> Mapping[str, Fact]:
        """The facts by name."""
        return self.workspace.facts(self.variant)

    @property
    def steps(self) -> list[PassStep]:
        """The passes in order."""
        return self.workspace.passes(self.variant)

    def read(self, stage: str) -> bytes | None:
        """Return the content of a stage; None if it has none."""
        return self.workspace.contents.read(self.variant, stage)

    def text(self, stage: str) -> str:
        """Return the text of a stage; "" if it has none."""
        return (self.read(stage) or b"").decode("utf-8", "replace")

    def module(self, module: PassModule) -> Document:
        """Parse a module between two passes."""
        return self.workspace.module(module, self.variant)


def pipeline(variant: Variant) -> tuple[str, ...]:
    """Return the stages of a variant that Triton's backend makes one from the other, in order."""
    return tuple(
        stage.name
        for stage in stages_of(variant)
        if stage.name in variant.artifacts and not is_source_stage(stage.name) and not stage.derived_from
    )


def plan_on(side: Environment, request: SweepRequest | WhatIfRequest, seconds: float) -> Plan:
    """Return the plan of a request, made with a side's Triton. Raises UserError."""
    with started_workers(1, side.spawner()) as (worker,):
        return worker.ask(request, seconds)


def digest_of(*parts: str) -> str:
    """Return the key of a result that depends on all of these."""
    digest = hashlib.sha256()
    for part in (_FORMAT, *parts):
        digest.update(part.encode("utf-8", "replace"))
        digest.update(b"\0")
    return digest.hexdigest()


def compile_on(
    side: Environment, subject: Subject, kept: KeptResults, seconds: float, root: Path | None = None
) -> CompiledVariant:
    """Return the variant as a side compiles it; `root` is the folder that imports of the file may start in.

    Raises UserError if it cannot be planned or compiled there, with the compiler's line.
    """
    key = digest_of(
        "compile",
        side.identity,
        source_state(subject.file, root),
        subject.kernel,
        str(subject.target),
        repr(subject.specialization),
        repr(sorted(subject.config.values, key=lambda pair: pair[0])),
    )
    compiled = opened(kept.get(key, partial(_compile, side, subject, seconds)))
    if compiled.variant.failure is not None:
        failure = compiled.variant.failure
        raise UserError(f"{subject.kernel} does not compile: {failure.kind}: {failure.summary}")
    return compiled


def opened(path: Path) -> CompiledVariant:
    """Open a capture, and remove it if its failure may be of the machine and not of the code."""
    compiled = CompiledVariant(path)
    failure = compiled.variant.failure
    if failure is not None and failure.kind in _MAYBE_PASSING:
        path.unlink(missing_ok=True)
    return compiled


def _compile(side: Environment, subject: Subject, seconds: float, path: Path) -> None:
    """Compiles into a capture at `path`. A failed variant is kept too, unless it ran out of time."""
    with started_workers(1, side.spawner()) as workers:
        plan = workers[0].ask(subject.request(), seconds)
        job = plan.jobs[0]
        ((_, outcome),) = run_jobs([job], workers, seconds)
    if outcome.failure is not None and outcome.failure.kind == "timeout":
        raise UserError(f"{subject.kernel}: {outcome.failure.summary} (--timeout)")
    from irscope.compiling.sweep import unfinished_variant

    with CaptureWriter.create(path, force=True) as writer:
        toolchain = Toolchain(0, plan.versions, COMMAND)
        writer.add_compiled(plan.kernel(), toolchain, outcome.added_to(unfinished_variant(job)))
