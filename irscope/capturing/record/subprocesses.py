"""Processes that a captured program starts: each writes a capture of its own.

Those that it forks through multiprocessing go on with what they inherit; every other Python finds its
orders in the environment (see startup/sitecustomize.py) and begins when it imports torch or triton. Every
Python that the program starts imports this file, so it imports little itself.
"""

from __future__ import annotations

import atexit
import base64
import importlib.util
import os
import pickle
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from irscope.capturing.messages import Message, RunOptions
    from irscope.capturing.record.background_writer import Writing
    from irscope.capturing.record.session import Running

_ORDERS = "IRSCOPE_RUN"
_STARTUP = Path(__file__).parent / "startup"


@dataclass(frozen=True, slots=True)
class Subprocesses:
    """How the processes that a program starts are captured.

    `stem` is the capture's absolute path without its suffix, `existing` what happens to a file that is
    there: "force", "resume" or "". `rank` is the RANK of the process that starts them.
    """

    options: RunOptions
    stem: str
    existing: str
    command: str
    rank: str | None = None

    def path(self) -> Path:
        """Where this process writes: STEM.rankN if it has a RANK that its parent had not, else STEM.PID."""
        rank = os.environ.get("RANK")
        name = f"rank{rank}" if rank is not None and rank != self.rank else str(os.getpid())
        return Path(f"{self.stem}.{name}.irscope")


def announce(children: Subprocesses) -> None:
    """Leaves the orders for the processes that this one starts."""
    children = replace(children, rank=os.environ.get("RANK"))
    os.environ[_ORDERS] = base64.b64encode(pickle.dumps(children)).decode()
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in others if entry and entry != str(_STARTUP)]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_STARTUP), *kept])


def begin() -> None:
    """Captures this process from the moment that it imports torch or triton, if there are orders."""
    if _ORDERS in os.environ:
        sys.meta_path.insert(0, _Importing())


class _Importing(MetaPathFinder):
    """Waits for torch or triton to be imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """None but for the one import that the capture begins after."""
        if name not in ("torch", "triton"):
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _then_capture(spec.loader)  # type: ignore[method-assign,assignment]
        return spec


def _then_capture(loader: Loader) -> Callable[[Any], None]:
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        _capture_to_the_end(pickle.loads(base64.b64decode(os.environ[_ORDERS])))  # noqa: S301 - announce's

    return exec_module


def _capture_to_the_end(children: Subprocesses) -> None:
    """Captures what the process compiles from here until it ends."""
    from irscope.capturing.messages import Finished
    from irscope.capturing.record.program import telling_stop
    from irscope.capturing.record.session import capturing
    from irscope.model import UserError

    link = OwnCapture(children)
    announce(children)
    stack = ExitStack()
    stack.callback(link.ask, Finished())
    try:
        capture_forks(stack.enter_context(capturing(children.options, link)), link)
    except UserError as error:
        print(f"irscope: {error}", file=sys.stderr)
        return
    atexit.register(stack.close)
    sys.excepthook = telling_stop(sys.excepthook)


def capture_forks(running: Running, link: Any) -> None:
    """Captures also what multiprocessing forks from this process; `link` tells the processes apart."""
    from multiprocessing.util import Finalize, register_after_fork

    from irscope.capturing.messages import Finished

    def begin_anew(running: Running) -> None:
        running.forget()
        Finalize(None, partial(link.ask, Finished()), exitpriority=-20)
        Finalize(None, running.finish, exitpriority=-10)

    register_after_fork(running, begin_anew)


class OwnCapture:
    """A link to a capture that this very process writes, from its first message on."""

    def __init__(self, children: Subprocesses) -> None:
        self._children, self._process = children, os.getpid()
        self._path = Path()
        self._writing: Writing | None = None
        self._refused = False

    def put(self, message: Message) -> None:
        """Hands on a message."""
        writing = self._open()
        if writing is not None:
            writing.put(message)

    def ask(self, message: Message) -> Any:
        """Hands on a message and waits for its answer; the last one closes the capture."""
        from irscope.capturing.messages import Finished
        from irscope.capturing.record.background_writer import summary

        if not isinstance(message, Finished):
            writing = self._open()
            return None if writing is None else writing.ask(message)
        if self._writing is not None and self._process == os.getpid():
            written = self._writing.close()
            self._writing = None
            print(f"irscope: {summary(_shown(self._path), written)}", file=sys.stderr)
        return None

    def _open(self) -> Writing | None:
        from irscope.capturing.record.background_writer import Writing
        from irscope.model import UserError
        from irscope.store.writer import CaptureWriter

        if self._process != os.getpid():  # forked: the parent's is not ours
            self._process, self._writing, self._refused = os.getpid(), None, False
        if self._writing is None and not self._refused:
            self._path = self._children.path()
            again = self._children.existing == "resume" and self._path.exists()
            create = partial(CaptureWriter.create, self._path, self._children.existing == "force")
            open_ = partial(CaptureWriter.resume, self._path) if again else create
            try:
                self._writing = Writing(open_, self._children.command, lambda _: None)
            except UserError as error:
                self._refused = True
                print(f"irscope: {error}", file=sys.stderr)
        return self._writing


def _shown(path: Path) -> Path:
    """The path as the user would write it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
