"""The part of a build of a warm folder that is about varied and pinned launches.

The part of a build of a warm folder that may add varied and pinned launches, as the build sees it.

How to build a warm folder, and where production may have the driver's libraries.
"""

from __future__ import annotations

import os
import platform
import site
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.jobs.warm.cache_folder import modified_times, remove_files, write_files, written_since
from irscope.jobs.warm.launch_plans import (
    KernelLaunches,
    LaunchOptions,
    compile_launches,
    kernels_to_expand,
    launches_of,
    unmatched,
)
from irscope.jobs.warm.relocate import listed_folders
from irscope.model import Target

# Adds the variants of a capture to the build, for the input with this name.
AddCapture = Callable[[Path, str], None]


@dataclass
class LaunchBuild:
    """Adds to a build of `folder` what its inputs need beyond the variants of their captures.

    `cache_here` makes the folder the Triton cache of the processes that are started. `before` are the files
    with autotuned choices that earlier builds have written, with the inputs that they are for; `add` adds a
    capture to the build. `notes` and `problems` are lines for the user.
    """

    folder: Path
    options: LaunchOptions
    cache_here: Callable[[], AbstractContextManager[None]]
    before: Mapping[str, Sequence[str]]
    add: AddCapture
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _choices: dict[str, set[str]] = field(default_factory=dict)
    _launched: set[str] = field(default_factory=set)

    @contextmanager
    def input(self, name: str) -> Iterator[None]:
        """Attributes the autotuned choices that are written within the block to the input with this name."""
        times = modified_times(self.folder)
        try:
            yield
        finally:
            for path in written_since(self.folder, times):
                self._choices.setdefault(path, set()).add(name)

    def add_capture(self, capture: Path, name: str) -> frozenset[tuple[str, Target]]:
        """Compiles and adds what the kernels of a capture need that an option varies or pins.

        Returns these kernels and their targets: the capture's own variants of them are not needed. Raises
        UserError if the capture cannot be read.
        """
        return self.add_kernels(kernels_to_expand(self._launches(capture), self.options), name)

    def add_launched(self, capture: Path, name: str) -> None:
        """Compiles and adds what an option varies of the kernels that a program has launched.

        The program itself was run with the pins. Raises UserError if its capture cannot be read.
        """
        self.add_kernels([kernel for kernel in self._launches(capture) if kernel.axes], name)

    def _launches(self, capture: Path) -> tuple[KernelLaunches, ...]:
        if not (self.options.axes or self.options.pins):
            return ()
        launched = launches_of(capture, self.options)
        self._launched.update(kernel.kernel for kernel in launched)
        return launched

    def add_kernels(self, kernels: Sequence[KernelLaunches], name: str) -> frozenset[tuple[str, Target]]:
        """Compiles and adds what the launches of kernels need; returns the kernels and their targets."""
        self._launched.update(kernel.kernel for kernel in kernels)
        if not kernels:
            return frozenset()
        with self.input(name):
            return self._add_kernels(kernels, name)

    def _add_kernels(self, kernels: Sequence[KernelLaunches], name: str) -> frozenset[tuple[str, Target]]:
        with temporary_folder("irscope-warm-") as temporary, self.cache_here():
            output = Path(temporary) / "launches.irscope"
            varied = compile_launches(kernels, output, self.options)
            self.add(output, name)
        write_files(self.folder, varied.files)
        self.notes += varied.lines
        self.problems += varied.problems
        return varied.handled

    def finish(self, done: set[str]) -> dict[str, tuple[str, ...]]:
        """Return the files with autotuned choices and the inputs that they are for.

        Removes those of earlier builds that were only for inputs that are `done` again. Adds a problem
        for each option that is for a kernel that no input launches.
        """
        self.problems += unmatched(self._launched, self.options)
        choices = {path: set(names) for path, names in self._choices.items()}
        for path, names in self.before.items():
            if left := set(names) - done:
                choices.setdefault(path, set()).update(left)
        remove_files(self.folder, frozenset(self.before) - choices.keys())
        return {path: tuple(sorted(names)) for path, names in sorted(choices.items())}


class Launches(Protocol):
    """Adds to a build what inputs need beyond the variants that they launch: varied launches, pinned choices.

    `notes` and `problems` are lines for the user.
    """

    notes: list[str]
    problems: list[str]

    def input(self, name: str) -> AbstractContextManager[None]:
        """Surrounds the run of a program, which is the input with this name."""

    def add_launched(self, capture: Path, name: str) -> None:
        """Add to the build what a program needs beyond its own launches, which are in this capture."""

    def add_capture(self, capture: Path, name: str) -> frozenset[tuple[str, Target]]:
        """Add to the build; returns kernels and targets whose own variants in the capture are not needed."""

    def finish(self, done: set[str]) -> dict[str, tuple[str, ...]]:
        """Return the files with autotuned choices and their inputs.

        The inputs in `done` were built again.
        """


@dataclass(frozen=True, slots=True)
class WarmOptions:
    """How to build a warm folder.

    `target` is the GPU of production for scripts (None: cuda:90), and of captures only its variants are
    used. `kernels` is a glob on kernel names. `prune` keeps only configs that a capture says were chosen,
    `binary_only` no stage but the binary. `at` is the folder's path in production ("": where it is built).
    `libcuda` are folders, or several with ":" between, and `libhip` files; () means the usual ones.
    `processes` of None starts one per core; `seconds` is the time limit per kernel.
    """

    target: Target | None = None
    kernels: str = "*"
    prune: bool = False
    binary_only: bool = False
    at: str = ""
    libcuda: tuple[str, ...] = ()
    libhip: tuple[str, ...] = ()
    processes: int | None = None
    seconds: float = 300.0


def library_dirs(given: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the results that Triton's search for libcuda may have in production.

    The search is `libcuda_dirs` of its driver. The keys of the driver module depend on them in
    Triton 3.8 and 3.9.
    """
    chosen = given or tuple(filter(None, [os.environ.get("TRITON_LIBCUDA_PATH")]))
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


def libhip_paths(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of libamdhip64.so that Triton may find in production.

    The source of its module has the path.
    """
    chosen = given or tuple(filter(None, [os.environ.get("TRITON_LIBHIP_PATH")]))
    packages = site.getsitepackages()[:1]
    return chosen or (
        *(f"{folder}/torch/lib/libamdhip64.so" for folder in packages),
        "/opt/rocm/lib/libamdhip64.so",
    )
