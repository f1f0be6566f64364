"""What a running program tells whoever writes its capture: plain data, sent over a pipe or a queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irscope.capturing.compile.request import Job
from irscope.model import Benchmark, Launch, SourceFunction, Target, Value
from irscope.store.writer import NewVariant


@dataclass(frozen=True, slots=True)
class Program:
    """What to run: `kind` is "script", "module" or "code"; `arguments` are the program's own."""

    kind: str
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to capture a program.

    `target` of None: the GPU that is there. `sweep` maps (kernel, name) to the values under which that
    kernel's launches are compiled too. `kernels` is a glob on kernel names. `most` limits the number of
    variants. `processes` of None is one a core; `seconds` is the time limit of one compilation. `passes`
    asks for the compiler's passes one by one.
    """

    target: Target | None
    sweep: Mapping[tuple[str, str], tuple[Value, ...]] = field(default_factory=dict)
    kernels: str = "*"
    most: int | None = None
    processes: int | None = None
    seconds: float = 300.0
    passes: bool = False


@dataclass(frozen=True, slots=True)
class RunJob(Job):
    """A variant that waits to be compiled; `number` is the one it is recorded under."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Versions:
    """The toolchain of everything that follows: name -> version."""

    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KernelSeen:
    """A kernel, under the number that its variants name."""

    number: int
    source: SourceFunction
    helpers: tuple[SourceFunction, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariantDone:
    """A finished variant. `files` are artifacts that lie in Triton's cache: stage -> path."""

    number: int
    kernel: int
    variant: NewVariant
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaunchSeen:
    """The variant with this number was launched so."""

    number: int
    launch: Launch


@dataclass(frozen=True, slots=True)
class BenchmarkSeen:
    """An autotuner measured the variant with this number."""

    number: int
    benchmark: Benchmark


@dataclass(frozen=True, slots=True)
class Compiling:
    """So many variants are compiled from here on."""

    total: int


@dataclass(frozen=True, slots=True)
class Note:
    """A line that the user should read."""

    text: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Asks which of these variants the capture does not have yet: a list of bools is the answer."""

    variants: tuple[tuple[int, NewVariant], ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The last message; answered when everything before it is in the capture."""


Message = (
    Versions | KernelSeen | VariantDone | LaunchSeen | BenchmarkSeen | Compiling | Note | Wanted | Finished
)
