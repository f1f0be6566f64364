"""Programs whose autotuners choose what pins say, instead of compiling and measuring every config."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from irscope.capturing.messages import Note
from irscope.capturing.record.recorder import Recorder
from irscope.toolchain.patching import never_raises
from irscope.toolchain.pinned_tuning import PinnedTuning, write_autotune_files


@contextmanager
def pinned_autotuners(recorder: Recorder) -> Iterator[None]:
    """Within the block, the program's autotuners use the pins; their files are written after it."""
    pinned = PinnedTuning(recorder.options.pins)
    try:
        with pinned.installed():
            yield
    finally:
        _finish(recorder, pinned)


@never_raises
def _finish(recorder: Recorder, pinned: PinnedTuning) -> None:
    write_autotune_files(pinned.files.values())
    for line in (*pinned.problems, *pinned.unpinned_lines()):
        recorder.send(Note(line))
