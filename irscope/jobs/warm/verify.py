"""Compares a warm folder with this machine, component by component of Triton's keys, and compiles nothing.

The functions in the manifest are compared with the files of this machine as text: nothing is imported.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from irscope.compiling.toolchain.launch_stubs import StubRequest, build_stubs
from irscope.compiling.toolchain.local_keys import LocalKeys, local_keys
from irscope.jobs.warm.cache_folder import file_stem, read_json
from irscope.jobs.warm.manifest import (
    MANIFEST,
    HashedFunction,
    Manifest,
    WarmEntry,
    read_manifest,
    text_digest,
)
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.model.text import pluralize, printable
from irscope.model.variant import ENVIRONMENT, OPTION, variable_value
from irscope.targets import backend_of, parse_target

_PACKAGES = ("site-packages", "dist-packages")
# Longer files are no Python modules that somebody wrote.
_MAX_BYTES = 16 << 20


def find_changes(source: HashedFunction) -> str | None:
    """Return how a function here differs from the manifest's ("": not at all).

    Return None if its file is not found. Triton's key has a function's text and first line, not
    the path of its file.
    """
    path = _local_file(source.file)
    lines = None if path is None else _lines(path)
    if path is None or lines is None:
        return None
    if _digest(lines, source.line) == source.digest:
        return ""
    for name, first in _definitions(path):
        if name == source.name and _digest(lines, first) == source.digest:
            return f"{path}: line {source.line} in the folder, {first} here (the key has the line number)"
    return f"{path}:{source.line}: the function's text differs"


def _local_file(name: str) -> Path | None:
    """Return the file at this path, or in the same package installed elsewhere."""
    path = Path(name)
    if path.is_file():
        return path
    folder = next((folder for folder in _PACKAGES if folder in path.parts), None)
    if folder is None:
        return None
    in_package = path.parts[len(path.parts) - path.parts[::-1].index(folder) :]
    candidates = (Path(entry, *in_package) for entry in sys.path)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@lru_cache(maxsize=256)
def _lines(path: Path) -> tuple[str, ...] | None:
    try:
        if path.stat().st_size > _MAX_BYTES:  # a manifest may name any file
            return None
        return tuple(path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True))
    except OSError:
        return None


def _digest(lines: tuple[str, ...], first: int) -> str:
    """Return the sha256 of the function at this line, decorators included, as `inspect` finds it."""
    try:
        text = "".join(inspect.getblock(list(lines[first - 1 :])))
    except (SyntaxError, IndexError):
        return ""
    return text_digest(text)


@lru_cache(maxsize=256)
def _definitions(path: Path) -> list[tuple[str, int]]:
    """Return the functions of a file by their first lines, decorators included."""
    try:
        tree = ast.parse("".join(_lines(path) or ()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [
        (f.name, min([f.lineno, *(decorator.lineno for decorator in f.decorator_list)])) for f in functions
    ]


OK, DIFFERS, UNKNOWN = "ok", "differs", "unknown"
# Options that no config sets, but the environment, the installation or the device.
_MACHINE_OPTIONS = ("arch", "enable_fp_fusion", "debug", "instrumentation_mode", "ptx_options", "warp_size")
_RELEASE = re.compile(r"\bV(\d+\.\d+\.\d+)")


@frozen
class ComponentCheck:
    """One component: its state, what the folder and this machine have, and what to do if they differ."""

    component: str
    state: str
    text: str
    advice: str = ""


def _difference(component: str, built: str, local: str, advice: str) -> ComponentCheck:
    return ComponentCheck(component, DIFFERS, f"folder {built}, here {local}", advice)


def verify(folder: Path) -> list[ComponentCheck]:
    """Compare every component of the folder's keys with this machine.

    Raises UserError if it has none.
    """
    if not folder.is_dir():
        problem = "is a file, not" if folder.exists() else "no such folder; specify"
        raise UserError(f"{folder}: {problem} a folder that irscope warm -o built")
    manifest = read_manifest(folder)
    if manifest is None:
        raise UserError(f"{folder}: has no {MANIFEST}; specify a folder that irscope warm -o built")
    try:
        local = local_keys(manifest.targets)
    except OSError as error:
        raise UserError(f"Triton cannot be used here: {error}; run this where production runs") from error
    return [
        _triton(manifest, local),
        *_backends(manifest, local),
        *_environment(manifest, local),
        *_options(manifest, local),
        *_device(manifest, local),
        _paths(folder, manifest),
        *_stubs(folder, manifest, local),
        *_sources(manifest),
    ]


def _triton(manifest: Manifest, local: LocalKeys) -> ComponentCheck:
    built_version, python = (manifest.versions.get(name, "?") for name in ("triton", "python"))
    if not manifest.foreign_entries(local.triton):
        return ComponentCheck("triton", OK, f"{local.version}, Python {local.python}")
    if built_version != local.version:
        advice = f"install triton=={built_version}, or build the folder with {local.version}"
    elif _minor(python) != _minor(local.python):
        advice = (
            f"libtriton.so differs between Python versions: use Python {_minor(python)}, or build with this"
        )
    else:
        advice = "another build of this version, or edited files: use the same wheel or image on both sides"
    built, here = f"{built_version} (Python {python})", f"{local.version} (Python {local.python})"
    return _difference("triton", built, here, advice)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _backends(manifest: Manifest, local: LocalKeys) -> Iterator[ComponentCheck]:
    """Yield a check per target: the version of ptxas, or of AMD's code generator."""
    for target in manifest.targets:
        local_backend = local.backends[target]
        built = [e.components.get("backend", local_backend) for e in manifest.entries if e.target == target]
        foreign = next((backend for backend in built if backend != local_backend), None)
        name = f"backend {target}"
        if foreign is None:
            yield ComponentCheck(name, OK, _release(local_backend))
            continue
        advice = "use the same wheel or image"
        if variables := backend_of(parse_target(target)).assembler_variables:
            advice += f", or set {' or '.join(variables)} to the same assembler"
        yield _difference(name, _release(foreign), _release(local_backend), advice)


def _release(backend: str) -> str:
    """Return the release of ptxas in a backend's key; all of a short key."""
    match = _RELEASE.search(backend)
    tool = backend.partition(":")[0]
    return f"{tool} {match[1]}" if match else " ".join(backend.split())[:60]


def _environment(manifest: Manifest, local: LocalKeys) -> Iterator[ComponentCheck]:
    """Yield a check per variable in the keys that is set there or here."""
    set_there = (
        name.removeprefix(ENVIRONMENT)
        for entry in manifest.entries
        for name, value in entry.components.items()
        if name.startswith(ENVIRONMENT) and value
    )
    names = list(dict.fromkeys([*set_there, *local.environment]))
    for name in names:
        built = Counter(entry.components.get(ENVIRONMENT + name, "") for entry in manifest.entries)
        local_value = local.environment.get(name, "")
        del built[local_value]
        if not built:
            yield ComponentCheck(name, OK, f"{name}={variable_value(local_value)}")
            continue
        built_value = built.most_common(1)[0][0]
        built_text, local_text = (
            variable_value(value) if value else "not set" for value in (built_value, local_value)
        )
        advice = f"set {name}={built_text}" if built_value else f"unset {name}, or build with it set"
        yield _difference(name, built_text, local_text, advice)
    if not names:
        yield ComponentCheck("environment", OK, "no variable of Triton's keys is set")


def _options(manifest: Manifest, local: LocalKeys) -> Iterator[ComponentCheck]:
    """Yield a check per option for which no entry has this machine's default.

    The entries for that default would be others.
    """
    for target in manifest.targets:
        of_target = [entry.components for entry in manifest.entries if entry.target == target]
        paths = backend_of(parse_target(target)).path_options
        for name in (*_MACHINE_OPTIONS, *(paths if _in_key(manifest) else ())):
            local_default = local.options[target].get(name)
            values = [components[OPTION + name] for components in of_target if OPTION + name in components]
            if not values or local_default is None or local_default in values:
                continue
            advice = (
                f"the launch option {name} has another default here: same image, or build the folder here"
            )
            if name in paths:
                advice = f"the keys have the path of Triton: install it at {manifest.triton_path}"
            yield _difference(f"option {name}", values[0], local_default, advice)


def _in_key(manifest: Manifest) -> bool:
    """Return True if the paths of libraries are in the key.

    From Triton 3.9 on, their contents are instead.
    """
    version = manifest.versions.get("triton", "0.0").split(".")
    return [int(part) for part in version[:2] if part.isdecimal()] < [3, 9]


def _device(manifest: Manifest, local: LocalKeys) -> Iterator[ComponentCheck]:
    targets = ", ".join(manifest.targets)
    if not local.device:
        yield ComponentCheck("device", UNKNOWN, f"no GPU here; the folder is for {targets}")
    elif local.device in manifest.targets:
        yield ComponentCheck("device", OK, local.device)
    else:
        yield _difference("device", targets, local.device, f"build with --target {local.device}")


def _paths(folder: Path, manifest: Manifest) -> ComponentCheck:
    """Check whether Triton finds the files of each entry by the paths in its group file."""
    files = [file for entry in manifest.entries for file in _files(folder, entry)]
    if not all(map(os.path.exists, files)):
        text = f"the folder was built for {manifest.at}; its files are not found by the paths in it"
        advice = f"irscope warm --relocate {folder}, or build with --at {folder}"
        return ComponentCheck("paths", DIFFERS, text, advice)
    root = os.path.realpath(folder)
    outside = next((file for file in files if not os.path.realpath(file).startswith(f"{root}/")), None)
    if outside is None:
        kernel_count = pluralize(len(manifest.entries), "kernel")
        return ComponentCheck("paths", OK, f"the files of {kernel_count} are found")
    text = f"the files are those in another folder: {Path(outside).parents[1]}"
    return ComponentCheck(
        "paths", OK, text, f"irscope warm --relocate {folder}, before that folder is removed"
    )


def _files(folder: Path, entry: WarmEntry) -> list[str]:
    """Return the paths in an entry's group file; one that does not exist if it cannot be read."""
    group = folder / entry.folder / f"__grp__{file_stem(entry.kernel)}.json"
    try:
        return [str(path) for path in read_json(group)["child_paths"].values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [str(group / "unreadable")]


def _stubs(folder: Path, manifest: Manifest, local: LocalKeys) -> Iterator[ComponentCheck]:
    """Yield a check that the driver module that this machine looks for is there.

    Also yield checks for launchers of all signatures.
    """
    with_library = tuple(backend for backend in manifest.backends if local.driver_library(backend))
    if with_library != manifest.backends:
        yield ComponentCheck("driver", UNKNOWN, f"the driver's library is not found here: {local.searched}")
    if not with_library or (local.triton_path and manifest.entries and not manifest.stubs):
        if with_library:
            yield ComponentCheck("driver", DIFFERS, "the folder has no driver module", "build it again")
        return
    request = StubRequest(
        str(folder),
        with_library,
        (),
        (local.library_dirs,),
        (local.libhip,) if local.libhip else (),
        lookup=True,
    )
    for stub in build_stubs(request):
        stub_file = folder / stub.folders[0] / stub.file
        if stub_file.exists():
            yield ComponentCheck(stub.name, OK, stub.file)
            continue
        text = (
            f"built for {manifest.extension}, {manifest.platform}; here {local.extension}, {local.platform}"
        )
        advice = "build with this Python"
        if (manifest.extension, manifest.platform) == (local.extension, local.platform):
            library = local.driver_library(stub.backend)
            text = f"not built for Triton in {local.triton_path} with {library}"
            advice = (
                f"irscope warm --relocate {folder} (Triton 3.8 or later), or build with --libcuda or --libhip"
            )
        yield ComponentCheck(stub.name, DIFFERS, text, advice)


def _sources(manifest: Manifest) -> Iterator[ComponentCheck]:
    """Yield checks that the kernels' functions are the same here, at the same lines."""
    missing, same = [], 0
    for source in manifest.sources:
        change = find_changes(source)
        if change is None:
            missing.append(source.name)
        elif change:
            advice = "build the folder again from this source"
            yield ComponentCheck(f"source {source.name}", DIFFERS, change, advice)
        else:
            same += 1
    if same:
        yield ComponentCheck("sources", OK, f"{pluralize(same, 'function')} at the same lines")
    if missing:
        names = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
        yield ComponentCheck(
            "sources", UNKNOWN, f"no file here of {pluralize(len(missing), 'function')}: {names}"
        )


def checks_text(folder: Path, checks: list[ComponentCheck]) -> str:
    """Return a line per component of the keys, and a summary.

    Components that differ come last, with what to do.
    """
    width = max(len(check.component) for check in checks)
    lines = []
    for check in sorted(checks, key=lambda check: check.state == DIFFERS):
        lines.append(f"{check.state:8} {check.component:{width}}  {check.text}")
        if check.advice:
            lines.append(f"{'':8} {'':{width}}  {check.advice}")
    states = Counter(check.state for check in checks)
    if count := states[DIFFERS]:
        differ = f"{pluralize(count, 'component')} {'differs' if count == 1 else 'differ'}"
        lines.append(f"{folder}: keys will not match: {differ}")
    else:
        unknown = states[UNKNOWN]
        rest = f"; {pluralize(unknown, 'component')} not compared" if unknown else ""
        lines.append(f"{folder}: keys will match{rest}")
    return printable("\n".join(lines))
