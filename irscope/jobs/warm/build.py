"""Builds a warm folder from programs that it runs, from captures and from the kernels of a plan file.

    build(folder, {"train.py": parse_program("train.py"), "tuned.irscope": Path("tuned.irscope")}, options)

The way of each input is a straight line: launch_plans.py says what to compile, compile_input.py compiles it
into the folder, and this module adds the entries of the captures that come of it. At the end it writes the
manifest, by which verify.py compares the folder with a machine.

The kernels of a program are compiled into the folder, in which Triton finds what is there already: a build
that was killed, or whose kernels changed, compiles what is missing. Those of a capture are written from their
stages, with the hash that Triton gave them when they were compiled.
"""

from __future__ import annotations

import datetime
import fnmatch
import os
import platform
import site
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import irscope
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.compiling.toolchain.launch_stubs import StubRequest, build_stubs
from irscope.compiling.toolchain.local_keys import LocalKeys, local_keys
from irscope.jobs.warm import cache_folder
from irscope.jobs.warm.compile_input import DEFAULT_TARGET, CompiledInput, Input, Progress, compile_input
from irscope.jobs.warm.launch_plans import WarmOptions
from irscope.jobs.warm.manifest import (
    HashedFunction,
    Manifest,
    WarmEntry,
    WarmStub,
    launcher_of,
    parameter_types,
    read_manifest,
    text_digest,
    write_from_capture,
    write_manifest,
)
from irscope.jobs.warm.relocate import listed_folders, relocate
from irscope.model import SourceFunction, Target, UserError, Variant
from irscope.model.records import grouped
from irscope.model.text import pluralize, printable
from irscope.store import CaptureReader
from irscope.targets import backend_of

_NO_NAME = "its name is not one of a function"
_NO_HASH = "the capture has no hash of Triton's key of it"


@dataclass
class WarmResult:
    """The result of a build: the manifest, and how many kernels it compiled, wrote, found and removed.

    `failures` and `problems` are lines for the user: kernels that did not compile, and anything else that
    production would have to compile. `notes` are lines about what was done. `new` are the entries that the
    folder lacked before the build.
    """

    manifest: Manifest = field(default_factory=Manifest)
    new: tuple[WarmEntry, ...] = ()
    compiled: int = 0
    written: int = 0
    kept: int = 0
    removed: int = 0
    failures: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def build(
    folder: Path,
    inputs: Mapping[str, Input],
    options: WarmOptions,
    command: str = "",
    progress: Progress = lambda: nullcontext(lambda _: None),
) -> WarmResult:
    """Build the folder for inputs by their names, while it is locked.

    Raises UserError if the folder is in use, or an input cannot be read.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 - as Triton names it: links are not followed
    with cache_folder.locked(folder), ThreadPoolExecutor(1) as thread:
        before = read_manifest(folder) or Manifest()
        relocate(folder)
        # While the first program starts: its workers read what this leaves in the folder.
        local = thread.submit(local_keys, [str(options.target or DEFAULT_TARGET)], folder)
        writer = _FolderWriter(folder, options, before)
        for name, source in inputs.items():
            with temporary_folder("irscope-warm-") as scratch:
                writer.add(compile_input(name, source, folder, Path(scratch), options, progress))
        return writer.finish(command, local)


class _FolderWriter:
    """Collects the entries of inputs; `before` is the manifest of the last build."""

    def __init__(self, folder: Path, options: WarmOptions, before: Manifest) -> None:
        self.folder, self.options, self.before = folder, options, before
        self._added: dict[str, tuple[Variant, WarmEntry]] = {}
        self._sources: dict[HashedFunction, int] = {}
        # The configs that captures with benchmarks say were chosen, by kernel.
        self._chosen: dict[str, set[frozenset[tuple[str, str]]]] = {}
        # The inputs that were built whole, with their target (None: all targets that they name).
        self._done: dict[str, Target | None] = {}
        self._choices: dict[str, set[str]] = {}
        self._launched: set[str] = set()
        self._result = WarmResult()
        self._launch_problems: list[str] = []
        # The configs that cannot be written from a capture, by kernel and reason.
        self._unwritten: dict[tuple[str, str], list[str]] = {}

    def add(self, compiled: CompiledInput) -> None:
        """Add the entries of an input. What earlier builds had for it, and this one has not, is removed."""
        name, count = compiled.name, 0
        for path, by_this_build in compiled.captures:
            with CaptureReader(path) as reader:
                for variant in filter(self.options.wants, reader.variants()):
                    if by_this_build or (variant.kernel.name, variant.target) not in compiled.handled:
                        self._add_variant(variant, reader, name, by_this_build)
                        count += 1
        for path_of_choice in compiled.choices:
            self._choices.setdefault(path_of_choice, set()).add(name)
        self._launched |= compiled.launched
        self._result.notes += compiled.notes
        self._launch_problems += compiled.problems
        if not (count or compiled.code or compiled.problems):
            matching = "" if self.options.kernels == "*" else f" matching {self.options.kernels}"
            target = f" for {self.options.target}" if self.options.target else ""
            self._result.problems.append(
                f"{name}: no kernel{matching}{target} was launched; nothing was added"
            )
        if compiled.code:
            what = "what it would have launched later is missing"
            self._result.problems.append(f"{name}: exit code {compiled.code}: {what}")
        else:
            self._done[name] = compiled.target

    def _add_variant(self, variant: Variant, reader: CaptureReader, name: str, by_this_build: bool) -> None:
        kernel = variant.kernel.source.name
        if variant.failure is not None:
            self._result.failures.append(f"{kernel} {variant.config}: {variant.failure.summary}")
            return
        if not kernel.isidentifier():  # it names files
            self._unwritten.setdefault((kernel, _NO_NAME), []).append(str(variant.config))
            return
        if variant.benchmarks:
            chosen = self._chosen.setdefault(kernel, set())
            if any(benchmark.chosen for benchmark in variant.benchmarks):
                chosen.add(_config_key(variant))
        try:
            folder = cache_folder.folder_name(str(variant.metadata.get("hash", "")))
        except ValueError:
            self._result.problems.append(f"{kernel} {variant.config}: {_NO_HASH}")
            return
        entry = self.folder / folder
        if cache_folder.is_whole(entry, kernel):
            is_new = folder not in self._added
            was_compiled = is_new and by_this_build and not variant.cached
            self._result.compiled += was_compiled
            self._result.kept += is_new and not was_compiled
        elif problem := write_from_capture(entry, variant, reader):
            self._unwritten.setdefault((kernel, problem), []).append(str(variant.config))
            return
        else:
            self._result.written += 1
        if self.options.binary_only:
            cache_folder.keep_only(entry, kernel, [backend_of(variant.target).binary, "json"])
        inputs = self._added[folder][1].inputs if folder in self._added else ()
        self._added[folder] = variant, self._entry(variant, folder, (*inputs, name))

    def _entry(self, variant: Variant, folder: str, inputs: tuple[str, ...]) -> WarmEntry:
        functions = (variant.kernel.source, *variant.kernel.helpers)
        return WarmEntry(
            kernel=variant.kernel.source.name,
            target=str(variant.target),
            specialization=tuple(f"{argument.name}={argument}" for argument in variant.specialization),
            config=str(variant.config),
            folder=folder,
            hash=str(variant.metadata["hash"]),
            size=0,  # measured when the folder is complete
            types=parameter_types(variant),
            components=dict(variant.cache_key),
            sources=tuple(map(self._source, functions)),
            inputs=tuple(dict.fromkeys(inputs)),
        )

    def _source(self, function: SourceFunction | HashedFunction) -> int:
        """Return the number of a function in the manifest."""
        if isinstance(function, SourceFunction):
            function = HashedFunction(function.name, function.file, function.line, text_digest(function.text))
        return self._sources.setdefault(function, len(self._sources))

    def finish(self, command: str, local: Future[LocalKeys]) -> WarmResult:
        """Prune, build the stubs, write the manifest, and relocate the folder."""
        before, options = self.before, self.options
        self._result.problems += [*self._launch_problems, *options.unmatched(self._launched)]
        for (kernel, problem), configs in self._unwritten.items():
            more = f" and {len(configs) - 1} more" if len(configs) > 1 else ""
            self._result.problems.append(f"{kernel} {configs[0]}{more}: {problem}")
        pruned = self._prune()
        manifest = self._with_stubs(self._manifest(command), local)
        removed = pruned | (before.folders - manifest.folders)
        cache_folder.remove(self.folder, removed)
        cache_folder.clean(self.folder, manifest.folders)
        sized = (replace(e, size=cache_folder.size_of(self.folder / e.folder)) for e in manifest.entries)
        manifest = replace(manifest, entries=tuple(sized))
        write_manifest(self.folder, manifest)
        script = Path(__file__).with_name("relocate.py").read_bytes()
        (self.folder / "relocate.py").write_bytes(script)
        relocate(self.folder, options.at)
        old_hashes = {entry.hash for entry in before.entries}
        new = tuple(entry for entry in manifest.entries if entry.hash not in old_hashes)
        return replace(self._result, manifest=manifest, new=new, removed=len(removed))

    def _manifest(self, command: str) -> Manifest:
        """Return the manifest of the folder without its stubs."""
        before, options = self.before, self.options
        entries = self._entries()
        is_libcuda_new = bool(options.libcuda) or not before.library_dirs
        is_libhip_new = bool(options.libhip) or not before.libhip
        return Manifest(
            irscope=irscope.__version__,
            created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            command=command,
            at=options.at or str(self.folder),
            versions=next((dict(v.toolchain.versions) for v, _ in self._added.values()), before.versions),
            library_dirs=library_dirs(options.libcuda) if is_libcuda_new else before.library_dirs,
            libhip=libhip_paths(options.libhip) if is_libhip_new else before.libhip,
            sources=tuple(self._sources),
            entries=entries,
            choices=self._all_choices(),
        )

    def _prune(self) -> frozenset[str]:
        """Forget the entries of configs that no autotuner chose, and return their names."""
        if not self.options.prune:
            return frozenset()
        chosen = {kernel: configs for kernel, configs in self._chosen.items() if configs}
        if not chosen:
            raise UserError(
                "--prune: no input is a capture with benchmarks; make one on the GPU: irscope run"
            )
        losers = frozenset(
            folder
            for folder, (variant, entry) in self._added.items()
            if entry.kernel in chosen and _config_key(variant) not in chosen[entry.kernel]
        )
        for folder in losers:
            del self._added[folder]
        return losers

    def _entries(self) -> tuple[WarmEntry, ...]:
        """Return the entries of this build, and those that other inputs of earlier builds still need."""
        entries = [entry for _, entry in self._added.values()]
        for entry in self.before.entries:
            inputs = tuple(name for name in entry.inputs if not self._built_again(entry, name))
            is_needed = inputs and entry.folder not in self._added
            if is_needed and cache_folder.is_whole(self.folder / entry.folder, entry.kernel):
                sources = tuple(self._source(self.before.sources[index]) for index in entry.sources)
                entries.append(replace(entry, inputs=inputs, sources=sources))
        return tuple(entries)

    def _built_again(self, entry: WarmEntry, name: str) -> bool:
        """Return True if this build would have the entry if the input with this name still needed it."""
        covered = name in self._done and fnmatch.fnmatchcase(entry.kernel, self.options.kernels)
        return covered and str(self._done[name] or entry.target) == entry.target

    def _all_choices(self) -> dict[str, tuple[str, ...]]:
        """Return the files with autotuned choices and their inputs; remove those that no input needs."""
        choices = self._choices
        for path, names in self.before.choices.items():
            if left := set(names) - self._done.keys():
                choices.setdefault(path, set()).update(left)
        cache_folder.remove_files(self.folder, frozenset(self.before.choices) - choices.keys())
        return {path: tuple(sorted(names)) for path, names in sorted(choices.items())}

    def _with_stubs(self, manifest: Manifest, local_: Future[LocalKeys]) -> Manifest:
        """Build the stubs and return the manifest with them; without them if Triton here is another."""
        try:
            local = local_.result()
            if not set(manifest.targets) <= set(local.backends):
                local = local_keys(manifest.targets, self.folder)
        except OSError as error:
            self._result.problems.append(f"no driver module: Triton cannot be used here ({error})")
            return manifest
        manifest = replace(
            manifest, extension=local.extension, platform=local.platform, triton_path=local.triton_path
        )
        if problem := _foreign_problem(local, manifest):
            self._result.problems.append(problem)
            return manifest
        launchers = (launcher_of(self.folder / entry.folder, entry) for entry in manifest.entries)
        request = StubRequest(
            str(self.folder),
            manifest.backends,
            tuple(dict.fromkeys(launchers)),
            manifest.library_dirs,
            manifest.libhip,
        )
        try:
            built = build_stubs(request)
        except OSError as error:
            self._result.problems.append(f"driver module and launchers were not built: {error}")
            return manifest
        self._result.problems += [
            f"{stub.name} was not built: {stub.problem}" for stub in built if stub.problem
        ]
        stubs = (
            WarmStub(stub.name, stub.backend, stub.file, stub.source, stub.folders, stub.size)
            for stub in built
            if not stub.problem
        )
        return replace(manifest, stubs=tuple(stubs))


def _config_key(variant: Variant) -> frozenset[tuple[str, str]]:
    """Return the config, in any order of its names."""
    return frozenset((name, str(value)) for name, value in variant.config.values)


def _foreign_problem(local: LocalKeys, manifest: Manifest) -> str:
    """Return why the stubs of this Triton do not fit the kernels: another one compiled them; else ""."""
    foreign, total = len(manifest.foreign_entries(local.triton)), len(manifest.entries)
    if not foreign:
        return ""
    if foreign < total:
        return (
            f"no driver module and launchers: another build of Triton compiled {foreign} of "
            f"{total} kernels in the folder; build into a new folder"
        )
    versions = manifest.versions
    return (
        f"no driver module and launchers: Triton {versions.get('triton', '?')} (Python "
        f"{versions.get('python', '?')}) compiled the kernels, here is another build: "
        f"{local.version} (Python {local.python}); build where production's is installed"
    )


def library_dirs(libcuda: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the results that Triton's search for libcuda may have in production.

    The search is `libcuda_dirs` of its driver. The keys of the driver module depend on them in
    Triton 3.8 and 3.9.
    """
    chosen = libcuda or tuple(filter(None, [os.environ.get("TRITON_LIBCUDA_PATH")]))
    if chosen:
        return tuple(tuple(folder.split(":")) for folder in chosen)
    machine = platform.machine()
    usual = (
        f"/lib/{machine}-linux-gnu",  # Debian, Ubuntu with the NVIDIA container toolkit
        f"/usr/lib/{machine}-linux-gnu",
        "/lib64",  # Fedora, RHEL, Amazon Linux
        "/usr/lib64",
        "/usr/local/nvidia/lib64",  # Google Kubernetes Engine
        "/usr/lib/wsl/lib",
    )
    local_dirs = tuple(listed_folders("libcuda.so.1") or ())
    return tuple(dict.fromkeys([*([local_dirs] if local_dirs else []), *((folder,) for folder in usual)]))


def libhip_paths(libhip: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of libamdhip64.so that Triton may find in production.

    The source of its module has the path.
    """
    chosen = libhip or tuple(filter(None, [os.environ.get("TRITON_LIBHIP_PATH")]))
    packages = (f"{folder}/torch/lib/libamdhip64.so" for folder in site.getsitepackages()[:1])
    return chosen or (*packages, "/opt/rocm/lib/libamdhip64.so")


_UNITS = ("B", "kB", "MB", "GB")


def result_text(folder: Path, result: WarmResult) -> str:
    """Return the counts of a build, the folder's sizes, and how to use it."""
    lines = [_counts(folder, result)]
    if result.manifest.entries:
        notes = map(printable, result.notes)
        lines += [*size_lines(result.manifest), *notes, *_use(folder, result.manifest)]
    return "\n".join(lines)


def _counts(folder: Path, result: WarmResult) -> str:
    done = {
        "compiled": result.compiled,
        "written from captures": result.written,
        "there already": result.kept,
        "removed": result.removed,
        "failed": len(result.failures),
    }
    counts = ", ".join(f"{number} {what}" for what, number in done.items() if number)
    if not result.manifest.entries:
        return printable(f"{folder}: no kernel{counts and ': ' + counts}")
    entries = pluralize(len(result.manifest.entries), "variant")
    return printable(f"{folder}: {entries} for {', '.join(result.manifest.targets)}: {counts}")


def new_entry_text(entry: WarmEntry) -> str:
    """Return an entry that the folder lacked, in one line with the inputs that need it."""
    inputs = ", ".join(entry.inputs)
    return f"not in the folder before: {entry.kernel} {entry.target} ({entry.config}), for {inputs}"


def size_lines(manifest: Manifest) -> Iterator[str]:
    """Yield a line per kernel with its variants and bytes, the largest first, and one for the stubs."""
    rows = [
        (name, pluralize(len(entries), "variant"), sum(entry.size for entry in entries))
        for name, entries in grouped(manifest.entries, lambda entry: entry.kernel).items()
    ]
    rows.sort(key=lambda row: -row[2])
    for name, stubs in grouped(manifest.stubs, lambda stub: stub.name).items():
        entries = pluralize(sum(len(stub.folders) for stub in stubs), "entry")
        rows.append((name, entries, sum(stub.size for stub in stubs)))
    rows.append(("total", "", sum(size for _, _, size in rows)))
    width = max(len(name) for name, _, _ in rows)
    for name, count, size in rows:
        yield printable(f"  {name:{width}}  {size_text(size):>8}  {count}").rstrip()


def size_text(size: int) -> str:
    """Return a number of bytes with three digits."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.{0 if unit == 0 or value >= 100 else 1}f} {_UNITS[unit]}"


def _use(folder: Path, manifest: Manifest) -> Iterator[str]:
    yield printable(
        f"production: TRITON_CACHE_DIR={manifest.at}; check there: irscope warm --verify {folder}"
    )
    yield "if the folder moves: python3 relocate.py in it, or build with --at PATH"
