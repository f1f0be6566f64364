"""Starts the recorders of the front ends that a program uses, each when its package is first imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pkgutil import resolve_name

from irscope.capturing.after_import import after_import
from irscope.capturing.messages import Note
from irscope.capturing.record.recorder import Generated, Recorder
from irscope.frontends import Frontend, all_frontends
from irscope.plugins import guarded, problems


@contextmanager
def recorded_frontends(recorder: Recorder) -> Iterator[None]:
    """Records the front ends within the block, whether they are imported before it or in it."""
    recorders = _Recorders(recorder)
    before, frontends = problems(), all_frontends()
    for problem in problems()[len(before) :]:
        recorder.send(Note(problem))
    with recorders.stack:
        for frontend in frontends:
            if frontend.record or frontend.sources:
                recorders.start_with(frontend)
        try:
            yield
        finally:
            recorders.ended = True


class _Recorders:
    """The recorders that run; `stack` ends them."""

    def __init__(self, recorder: Recorder) -> None:
        self.stack = ExitStack()
        self.ended = False
        self._recorder = recorder

    def start_with(self, frontend: Frontend) -> None:
        """Starts the recorder of a front end now or as soon as its package is imported."""
        if not frontend.package or frontend.package in sys.modules:
            self._start(frontend)
        else:
            after_import((frontend.package,), lambda: self._start(frontend))

    def _start(self, frontend: Frontend) -> None:
        if self.ended:
            return
        try:
            if frontend.sources:
                whose = f"{frontend.sources} of the front end '{frontend.name}'"
                find = guarded(resolve_name(frontend.sources), lambda _: {}, whose)
                self.stack.enter_context(self._recorder.with_frontend(lambda of: Generated(find(of))))
            if frontend.record:
                record: AbstractContextManager[None] = resolve_name(frontend.record)(self._recorder)
                self.stack.enter_context(record)
        except Exception as error:  # noqa: BLE001 - the program goes on without the recorder
            problem = f"{type(error).__name__}: {error}"
            self._recorder.send(Note(f"kernels of {frontend.name} may be missing: {problem}"))
