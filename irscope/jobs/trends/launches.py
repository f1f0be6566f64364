"""The recorded launches of a package's kernels, and where their files are at another commit."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from irscope.compiling.launch_grid import LaunchCase
from irscope.jobs.warm.launch_plans import KernelLaunches, WarmOptions, launches_of
from irscope.jobs.warm.plan_file import plan_text, read_plan
from irscope.model import OPTION_NAMES, Target, UserError

# A file of another checkout is found by its last parts: at least its folder and its name.
_FEWEST_PARTS = 2


def read_launches(paths: Sequence[Path]) -> tuple[KernelLaunches, ...]:
    """Return the kernels in plan files (.toml) and captures, with their launches.

    Raises UserError if one cannot be read, or if there are none.
    """
    found: list[KernelLaunches] = []
    for path in paths:
        if not path.is_file():
            raise UserError(f"{path}: no such file; give a capture of irscope run, or a plan of --write-plan")
        found += read_plan(path) if path.suffix == ".toml" else launches_of(path, WarmOptions())
    if not any(each.cases for each in found):
        raise UserError(f"{', '.join(map(str, paths))}: no launches; record some with irscope run")
    return tuple(found)


def for_targets(kernels: Iterable[KernelLaunches], targets: Sequence[Target]) -> tuple[KernelLaunches, ...]:
    """Return the kernels on each of these targets; none: on those that the launches were recorded for."""
    if not targets:
        return tuple(kernels)
    return tuple(dict.fromkeys(replace(each, target=target) for each in kernels for target in targets))


def digest(kernels: Sequence[KernelLaunches]) -> str:
    """Identify launches and targets; the folders of the files do not count."""
    named = [replace(each, file=Path(*each.file.parts[-_FEWEST_PARTS:])) for each in kernels]
    return hashlib.sha256(plan_text(named, Path()).encode("utf-8", "replace")).hexdigest()[:16]


def relative_files(kernels: Iterable[KernelLaunches], root: Path) -> dict[Path, Path]:
    """Return the file of each kernel relative to a repository's top folder, by its path.

    A path outside of it is matched by its last parts. Raises UserError if a file is not in the repository.
    """
    found: dict[Path, Path] = {}
    for file in dict.fromkeys(each.file for each in kernels):
        match = next(_inside(file, root), None)
        if match is None:
            raise UserError(f"{file}: not in the repository {root}; name its repository with --repository")
        found[file] = match
    return found


def _inside(file: Path, root: Path) -> Iterator[Path]:
    """Yield the places in `root` that a file may have, the most certain first."""
    resolved = file.resolve()
    if resolved.is_relative_to(root):
        yield resolved.relative_to(root)
    parts = resolved.parts
    for first in range(1, len(parts) - _FEWEST_PARTS + 1):
        for start in ("", "src"):
            candidate = Path(start, *parts[first:])
            if (root / candidate).is_file():
                yield candidate


def package_folders(files: Iterable[Path], root: Path) -> list[str]:
    """Return the folders whose content decides what is compiled: the topmost packages of the files.

    Paths are relative to `root`. A file in no package imports what is next to it: its folder counts.
    """
    return sorted({_top_package(file, root).as_posix() for file in files})


def import_roots(files: Iterable[Path], root: Path) -> list[Path]:
    """Return the folders to import the packages of the files from."""
    tops = (_top_package(file, root) for file in files)
    return list(
        dict.fromkeys(root / (top.parent if (root / top / "__init__.py").exists() else top) for top in tops)
    )


def _top_package(file: Path, root: Path) -> Path:
    top = file.parent
    while top.parent != top and (root / top.parent / "__init__.py").exists():
        top = top.parent
    return top


def at_commit(
    kernels: Sequence[KernelLaunches], files: dict[Path, Path], tree: Path
) -> tuple[tuple[KernelLaunches, ...], list[str]]:
    """Return the kernels with their files in a commit's exported tree, and a line per file that it lacks.

    Recorded arguments that a kernel does not have there are left out: its parameter was added later.
    """
    there = {file: tree / inside for file, inside in files.items() if (tree / inside).is_file()}
    missing = [f"{inside}: not at this commit" for file, inside in files.items() if file not in there]
    parameters = {file: _parameters(path) for file, path in there.items()}
    found = [
        replace(each, file=there[each.file], cases=_known(each.cases, parameters[each.file].get(each.kernel)))
        for each in kernels
        if each.file in there
    ]
    return tuple(found), missing


def _known(cases: Sequence[LaunchCase], parameters: frozenset[str] | None) -> tuple[LaunchCase, ...]:
    """Return the launches without the arguments that the kernel does not have at this commit."""
    if parameters is None:
        return tuple(cases)
    kept = {*parameters, *OPTION_NAMES}
    return tuple(
        dict.fromkeys(
            replace(
                case,
                arguments=tuple(pair for pair in case.arguments if pair[0] in kept),
                constants=tuple(pair for pair in case.constants if pair[0] in kept),
                unaligned=case.unaligned & kept,
            )
            for case in cases
        )
    )


def _parameters(file: Path) -> dict[str, frozenset[str]]:
    """Return the parameters of each function of a file, without importing it; none if it is not Python."""
    try:
        module = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return {}
    return {
        node.name: frozenset(
            each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        )
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
    }
