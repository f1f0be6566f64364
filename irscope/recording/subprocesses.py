"""Captures the processes that a captured program starts: each writes its own capture.

A process forked through multiprocessing continues with the inherited session. Every other Python process
finds its options in an environment variable (see startup/sitecustomize.py) and starts to record when it
imports torch or triton.

The PYTHONPATH with which the Pythons that a program starts run startup/sitecustomize.py.
"""

from __future__ import annotations

import atexit
import base64
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing.util import Finalize, register_after_fork
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.compiling.fake_cuda.libraries import stub_modules
from irscope.compiling.messages import Answer, Finished, Note, Question, Record, SubprocessOptions
from irscope.compiling.toolchain.patching import patched
from irscope.model import UserError
from irscope.model.errors import print_note
from irscope.recording.background_writer import BackgroundWriter, summary
from irscope.recording.main_module import reporting_stops
from irscope.recording.shadowed_modules import ShadowedModules
from irscope.store.writer import CaptureWriter

if TYPE_CHECKING:
    from irscope.recording.process_recorder import ForkHooks
    from irscope.recording.program_link import PipeLink


_STARTUP = Path(__file__).parent / "startup"


def startup_path() -> str:
    """Return the PYTHONPATH of this process with the folder `startup` first."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    other_entries = [entry for entry in entries if entry and entry != str(_STARTUP)]
    return os.pathsep.join([str(_STARTUP), *other_entries])


_VARIABLE = "IRSCOPE_RUN"


def announce(options: SubprocessOptions) -> None:
    """Pass the options to the processes that this one starts, through the environment."""
    options = replace(options, rank=os.environ.get("RANK"))
    os.environ[_VARIABLE] = base64.b64encode(pickle.dumps(options)).decode()
    os.environ["PYTHONPATH"] = startup_path()


def capture_until_exit(shadowed: ShadowedModules) -> None:
    """Capture what this process compiles from now on; see startup/sitecustomize.py."""
    from irscope.recording.process_recorder import recording

    options: SubprocessOptions = pickle.loads(base64.b64decode(os.environ[_VARIABLE]))  # noqa: S301 - announce's
    link = ProcessCapture(options)
    announce(options)
    stack = ExitStack()
    stack.callback(link.ask, Finished())
    if options.options.target is not None:
        stack.enter_context(stub_modules(options.options.stubs))
    try:
        capture_forks(stack.enter_context(recording(options.options, link)), link)
    except UserError as error:
        print_note(error.command_line_text)
        return

    def finish() -> None:
        with shadowed.set_aside():
            stack.close()

    atexit.register(finish)
    sys.excepthook = reporting_stops(sys.excepthook)


def capture_forks(fork_hooks: ForkHooks, link: PipeLink | ProcessCapture) -> None:
    """Capture also the processes that multiprocessing forks from this one; `link` distinguishes them."""

    def start(_: object) -> None:
        fork_hooks.clear()
        Finalize(None, partial(link.ask, Finished()), exitpriority=-20)
        Finalize(None, fork_hooks.finish, exitpriority=-10)

    register_after_fork(link, start)  # which ends with the link


@contextmanager
def uncaptured_subprocesses() -> Iterator[None]:
    """Leave out the processes that this one starts or forks within the block."""
    announced = os.environ.pop(_VARIABLE, None)
    try:
        with patched(ProcessCapture, "captures_forks", False):
            yield
    finally:
        if announced is not None:
            os.environ[_VARIABLE] = announced


class ProcessCapture:
    """A link to a capture that this process itself writes; the first record creates it."""

    captures_forks = True

    def __init__(self, options: SubprocessOptions) -> None:
        self._options, self._process = options, os.getpid()
        self._path = Path()
        self._writer: BackgroundWriter | None = None
        self._refused = False

    def put(self, record: Record) -> None:
        """Write a record. A note does not create a capture."""
        if self._left_out():
            return
        writer = self._writer if isinstance(record, Note) else self._open()
        if writer is not None:
            writer.put(record)

    def ask(self, question: Question) -> Answer | None:
        """Answers a question; Finished closes the capture."""
        if self._left_out():
            return None
        if not isinstance(question, Finished):
            writer = self._open()
            return None if writer is None else writer.ask(question)
        if self._writer is not None and self._process == os.getpid():
            counts = self._writer.close()
            self._writer = None
            print_note(summary(_relative(self._path), counts))
        return None

    def _left_out(self) -> bool:
        """Return True if this process was forked within a block of `uncaptured_subprocesses`."""
        return not self.captures_forks and self._process != os.getpid()

    def _open(self) -> BackgroundWriter | None:
        if self._process != os.getpid():  # forked: the writer is the parent's
            self._process, self._writer, self._refused = os.getpid(), None, False
        if self._writer is None and not self._refused:
            self._path = self._options.path()
            again = self._options.existing == "resume" and self._path.exists()
            create = partial(CaptureWriter.create, self._path, self._options.existing == "force")
            open_ = partial(CaptureWriter.resume, self._path) if again else create
            try:
                self._writer = BackgroundWriter(open_, self._options.command, lambda _: None)
            except UserError as error:
                self._refused = True
                print_note(error)
        return self._writer


def _relative(path: Path) -> Path:
    """Return the path relative to the working directory, if it is in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
