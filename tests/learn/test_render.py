"""The text of a lesson: measured figures and the versions of Triton that they belong to."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.cli import learn
from irscope.learn.lesson import Lesson, LessonStep, LessonSweep, Measurement, find_lesson, lessons
from irscope.learn.render import markdown
from irscope.model import UserError
from irscope.workspace import Workspace
from tests.tui import captures

# A time, a throughput, or a count of a profiler: what depends on the version of Triton and on the GPU.
_FIGURE = re.compile(r"\b\d[\d.,]* ?(us|ms|s|TB/s|GB/s|TFLOPS)\b|Nsight Compute on")
_STEP = LessonStep("Step", "Question?", "Answer.", "#1", "#2", "ttgir")


def _texts(lesson: Lesson) -> list[str]:
    steps = [text for step in lesson.steps for text in (step.question, step.answer)]
    return [lesson.about, lesson.more, *steps, *(one.hint for one in lesson.exercises)]


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.name)
def test_measured_figures_name_what_they_were_measured_with(lesson: Lesson):
    for text in _texts(lesson):
        assert not _FIGURE.search(text), "use [[step.measured]], which names the version of Triton"
    for one in (*lesson.measured, *(one for step in lesson.steps for one in step.measured)):
        assert re.fullmatch(r"\d\.\d+", one.triton) and one.device and one.text.strip()


def test_a_measurement_says_if_another_version_compiled_the_lesson(tmp_path: Path):
    with Workspace(captures.matmul(tmp_path / "a.irscope")) as capture:
        version = capture.variants[0].toolchain.versions["triton"]
        here = ".".join(version.split(".")[:2])
        measured = (Measurement(here, "H100", "It took 3 ms."), Measurement("2.0", "A100", "It took 9 ms."))
        lesson = Lesson(1, "test", "A test", "About.", (), (replace(_STEP, measured=measured[:1]),))
        text = markdown(replace(lesson, measured=measured[1:]), capture)
    assert f"Measured with Triton {here} on an H100:\n\nIt took 3 ms." in text
    other = f"Measured with Triton 2.0 on an A100, not with Triton {here}, which compiled this lesson:"
    assert f"{other}\n\nIt took 9 ms." in text


def test_names_of_lessons_may_have_hyphens():
    assert find_lesson("warp-specialization") == find_lesson("warp_specialization")


def test_a_lesson_that_runs_a_program_says_that_it_needs_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))  # and restore it
    program = LessonSweep(tmp_path / "program.py")
    lesson = Lesson(1, "test", "A test", "About.", (program,), (_STEP,))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs torch: pip install 'irscope\[run\]'"):
        learn.compile_lesson(lesson, tmp_path / "lesson.irscope")


def test_lessons_of_two_installations_have_captures_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In one capture, the variants of two files with one kernel would have the same names."""
    monkeypatch.setenv("IRSCOPE_LESSONS", str(tmp_path / "captures"))
    lesson_captures = []
    for content in ("a kernel", "an edited kernel"):
        for folder in (tmp_path / "here", tmp_path / "there"):
            folder.mkdir(exist_ok=True)
            (folder / "kernel.py").write_text(content)
            sweeps = (LessonSweep(folder / "kernel.py", "kernel"),)
            lesson_captures.append(
                learn.lesson_capture(Lesson(1, "test", "A test", "About.", sweeps, (_STEP,)))
            )
    assert len(set(lesson_captures)) == 4
    assert {path.name for path in lesson_captures} == {"01_test.irscope"}


def test_a_program_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))  # and restore it
    program = tmp_path / "program.py"
    program.write_text("raise SystemExit('no service today')\n")
    lesson = Lesson(1, "test", "A test", "About.", (LessonSweep(program),), (_STEP,))
    with pytest.raises(UserError, match=r"program\.py failed: no service today"):
        learn.compile_lesson(lesson, tmp_path / "lesson.irscope")
    assert not (tmp_path / "lesson.irscope").exists(), "nothing half-done is kept"
