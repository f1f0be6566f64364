"""Asks workers for answers: a few processes, each with limits, of which any can be ended.

An answer that takes longer than its limit ends its worker. While others wait for a worker, answers have less
time, so that the calls of one client do not stop those of another.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from irscope.compiling.pool import Stop, Stopped, Worker, spawn
from irscope.mcp.answer_worker import Question, Reply
from irscope.mcp.session import Session
from irscope.model import UserError

MODULE = "irscope.mcp.answer_worker"
MOST_WORKERS = 4
# The seconds of an answer while another one waits, of the start of a worker, and of its end.
CONTENDED_SECONDS = 10.0
_START_SECONDS, _END_SECONDS = 60.0, 3.0
_STEP = 0.1


@dataclass(eq=False)
class _Answering:
    """A worker and whether it has said that it is ready."""

    worker: Worker
    ready: bool = False


class AnswerPool:
    """The workers that answer for a session; several threads may ask."""

    def __init__(self, session: Session) -> None:
        self._session = session
        limits = session.compiler.limits
        self._seconds = limits.seconds
        folders = (str(session.folder), *map(str, session.roots.folders))
        self._start = partial(spawn, module=MODULE, arguments=(str(limits.memory), *folders))
        self._changed = threading.Condition()
        self._idle: list[_Answering] = []
        self._count = self._waiting = 0
        self._closed = False

    def warm_up(self) -> None:
        """Start a worker, which imports what answers need."""
        with self._changed:
            if not self._count:
                self._count = 1
                self._idle.append(_Answering(Worker(self._start)))

    def close(self) -> None:
        """Let idle workers keep what they derived, then end them.

        A worker that is answering ends with the server.
        """
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
        for answering in idle:
            with suppress(OSError, EOFError):
                answering.worker.pipe.send(None)
                while answering.worker.pipe.poll(_END_SECONDS):  # it may have to say that it is ready
                    answering.worker.pipe.recv()
            answering.worker.stop()

    def ask(self, question: Question, stop: Stop) -> Any:
        """Return the answer to a question.

        Raises UserError if it is a problem, takes too much time or memory, or its worker crashes; Stopped.
        """
        answering = self._taken(stop)
        usable = False
        try:
            reply = self._asked(answering, question, stop)
            usable = True
        except (EOFError, OSError):
            raise UserError("the answer ended its process, perhaps for lack of memory (--memory)") from None
        finally:
            self._given_back(answering, usable)
        if reply.log:
            sys.stderr.write(reply.log)
        if reply.problem:
            raise UserError(reply.problem)
        return reply.answer

    def _asked(self, one: _Answering, question: Question, stop: Stop) -> Reply:
        pipe = one.worker.pipe
        if not one.ready:
            if not stop.wait([pipe], _START_SECONDS):
                raise UserError(f"a worker that answers did not start within {_START_SECONDS:g} s")
            pipe.recv()
            one.ready = True
        pipe.send(question)
        start = time.monotonic()
        while not stop.wait([pipe], _STEP):
            spent = time.monotonic() - start
            if spent > self._seconds:
                raise UserError(f"the answer takes more than {self._seconds:g} s (--timeout)")
            if self._waiting and spent > CONTENDED_SECONDS:
                raise UserError(
                    f"the answer takes more than {CONTENDED_SECONDS:g} s while other calls wait; call again"
                )
        reply: Reply = pipe.recv()
        return reply

    def _taken(self, stop: Stop) -> _Answering:
        """Return a worker for this thread alone. Raises Stopped."""
        with self._changed:
            self._waiting += 1
            try:
                while not self._idle and self._count >= MOST_WORKERS:
                    self._changed.wait(_STEP)
                    stop.wait([], 0)
            finally:
                self._waiting -= 1
            if self._closed:
                raise Stopped
            if self._idle:
                return self._idle.pop()
            self._count += 1
        return _Answering(Worker(self._start))

    def _given_back(self, one: _Answering, usable: bool) -> None:
        if not usable:
            one.worker.stop()
        with self._changed:
            if usable and not self._closed:
                self._idle.append(one)
            else:
                self._count -= 1
            self._changed.notify()
