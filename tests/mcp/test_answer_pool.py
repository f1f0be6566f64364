"""Answers come from workers that can be ended: one client's endless calls do not stop those of others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from irscope.compiling.pool import Stop, Stopped
from irscope.mcp import answer_pool
from irscope.mcp.answer_pool import MOST_WORKERS, AnswerPool
from irscope.mcp.answer_worker import Question
from irscope.mcp.session import Roots, Session
from irscope.mcp.warm_compiler import Compiler, Limits
from irscope.model import UserError
from tests.hardening.captures import with_stages

# A stage as large as one may be that is stored in a few bytes: parsing it takes seconds.
LONG = b"module {\n" + b'  %0 = tt.load %p : tensor<4xf32> loc("k.py":1:1)\n' * 99_000 + b"}\n"
SLOW = Question(0, "compare", {"capture": "long.irscope", "a": 1, "b": 3})
QUICK = Question(0, "variants", {"capture": "short.irscope"})


@pytest.fixture
def pool_with(tmp_path: Path) -> Iterator[Callable[[float], AnswerPool]]:
    """Makes pools whose answers may take some seconds."""
    with_stages(tmp_path / "long.irscope", {"ttgir": LONG})
    with_stages(tmp_path / "short.irscope", {})
    made: list[AnswerPool] = []

    def make(seconds: float) -> AnswerPool:
        folder = tmp_path / "session"
        folder.mkdir(exist_ok=True)
        made.append(AnswerPool(Session(folder, Roots.of([tmp_path]), Compiler(Limits(seconds, 2 << 30)))))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


def problem(pool: AnswerPool, question: Question, stop: Stop) -> str:
    try:
        pool.ask(question, stop)
    except UserError as error:
        return str(error)
    except Stopped:
        return "stopped"
    return ""


@pytest.mark.slow
def test_endless_answers_end_and_others_are_answered(pool_with: Callable[[float], AnswerPool]) -> None:
    pool = pool_with(0.5)
    assert pool.ask(QUICK, Stop()).data["rows"]
    with ThreadPoolExecutor(MOST_WORKERS + 1) as threads:
        endless = [threads.submit(problem, pool, SLOW, Stop()) for _ in range(MOST_WORKERS)]
        other = threads.submit(pool.ask, QUICK, Stop())
        assert {future.result() for future in endless} == {"the answer takes more than 0.5 s (--timeout)"}
        assert other.result().data["rows"]
    assert pool.ask(QUICK, Stop()).data["rows"]


@pytest.mark.slow
def test_an_answer_has_less_time_while_others_wait(
    pool_with: Callable[[float], AnswerPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_pool, "MOST_WORKERS", 1)
    monkeypatch.setattr(answer_pool, "CONTENDED_SECONDS", 0.3)
    pool = pool_with(100)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(problem, pool, SLOW, Stop())
        time.sleep(0.5)
        other = threads.submit(pool.ask, QUICK, Stop())
        assert "while other calls wait; call again" in slow.result()
        assert other.result().data["rows"]


@pytest.mark.slow
def test_a_cancelled_answer_ends_its_worker(pool_with: Callable[[float], AnswerPool]) -> None:
    pool, stop = pool_with(100), Stop()
    pool.warm_up()
    threading.Timer(3, stop.set).start()
    start = time.monotonic()
    assert problem(pool, SLOW, stop) == "stopped"
    assert time.monotonic() - start < 20
    assert pool.ask(QUICK, Stop()).data["rows"]


@pytest.mark.slow
def test_problems_are_errors_of_one_call(pool_with: Callable[[float], AnswerPool]) -> None:
    pool = pool_with(60)
    nowhere = Question(0, resource="irscope://short.irscope/1/2/3")
    assert "no such resource" in problem(pool, nowhere, Stop())
    assert "no such file" in pool.ask(Question(0, "variants", {"capture": "missing"}), Stop()).data["error"]
    assert pool.ask(Question(0), Stop()) == []
