"""Every message that irscope's processes send each other, and the functions that send and receive one.

Two conversations use them. A worker receives a SweepRequest or a Job and answers with a Plan, or with
compiler events and JobDone. A running program receives a StartProgram and sends its compilations to the
process that writes the capture; it waits for an Answer after each Question.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from irscope.compiling.job import Job, Outcome
from irscope.model import Kernel
from irscope.model.records import FrozenValue, frozen

if TYPE_CHECKING:
    from irscope.compiling.launch_grid import Axis, LaunchCase
    from irscope.compiling.toolchain.pinned_tuning import AutotuneFile
    from irscope.model import (
        Argument,
        Benchmark,
        Config,
        Expression,
        Failure,
        Launch,
        SourceFunction,
        Target,
        Value,
    )
    from irscope.model.tuning_pin import Pin
    from irscope.store.new_variant import NewVariant

# How many configs of a search of Helion's autotuner are compiled without a GPU: each takes about a second.
DEFAULT_CONFIGS = 10


Reply = TypeVar("Reply")


class Request(FrozenValue, Generic[Reply]):
    """A request to a worker, which imports its file and answers with a `Reply`; see `Worker.ask`."""

    __slots__ = ()
    file: Path


@frozen
class SweepRequest(Request["Plan"]):
    """A request to compile.

    `kernel` may be None if the file has only one. `axes` map constexprs and options to their values: the
    product of all, applied over the configs of `@triton.autotune` if the kernel has them. `reasons`
    records the coalescing pass's debug output, `passes` each compiler pass. `guess` fills in a missing
    signature and missing constexprs from the kernel's text. `keys` asks for the jobs' cache keys.
    """

    file: Path
    kernel: str | None
    signature: str | None
    constants: Mapping[str, Value | Expression]
    axes: Mapping[str, tuple[Value | Expression, ...]]
    targets: tuple[Target, ...]
    reasons: bool = False
    passes: bool = False
    guess: bool = False
    keys: bool = False


@frozen
class WhatIfRequest(Request["Plan"]):
    """A request to compile a variant again with other values: the product of `axes` over its config.

    `specialization` and `config` are those of the variant; the others as in a SweepRequest. The first job of
    the plan is the variant itself, for the case that the file or the toolchain has changed since.
    """

    file: Path
    kernel: str
    target: Target
    specialization: tuple[Argument, ...]
    config: Config
    axes: Mapping[str, tuple[Value | Expression, ...]]
    reasons: bool = False
    passes: bool = False


@frozen
class KernelsRequest(Request[tuple[str, ...]]):
    """Asks for the names of a file's kernels that no other one calls; `target` is the device it sees."""

    file: Path
    target: Target


@frozen
class Plan:
    """The jobs of a request, and the kernel and toolchain that they belong to.

    `notes` are lines for the user, for example that a prune function was not run. `keys` has the digest of
    each job's cache key if the request asks for them, "" if it cannot be known without compiling.
    """

    source: SourceFunction
    helpers: tuple[SourceFunction, ...]
    parameters: tuple[str, ...]
    versions: Mapping[str, str]
    jobs: tuple[Job, ...]
    notes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def kernel(self, id_: int = 0) -> Kernel:
        """Return the kernel; 0 is the id of one that is in no capture."""
        return Kernel(id_, self.source.name, self.source, self.helpers, self.parameters)


@frozen
class WarmRequest(Request["WarmPlan"]):
    """A request for what a warm cache needs of a kernel.

    `cases` are its recorded launches, `axes` what to vary of them, `pins` the choices of its autotuner.
    """

    file: Path
    kernel: str
    target: Target
    cases: tuple[LaunchCase, ...]
    axes: tuple[Axis, ...] = ()
    pins: tuple[Pin, ...] = ()


@frozen
class WarmPlan:
    """The answer to a WarmRequest.

    `recorded` is the number of the plan's jobs that recorded launches need; `costs` has the number that each
    axis adds to the others. `files` are the autotune results of the pins that fit a launch, for Triton's
    cache.
    """

    plan: Plan
    recorded: int
    costs: tuple[tuple[str, int], ...]
    files: tuple[AutotuneFile, ...]


@frozen
class SourcesRequest(Request["Sources"]):
    """Asks for the user's files that a kernel's file consists of, with their contents if `contents`."""

    file: Path
    targets: tuple[Target, ...]
    contents: bool = True


@frozen
class Sources:
    """The answer to a SourcesRequest: the files by absolute path, and the folders that modules are found in.

    `versions` are those of a Plan.
    """

    versions: Mapping[str, str]
    files: Mapping[str, bytes]
    folders: tuple[str, ...]


@frozen
class JobDone:
    """The job succeeded; all its events were sent."""


@frozen
class RequestRejected:
    """The request or job does not fit the file; `argument` and so on are those of an ArgumentError."""

    problem: str
    argument: str | None = None
    guess: str = ""
    command: str = ""


@frozen
class JobFailed:
    """The request or job raised an exception."""

    failure: Failure


@frozen
class RecordedJob(Job):
    """A job for a compilation that a program asked for; `number` identifies the recorded compilation."""

    number: int = 0


@frozen
class Program:
    """The program to run: `kind` is "script", "module" or "code"; `arguments` are the program's own."""

    kind: str
    name: str
    arguments: tuple[str, ...]


@frozen
class RunOptions:
    """How to capture a program.

    `target` of None uses this machine's GPU. `sweep` maps (kernel, name) to values under which that kernel's
    launches are compiled too. `kernels` is a glob on kernel names. `most` limits the number of variants per
    kernel. `processes` of None starts one per core; `seconds` is the time limit per variant. `passes` records
    each compiler pass. `assumed` are values for numbers that only a GPU could compute, by the line that reads
    them ("moe.py:96"; "": any other line). `configs` limits the configs of each search of Helion's autotuner
    that are compiled without a GPU. `stubs` are modules to replace by stubs if they are missing. `values` is
    the most bytes of arguments to keep of each variant's first launch (None: none are kept). Without a GPU,
    autotuners choose what `pins` say, and the files by which they do so in production are written into
    Triton's cache.
    """

    target: Target | None
    sweep: Mapping[tuple[str, str], tuple[Value | Expression, ...]] = field(default_factory=dict)
    kernels: str = "*"
    most: int | None = None
    processes: int | None = None
    seconds: float = 300.0
    passes: bool = False
    assumed: Mapping[str, Value] = field(default_factory=dict)
    configs: int = DEFAULT_CONFIGS
    stubs: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    values: int | None = None


@frozen
class SubprocessOptions:
    """How to capture the processes that a program starts.

    `stem` is the capture's absolute path without its suffix, `existing` what to do with a file that
    exists: "force", "resume" or "" (refuse). `rank` is the RANK of the process that starts them.
    """

    options: RunOptions
    stem: str
    existing: str
    command: str
    rank: str | None = None

    def path(self) -> Path:
        """Return the capture of this process.

        It is STEM.rankN if the process has another RANK than its parent, else STEM.PID.
        """
        rank = os.environ.get("RANK")
        name = f"rank{rank}" if rank is not None and rank != self.rank else str(os.getpid())
        return Path(f"{self.stem}.{name}.irscope")


@frozen
class StartProgram:
    """Runs the program, and captures it and the processes that it starts."""

    program: Program
    subprocesses: SubprocessOptions


@frozen
class ToolchainUsed:
    """The toolchain of all later messages: name -> version."""

    versions: Mapping[str, str]


@frozen
class KernelRecorded:
    """A kernel; its variants refer to it by `number`.

    Kernels of one `family` are generated from the same kernel of the user; "": only this one.
    """

    number: int
    source: SourceFunction
    helpers: tuple[SourceFunction, ...]
    parameters: tuple[str, ...]
    family: str = ""


@frozen
class VariantDone:
    """A finished variant. `files` are artifacts in Triton's cache: stage -> path."""

    number: int
    kernel: int
    variant: NewVariant
    files: Mapping[str, str] = field(default_factory=dict)


@frozen
class LaunchRecorded:
    """The program launched the variant with this number."""

    number: int
    launch: Launch


@frozen
class ValuesRecorded:
    """The values of the first launch of the variant with this number; see record/argument_values.py."""

    number: int
    content: bytes


@frozen
class BenchmarkRecorded:
    """An autotuner measured the variant with this number."""

    number: int
    benchmark: Benchmark


@frozen
class CompilationsStarted:
    """The program begins to compile this many variants."""

    total: int


@frozen
class Note:
    """A line for the user."""

    text: str


@frozen
class MissingQuery:
    """Asks which of these variants (kernel number, variant) the capture does not have yet."""

    variants: tuple[tuple[int, NewVariant], ...]


@frozen
class Finished:
    """The last message of a program; its answer comes when the capture has everything before it."""


@frozen
class Answer:
    """The answer to a Question; `missing` has one entry per variant of a MissingQuery."""

    missing: tuple[bool, ...] = ()


WorkerTask = SweepRequest | WhatIfRequest | KernelsRequest | WarmRequest | SourcesRequest | Job
WorkerReply = Plan | tuple[str, ...] | WarmPlan | Sources | Outcome | JobDone | RequestRejected | JobFailed
Question = MissingQuery | Finished
Record = (
    ToolchainUsed
    | KernelRecorded
    | VariantDone
    | LaunchRecorded
    | ValuesRecorded
    | BenchmarkRecorded
    | CompilationsStarted
    | Note
    | Question
)
Message = WorkerTask | Request[Any] | WorkerReply | StartProgram | Record | Answer


class DisconnectedError(Exception):
    """The process at the other end of the pipe has ended."""


def send(pipe: Connection, message: Message) -> None:
    """Send a message. Raises DisconnectedError."""
    try:
        pipe.send(message)
    except OSError as error:  # the other end, or in a forked process this one, is closed
        raise DisconnectedError from error


def receive(pipe: Connection) -> Message:
    """Wait for the next message. Raises DisconnectedError."""
    try:
        message: Message = pipe.recv()
    except (EOFError, OSError) as error:  # OSError if it ended in the middle of a message
        raise DisconnectedError from error
    return message
