"""Finding the program's own line."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.compiling.call_stack import user_frame, without_own_frames
from irscope.model import parse_value


def test_a_programs_folder_may_have_the_name_of_triton():
    namespace = {"user_frame": user_frame}
    exec(
        compile("def ask():\n    return user_frame()\n", "/program/ops/triton/torch/test_norm.py", "exec"),
        namespace,
    )
    frame = namespace["ask"]()
    assert frame.f_code.co_filename == "/program/ops/triton/torch/test_norm.py"


def recurse(depth: int) -> None:
    recurse(depth + 1)


def test_the_traceback_of_an_endless_recursion_is_kept():
    with pytest.raises(RecursionError) as raised:
        recurse(0)
    frames = 0
    trace = without_own_frames(raised.tb)
    while trace is not None:
        frames += trace.tb_frame.f_code is recurse.__code__
        trace = trace.tb_next
    assert frames > 500


def test_irscopes_own_frames_are_left_out_of_a_traceback():
    with pytest.raises(AttributeError) as raised:
        parse_value(None)  # type: ignore[arg-type]
    assert [Path(entry.path).name for entry in raised.traceback][1:]
    kept = without_own_frames(raised.tb)
    assert kept is not None
    assert kept.tb_next is None
    assert kept.tb_frame.f_code.co_filename == __file__
