"""Builds a warm folder: from programs that it runs, and from captures.

    with WarmBuild(folder, options) as build:
        build.add_program(parse_program("train.py"), "train.py")
        build.add_capture(Path("tuned.irscope"))
        result = build.finish()

The kernels of a program are compiled into the folder, in which Triton finds what is there already: a build
that was killed, or whose kernels changed, compiles what is missing. Those of a capture are written from their
stages, with the hash that Triton gave them when they were compiled.
"""

from __future__ import annotations

import datetime
import fnmatch
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import irscope
from irscope.compiling.messages import Program, RunOptions
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.compiling.toolchain.launch_stubs import Launcher, StubRequest, build_stubs
from irscope.compiling.toolchain.local_keys import LocalKeys, local_keys
from irscope.jobs.warm import cache_folder
from irscope.jobs.warm.launch_build import Launches, WarmOptions, libhip_paths, library_dirs
from irscope.jobs.warm.manifest import (
    HashedFunction,
    Manifest,
    WarmEntry,
    config_key,
    launcher_of,
    parameter_types,
    read_manifest,
    warm_stub,
    write_from_capture,
    write_manifest,
)
from irscope.jobs.warm.relocate import relocate
from irscope.jobs.warm.run_program import cache_at, run_into
from irscope.model import SourceFunction, Target, UserError, Variant
from irscope.recording.background_writer import WrittenCounts
from irscope.store import CaptureReader
from irscope.targets import backend_of, parse_target

DEFAULT_TARGET = parse_target("cuda:90")
_NO_NAME = "its name is not one of a function"


@dataclass(frozen=True, slots=True)
class WarmResult:
    """The result of a build: the manifest, and how many kernels it compiled, wrote, found and removed.

    `failures` and `problems` are lines for the user: kernels that did not compile, and anything else that
    production would have to compile. `notes` are lines about what was done. `new` are the entries that the
    folder lacked before the build.
    """

    manifest: Manifest
    new: tuple[WarmEntry, ...]
    compiled: int
    written: int
    kept: int
    removed: int
    failures: tuple[str, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass
class _Counts:
    compiled: int = 0
    written: int = 0
    kept: int = 0


@dataclass(slots=True)
class _Added:
    """An entry, and its variant's config, by which it may be pruned."""

    entry: WarmEntry
    config: tuple[Any, ...]
    versions: dict[str, str] = field(default_factory=dict)


class WarmBuild:
    """A build of the folder, which is locked within the block.

    `old` is the manifest of the last build, `run_options` are those of programs; `launches` may add more.
    """

    def __init__(self, folder: Path, options: WarmOptions) -> None:
        self.folder = Path(os.path.abspath(folder))  # noqa: PTH100 - as Triton names it: links are not followed
        self.options = options
        self.old = Manifest()
        self.failures: list[str] = []
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.launches: Launches | None = None
        self.run_options = RunOptions(
            target=options.target or DEFAULT_TARGET,
            kernels=options.kernels,
            processes=options.processes,
            seconds=options.seconds,
        )
        self._counts = _Counts()
        self._stack = ExitStack()
        self._added: dict[str, _Added] = {}
        self._sources: dict[HashedFunction, int] = {}
        self._chosen: dict[str, set[tuple[Any, ...]]] = {}
        self._done: dict[str, Target | None] = {}
        # The configs that cannot be written from a capture, by kernel and reason.
        self._unwritten: dict[tuple[str, str], list[str]] = {}

    def __enter__(self) -> WarmBuild:
        self._stack.enter_context(cache_folder.locked(self.folder))
        self.old = read_manifest(self.folder) or Manifest()
        relocate(self.folder)
        thread = self._stack.enter_context(ThreadPoolExecutor(1))
        # While the first program starts: its workers read what this leaves in the folder.
        self._local = thread.submit(self._local_keys, [str(self.options.target or DEFAULT_TARGET)])
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add_program(
        self, program: Program, name: str, report: Callable[[WrittenCounts], None] = lambda _: None
    ) -> int:
        """Run a program and add everything that it compiles; returns its exit code."""
        with temporary_folder("irscope-warm-") as temporary:
            with self.launches.input(name) if self.launches else nullcontext():
                code = run_into(program, self.folder, Path(temporary), self.run_options, report)
            captures = sorted(Path(temporary).glob("*.irscope"))
            variant_count = sum(self._add(capture, name, compiled=True) for capture in captures)
            if self.launches:
                for capture in captures:
                    self.launches.add_launched(capture, name)
        self._expect_kernels(name, variant_count or code)
        if code:
            self.problems.append(f"{name}: exit code {code}: what it would have launched later is missing")
        else:
            self.complete(name, self.run_options.target)
        return code

    def add_capture(self, path: Path, name: str = "") -> None:
        """Add what a capture has; `name` is the input that it is. Raises UserError if it cannot be read."""
        name = name or str(path)
        handled = self.launches.add_capture(path, name) if self.launches else frozenset()
        self._expect_kernels(name, self._add(path, name, handled) or len(handled))
        self.complete(name, self.options.target)

    def add_compiled(self, path: Path, name: str) -> None:
        """Add the variants of a capture that were compiled into the folder for the input with this name."""
        self._add(path, name, compiled=True)

    def complete(self, name: str, target: Target | None = None) -> None:
        """Note that the input with this name was built whole, for this target.

        None means all targets that it names. What earlier builds had for it, and this one has not, is
        removed.
        """
        self._done[name] = target

    def cache_here(self) -> AbstractContextManager[None]:
        """Make the folder the Triton cache of the processes that are started within the block."""
        return cache_at(self.folder)

    def finish(self, command: str = "") -> WarmResult:
        """Prunes, builds the stubs, writes the manifest, and relocates the folder."""
        choices = self._choices_of_launches()
        for (kernel, problem), configs in self._unwritten.items():
            more = f" and {len(configs) - 1} more" if len(configs) > 1 else ""
            self.problems.append(f"{kernel} {configs[0]}{more}: {problem}")
        pruned = self._pruned()
        entries, sources = self._entries()
        removed = {entry.folder for entry in self.old.entries} - {entry.folder for entry in entries} | pruned
        described = replace(self._described(command), entries=entries, sources=sources, choices=choices)
        manifest = self._with_stubs(described)
        removed |= self.old.folders - manifest.folders
        cache_folder.remove(self.folder, removed)
        cache_folder.clean(self.folder, manifest.folders)
        manifest = self._measured(manifest)
        write_manifest(self.folder, manifest)
        script = Path(__file__).with_name("relocate.py").read_bytes()
        (self.folder / "relocate.py").write_bytes(script)
        relocate(self.folder, self.options.at)
        old_hashes = {entry.hash for entry in self.old.entries}
        new = tuple(entry for entry in manifest.entries if entry.hash not in old_hashes)
        counts = self._counts
        return WarmResult(
            manifest, new, counts.compiled, counts.written, counts.kept, len(removed),
            tuple(self.failures), tuple(self.problems), tuple(self.notes),
        )  # fmt: skip

    def _add(
        self,
        path: Path,
        name: str,
        without: frozenset[tuple[str, Target]] = frozenset(),
        compiled: bool = False,
    ) -> int:
        """Add the variants of a capture, and return how many there are.

        `compiled` says that this build compiled what is not cached.
        """
        with CaptureReader(path) as reader:
            selected = [
                variant
                for variant in reader.variants()
                if self._wanted(variant) and (variant.kernel.name, variant.target) not in without
            ]
            for variant in selected:
                self._add_variant(variant, reader, name, compiled)
        return len(selected)

    def _expect_kernels(self, name: str, found: int) -> None:
        if not found:
            matching = "" if self.options.kernels == "*" else f" matching {self.options.kernels}"
            target = f" for {self.options.target}" if self.options.target else ""
            self.problems.append(f"{name}: no kernel{matching}{target} was launched; nothing was added")

    def _wanted(self, variant: Variant) -> bool:
        chosen = self.options.target in (None, variant.target)
        # No launch looks an edit up.
        return (
            chosen and variant.edit is None and fnmatch.fnmatchcase(variant.kernel.name, self.options.kernels)
        )

    def _add_variant(self, variant: Variant, reader: CaptureReader, name: str, compiled: bool) -> None:
        kernel, config = variant.kernel.source.name, config_key(variant)
        if variant.failure is not None:
            self.failures.append(f"{kernel} {variant.config}: {variant.failure.summary}")
            return
        if not kernel.isidentifier():  # it names files
            self._unwritten.setdefault((kernel, _NO_NAME), []).append(str(variant.config))
            return
        if variant.benchmarks:
            chosen = self._chosen.setdefault(kernel, set())
            if any(benchmark.chosen for benchmark in variant.benchmarks):
                chosen.add(config)
        try:
            folder = cache_folder.folder_name(str(variant.metadata.get("hash", "")))
        except ValueError:
            self.problems.append(f"{kernel} {variant.config}: the capture has no hash of Triton's key of it")
            return
        entry = self.folder / folder
        if cache_folder.is_whole(entry, kernel):
            by_this_build = compiled and not variant.cached and folder not in self._added
            self._counts.compiled += by_this_build
            self._counts.kept += not by_this_build and folder not in self._added
        elif problem := write_from_capture(entry, variant, reader):
            self._unwritten.setdefault((kernel, problem), []).append(str(variant.config))
            return
        else:
            self._counts.written += 1
        if self.options.binary_only:
            cache_folder.keep_only(entry, kernel, [backend_of(variant.target).binary, "json"])
        self._remember(variant, folder, name)

    def _remember(self, variant: Variant, folder: str, name: str) -> None:
        before = self._added.get(folder)
        inputs = before.entry.inputs if before else ()
        functions = (variant.kernel.source, *variant.kernel.helpers)
        entry = WarmEntry(
            kernel=variant.kernel.source.name,
            target=str(variant.target),
            specialization=tuple(f"{argument.name}={argument}" for argument in variant.specialization),
            config=str(variant.config),
            folder=folder,
            hash=str(variant.metadata["hash"]),
            size=0,  # measured when the folder is complete
            types=parameter_types(variant),
            components=dict(variant.cache_key),
            sources=tuple(self._source(function) for function in functions),
            inputs=tuple(dict.fromkeys([*inputs, name])),
        )
        versions = dict(variant.toolchain.versions)
        self._added[folder] = _Added(entry, config_key(variant), versions)

    def _source(self, function: SourceFunction) -> int:
        digest = hashlib.sha256(function.text.encode("utf-8", "replace")).hexdigest()
        lines = HashedFunction(function.name, function.file, function.line, digest)
        return self._sources.setdefault(lines, len(self._sources))

    def _pruned(self) -> set[str]:
        """Forgets the entries of configs that no autotuner chose, and returns their names."""
        if not self.options.prune:
            return set()
        chosen = {kernel: configs for kernel, configs in self._chosen.items() if configs}
        if not chosen:
            raise UserError(
                "--prune: no input is a capture with benchmarks; make one on the GPU: irscope run"
            )
        losers = {
            folder
            for folder, added in self._added.items()
            if added.config not in chosen.get(added.entry.kernel, {added.config})
        }
        for folder in losers:
            del self._added[folder]
        return losers

    def _entries(self) -> tuple[tuple[WarmEntry, ...], tuple[HashedFunction, ...]]:
        """Return the entries of this build, those of other inputs of earlier builds, and all sources."""
        entries = [added.entry for added in self._added.values()]
        for entry in self.old.entries:
            inputs = tuple(name for name in entry.inputs if not self._built_again(entry, name))
            if entry.folder in self._added or not inputs:
                continue
            if cache_folder.is_whole(self.folder / entry.folder, entry.kernel):
                entry_sources = [self.old.sources[index] for index in entry.sources]
                sources = tuple(
                    self._sources.setdefault(lines, len(self._sources)) for lines in entry_sources
                )
                entries.append(replace(entry, inputs=inputs, sources=sources))
        return tuple(entries), tuple(self._sources)

    def _built_again(self, entry: WarmEntry, name: str) -> bool:
        """Return True if this build would have the entry if the input with this name still needed it."""
        covered = name in self._done and fnmatch.fnmatchcase(entry.kernel, self.options.kernels)
        return covered and str(self._done[name] or entry.target) == entry.target

    def _choices_of_launches(self) -> dict[str, tuple[str, ...]]:
        if self.launches is None:
            return dict(self.old.choices)
        choices = self.launches.finish(set(self._done))
        self.notes += self.launches.notes
        self.problems += self.launches.problems
        return choices

    def _described(self, command: str) -> Manifest:
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        versions = next((added.versions for added in self._added.values()), dict(self.old.versions))
        return Manifest(
            irscope=irscope.__version__,
            created=now,
            command=command,
            at=self.options.at or str(self.folder),
            versions=versions,
            library_dirs=self._library_dirs(),
            libhip=self._libhip(),
        )

    def _library_dirs(self) -> tuple[tuple[str, ...], ...]:
        """Return the folders of libcuda in production: as the options say, or as in the last build."""
        libcuda = self.options.libcuda
        return library_dirs(libcuda) if libcuda or not self.old.library_dirs else self.old.library_dirs

    def _libhip(self) -> tuple[str, ...]:
        libhip = self.options.libhip
        return libhip_paths(libhip) if libhip or not self.old.libhip else self.old.libhip

    def _measured(self, manifest: Manifest) -> Manifest:
        sizes = (cache_folder.size_of(self.folder / entry.folder) for entry in manifest.entries)
        pairs = zip(manifest.entries, sizes, strict=True)
        return replace(manifest, entries=tuple(replace(entry, size=size) for entry, size in pairs))

    def _with_stubs(self, manifest: Manifest) -> Manifest:
        """Build the stubs and return the manifest with them; without them if Triton here is another."""
        try:
            local = self._local.result()
            if not set(manifest.targets) <= set(local.backends):
                local = self._local_keys(manifest.targets)
        except OSError as error:
            self.problems.append(f"no driver module: Triton cannot be used here ({error})")
            return manifest
        described = replace(
            manifest, extension=local.extension, platform=local.platform, triton_path=local.triton_path
        )
        if not self._fits(local, manifest):
            return described
        request = StubRequest(
            str(self.folder),
            tuple(dict.fromkeys(target.partition(":")[0] for target in manifest.targets)),
            tuple(dict.fromkeys(self._launchers(manifest))),
            manifest.library_dirs,
            manifest.libhip,
        )
        try:
            built = build_stubs(request)
        except OSError as error:
            self.problems.append(f"driver module and launchers were not built: {error}")
            return described
        self.problems += [f"{stub.name} was not built: {stub.problem}" for stub in built if stub.problem]
        return replace(described, stubs=tuple(warm_stub(stub) for stub in built if not stub.problem))

    def _local_keys(self, targets: Sequence[str]) -> LocalKeys:
        return local_keys(targets, self.folder)

    def _fits(self, local: LocalKeys, manifest: Manifest) -> bool:
        """Return True if the kernels were compiled by the Triton that is installed here."""
        foreign = [e for e in manifest.entries if e.components.get("triton", local.triton) != local.triton]
        if len(foreign) < len(manifest.entries) and foreign:
            self.problems.append(
                f"no driver module and launchers: another build of Triton compiled {len(foreign)} of "
                f"{len(manifest.entries)} kernels in the folder; build into a new folder"
            )
        elif foreign:
            versions = manifest.versions
            self.problems.append(
                f"no driver module and launchers: Triton {versions.get('triton', '?')} (Python "
                f"{versions.get('python', '?')}) compiled the kernels, here is another build: "
                f"{local.version} (Python {local.python}); build where production's is installed"
            )
        return not foreign

    def _launchers(self, manifest: Manifest) -> Iterator[Launcher]:
        return (launcher_of(self.folder / entry.folder, entry) for entry in manifest.entries)
