"""Each exercise is not done at first, and done with its solution, on the installed Triton."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from irscope.learn.exercises import tasks
from irscope.learn.lesson import Lesson, lessons
from tests.conftest import Irscope
from tests.learn.solutions import SOLUTIONS, solved

LESSONS = lessons()


def test_each_lesson_has_two_exercises_with_hints_and_solutions():
    names = [task.file for lesson in LESSONS for task in tasks(lesson)]
    assert names == [f"exercise_{name}.py" for name in sorted(SOLUTIONS)]
    assert len(names) == 2 * len(LESSONS)
    for lesson in LESSONS:
        for task in tasks(lesson):
            assert task.title and task.text and task.exercise.hint.strip(), task.file
            assert f"irscope compile {task.file}" in task.content
            assert ast.get_docstring(ast.parse(task.content), clean=False)


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_an_exercise_is_done_only_with_its_solution(irscope: Irscope, tmp_path: Path, lesson: Lesson):
    def judged() -> list[str]:
        done = irscope("learn", str(lesson.number), "--exercise")
        assert done.stderr == ""
        return [line for line in done.stdout.splitlines() if line.startswith("exercise_")]

    assert all(": written: " in line for line in judged())
    names = [task.file for task in tasks(lesson)]
    first = judged()
    assert len(first) == len(names) and all(": not done yet: " in line for line in first)
    for task in tasks(lesson):
        (tmp_path / task.file).write_text(solved(task.file, task.content))
    assert [line.split(":")[1] for line in judged()] == [" done"] * len(names)
