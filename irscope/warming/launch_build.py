"""The part of a build of a warm folder that is about varied and pinned launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from irscope.model import Target
from irscope.toolchain.temporary_folders import temporary_folder
from irscope.warming.autotune_files import modified_times, remove_files, write_files, written_since
from irscope.warming.variations import KernelLaunches, VaryOptions, launches_of, to_vary, unmatched, vary

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
    options: VaryOptions
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
        return self.add_kernels(to_vary(self._launches(capture), self.options), name)

    def add_launched(self, capture: Path, name: str) -> None:
        """Compiles and adds what an option varies of the kernels that a program has launched.

        The program itself was run with the pins. Raises UserError if its capture cannot be read.
        """
        self.add_kernels([each for each in self._launches(capture) if each.axes], name)

    def _launches(self, capture: Path) -> tuple[KernelLaunches, ...]:
        if not (self.options.axes or self.options.pins):
            return ()
        found = launches_of(capture, self.options)
        self._launched.update(each.kernel for each in found)
        return found

    def add_kernels(self, kernels: Sequence[KernelLaunches], name: str) -> frozenset[tuple[str, Target]]:
        """Compiles and adds what the launches of kernels need; returns the kernels and their targets."""
        self._launched.update(each.kernel for each in kernels)
        if not kernels:
            return frozenset()
        with self.input(name):
            return self._add_kernels(kernels, name)

    def _add_kernels(self, kernels: Sequence[KernelLaunches], name: str) -> frozenset[tuple[str, Target]]:
        with temporary_folder("irscope-warm-") as temporary, self.cache_here():
            output = Path(temporary) / "launches.irscope"
            varied = vary(kernels, output, self.options)
            self.add(output, name)
        write_files(self.folder, varied.files)
        self.notes += varied.lines
        self.problems += varied.problems
        return varied.handled

    def finish(self, done: set[str]) -> dict[str, tuple[str, ...]]:
        """The files with autotuned choices and the inputs that they are for.

        Removes those of earlier builds that were only for inputs that are `done` again. Adds a problem for
        each option that is for a kernel that no input launches.
        """
        self.problems += unmatched(self._launched, self.options)
        choices = {path: set(names) for path, names in self._choices.items()}
        for path, names in self.before.items():
            if left := set(names) - done:
                choices.setdefault(path, set()).update(left)
        remove_files(self.folder, frozenset(self.before) - choices.keys())
        return {path: tuple(sorted(names)) for path, names in sorted(choices.items())}
