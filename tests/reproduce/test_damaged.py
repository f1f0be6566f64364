"""`irscope reproduce` on captures whose binaries are damaged: the folder is written all the same."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.jobs.reproduce.recorded import read_recorded, recorded_facts
from irscope.store import CaptureReader, CaptureWriter
from tests.conftest import Irscope

VECTOR_ADD = Path(__file__).parents[2] / "samples" / "vector_add.py"


@pytest.fixture
def capture(irscope: Irscope, tmp_path: Path) -> Path:
    words = ["--signature", "*fp32, *fp32, *fp32, i32", "--config", "BLOCK_SIZE=64"]
    done = irscope("compile", str(VECTOR_ADD), *words, "-o", "v.irscope")
    assert done.returncode == 0, done.stderr
    return tmp_path / "v.irscope"


@pytest.mark.slow
def test_a_damaged_binary_has_no_code_to_compare(capture: Path) -> None:
    with CaptureReader(capture) as reader:
        recorded = read_recorded(capture, next(iter(reader.variants())))
    assert recorded.binary is not None
    assert recorded_facts(recorded)["code"]
    rng = random.Random(1)
    for _ in range(500):
        damaged = bytearray(recorded.binary)
        for _ in range(rng.randint(1, 8)):
            damaged[rng.randrange(len(damaged)) if rng.random() < 0.5 else rng.randrange(64)] = rng.randrange(
                256
            )
        content = bytes(damaged[: rng.randrange(len(damaged))] if rng.random() < 0.3 else damaged)
        recorded_facts(replace(recorded, artifacts={**recorded.artifacts, "cubin": content}))
    log = replace(recorded.variant, log=f"Used {'9' * 5000} registers")
    assert recorded_facts(replace(recorded, variant=log))["registers"]


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF" + bytes(60)])
def test_a_reproducer_of_a_damaged_binary_is_written(irscope: Irscope, capture: Path, content: bytes) -> None:
    with sqlite3.connect(capture) as db:
        db.execute("DELETE FROM artifact WHERE stage = 'cubin'")
    with CaptureWriter.resume(capture) as writer:
        writer.add_artifact(1, "cubin", content)
    done = irscope("reproduce", "v.irscope", "#1", "-o", "repro", "--no-check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Not checked: nothing of it was executed." in done.stdout
    assert "'code': None" in (capture.parent / "repro" / "reproduce.py").read_text().replace('"', "'")
