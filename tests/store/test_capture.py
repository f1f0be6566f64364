"""The capture file: it is read as written, even after a killed process or damage."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.model import Argument, Benchmark, Config, Dtype, Failure, Launch, SourceFunction, UserError
from irscope.model.origin import Origin, ProgramLine, origin_to_json
from irscope.model.variant import ORIGIN
from irscope.store import CaptureReader, CaptureWriter, NewVariant, encoding
from irscope.store.capture_file import find_writer
from irscope.store.schema import SCHEMA_VERSION
from irscope.targets import parse_target
from irscope.workspace.growth import incomplete_note
from tests.store.stored_facts import by_variant

SOURCE = SourceFunction("kernel", "k.py", 3, "def kernel(x_ptr, BLOCK): ...\n")
TARGET = parse_target("cuda:90")

values = st.one_of(
    st.integers(), st.booleans(), st.none(), st.text(), st.floats(allow_nan=False),
    st.sampled_from([Dtype("fp16"), Dtype("bf16")]),
)  # fmt: skip


def new(block: int, **more: object) -> NewVariant:
    arguments = (Argument("x_ptr", "*fp32", "D"), Argument("n", "constexpr", None, 1))
    return NewVariant(TARGET, arguments, Config((("BLOCK", block), ("num_warps", 4))), **more)  # type: ignore[arg-type]


def write(path: Path, *variants: NewVariant) -> None:
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "irscope compile")
        kernel = writer.add_kernel(SOURCE, (), ("x_ptr", "n", "BLOCK"))
        for variant in variants:
            writer.add_variant(kernel, toolchain, "3.9.0", variant)


def test_a_capture_of_the_first_version_is_read_and_added_to(tmp_path: Path):
    path = tmp_path / "old.irscope"
    write(path, new(64))
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE pass")
        db.execute("DROP TABLE layouts")
        db.execute("PRAGMA user_version = 1")
    db.close()
    with CaptureReader(path) as capture:
        (variant,) = capture.variants()
        assert (capture.passes(variant), capture.layouts(variant)) == ((), None)
    with CaptureWriter.resume(path) as writer:
        writer.add_layouts(1, {"#a": 1})
    with CaptureReader(path) as capture:
        assert capture.layouts(variant) == {"#a": 1}


def test_written_captures_are_read_back(tmp_path: Path):
    path = tmp_path / "a.irscope"
    full = new(
        64, metadata={"shared": 1024}, seconds={"ttir": 0.5}, cache_key={"source": "ab"}, cached=True,
        log="ptxas info", output="hello", artifacts={"ttir": b"module {}", "cubin": b"\x7fELF\0"},
    )  # fmt: skip
    failed = new(128, failure=Failure("PTXASError", "one line", "the whole\nmessage"))
    write(path, full, failed)
    with CaptureReader(path) as capture:
        first, second = capture.variants()
        assert (first.config, first.specialization, first.target) == (
            full.config,
            full.specialization,
            TARGET,
        )
        assert (first.metadata, first.seconds, first.cache_key) == (
            full.metadata,
            full.seconds,
            full.cache_key,
        )
        assert (first.cached, first.log, first.output) == (True, "ptxas info", "hello")
        assert first.kernel.source == SOURCE
        assert first.toolchain.versions == {"triton": "3.9.0"}
        assert capture.read(first, "cubin") == b"\x7fELF\0"
        assert capture.read(first, "sass") is None
        assert second.failure == failed.failure
    assert list(tmp_path.iterdir()) == [path]


@given(st.lists(st.tuples(st.text(min_size=1), values), max_size=6))
def test_configs_survive_json(pairs: list[tuple[str, object]]):
    config = Config(tuple(pairs))  # type: ignore[arg-type]
    assert encoding.config_from_json(encoding.config_to_json(config)) == config


@given(st.binary(max_size=4096))
def test_contents_survive_compression(content: bytes):
    assert encoding.decompress(encoding.compress(content), len(content)) == content


def test_equal_stages_are_stored_once(tmp_path: Path):
    path = tmp_path / "a.irscope"
    stage = os.urandom(200_000)
    write(path, *(new(block, artifacts={"cubin": stage}) for block in range(16)))
    assert path.stat().st_size < 400_000


def test_a_writer_replaces_a_variant_it_has_and_numbers_new_ones(tmp_path: Path):
    path = tmp_path / "a.irscope"
    write(path, new(64, failure=Failure("timeout", "t", "t")), new(128))
    with CaptureWriter.resume(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "again")
        kernel = writer.add_kernel(SOURCE, (), ("x_ptr", "n", "BLOCK"))
        assert len(writer.finished()) == 1
        assert writer.add_variant(kernel, toolchain, "3.9.0", new(64, artifacts={"ttir": b"x"})) == 1
        assert writer.add_variant(kernel, toolchain, "3.9.0", new(256)) == 3
    with CaptureReader(path) as capture:
        assert [variant.failure for variant in capture.variants()] == [None, None, None]


def test_a_viewer_reads_while_the_capture_is_being_written(tmp_path: Path):
    path = tmp_path / "a.irscope"
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "c")
        kernel = writer.add_kernel(SOURCE, (), ())
        with CaptureReader(path) as capture:
            for block in range(3):
                writer.add_variant(kernel, toolchain, "3.9.0", new(block, artifacts={"ttir": b"%d" % block}))
                variants = capture.variants()
                assert len(variants) == block + 1
                assert capture.read(variants[-1], "ttir") == b"%d" % block


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.store.test_capture import *
writer = CaptureWriter.create(Path(sys.argv[1]))
toolchain = writer.add_toolchain({{"triton": "3.9.0"}}, "c")
kernel = writer.add_kernel(SOURCE, (), ())
for block in range(1000):
    writer.add_variant(kernel, toolchain, "3.9.0", new(block, artifacts={{"ttir": os.urandom(50_000)}}))
    print(block, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 7, 30])
def test_a_killed_writer_leaves_every_finished_variant(tmp_path: Path, after: int):
    path = tmp_path / "a.irscope"
    code = KILLED.format(root=str(Path(__file__).parents[2]))
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(after):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    with CaptureReader(path) as capture:
        variants = capture.variants()
        assert len(variants) >= last + 1
        assert all(len(capture.read(variant, "ttir") or b"") == 50_000 for variant in variants)


def _truncated(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


def _flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for offset in range(4096, len(content), 64):
        content[offset] ^= 0xFF
    path.write_bytes(content)


def _another_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (Path.unlink, "cannot be read"),
        (lambda path: path.write_bytes(b""), "not an irscope capture"),
        (lambda path: path.write_text("PK" * 500), "not an irscope capture"),
        (_another_database, "not an irscope capture"),
        (_truncated, "truncated"),
        (_newer, "newer irscope"),
        (_flipped, "damaged|malformed"),
    ],
)
def test_an_invalid_capture_is_reported_in_one_line(tmp_path: Path, damage, message: str):
    path = tmp_path / "a.irscope"
    write(path, *(new(block, artifacts={"ttir": os.urandom(9000)}) for block in range(20)))
    damage(path)
    with pytest.raises(UserError, match=message) as raised, CaptureReader(path) as capture:
        for variant in capture.variants():
            capture.read(variant, "ttir")
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_text("PK" * 500), "not an irscope capture"),
        (_another_database, "not an irscope capture"),
        (_truncated, "truncated"),
        (_newer, "newer irscope"),
    ],
)
def test_an_invalid_capture_is_not_resumed(tmp_path: Path, damage, message: str):
    path = tmp_path / "a.irscope"
    write(path, *(new(block, artifacts={"ttir": os.urandom(9000)}) for block in range(20)))
    damage(path)
    content = path.read_bytes()
    with pytest.raises(UserError, match=message):
        CaptureWriter.resume(path)
    assert path.read_bytes() == content
    assert sorted(tmp_path.iterdir()) == [path]


def test_an_existing_file_is_kept(tmp_path: Path):
    path = tmp_path / "a.irscope"
    path.write_text("precious")
    with pytest.raises(UserError, match="--force"):
        CaptureWriter.create(path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("variant", "metadata", "[1]"),
        ("variant", "metadata", "{"),
        ("variant", "config", '{"a": 1}'),
        ("variant", "specialization", '[["x", 3, null, null]]'),
        ("variant", "failure", '{"kind": 1}'),
        ("variant", "seconds", '{"ttir": "x"}'),
        ("variant", "target", "cuda:1"),
        ("variant", "log", b"\xff"),
        ("variant", "kernel", 99),
        ("kernel", "source", '{"name": ["a"], "file": "f", "line": 1, "text": ""}'),
        ("kernel", "source", '{"name": "a", "file": "f", "line": 1, "text": 5}'),
        ("kernel", "parameters", "[[]]"),
        ("toolchain", "versions", "[]"),
        ("blob", "data", b"not zstd"),
        ("blob", "size", 1 << 40),
        ("blob", "size", b"x"),
        ("artifact", "stage", b"x"),
        ("facts", "facts", "[]"),
    ],
)
def test_a_hostile_capture_is_reported_in_one_line(tmp_path: Path, table: str, column: str, value: object):
    path = tmp_path / "a.irscope"
    write(path, new(64, artifacts={"ttir": b"module {}"}))
    with CaptureWriter.resume(path) as writer:
        writer.add_facts(1, 1, {"registers": 8})
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE {table} SET {column} = ?", (value,))
    with pytest.raises(UserError, match="damaged") as raised, CaptureReader(path) as capture:
        for variant in capture.variants():
            capture.read(variant, "ttir")
        by_variant(capture.fact_blocks())
    assert "\n" not in str(raised.value)


def test_what_is_written_can_be_read_however_well_it_compresses(tmp_path: Path):
    path = tmp_path / "a.irscope"
    stages = {"ttir": b"\n" * 1_500_000, "cubin": bytes(20 << 20), "ptx": b"a\n" * 9}
    write(path, new(64, artifacts=stages))
    with CaptureReader(path) as capture:
        (variant,) = capture.variants()
        assert all(capture.read(variant, name) == content for name, content in stages.items())
    assert path.stat().st_size < 600_000


@pytest.mark.parametrize(("unit", "size"), [(b"\n", 1_500_000), (b"\0", 9 << 20), (b"a", 40 << 20)])
def test_a_stage_that_its_size_does_not_explain_is_refused(unit: bytes, size: int):
    content = unit * size
    with pytest.raises(ValueError, match=r"larger than stages are|more than 100,000 lines"):
        encoding.decompress(encoding.compress(content, 1), len(content))


def test_a_compilers_text_is_kept_whole_up_to_a_limit(tmp_path: Path):
    path = tmp_path / "a.irscope"
    kept, long = "x" * encoding.MAX_TEXT, "a" * encoding.MAX_TEXT + "end \ud800"
    failure = Failure("Error", "summary", long)
    write(path, new(64, output=kept, log=long), new(128, failure=failure))
    with CaptureReader(path) as capture:
        first, second = capture.variants()
    assert first.output == kept
    for text in (first.log or "", second.failure.message if second.failure else ""):
        assert len(text) < encoding.MAX_TEXT + 100
        assert text.startswith("aaa") and "end " in text[-20:]
        assert "[irscope left out 5 of 4,194,309 characters]" in text


ADDS = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.store.test_capture import *
with CaptureWriter.resume(Path(sys.argv[1])) as writer:
    toolchain = writer.add_toolchain({{"triton": "3.9.0"}}, "c")
    kernel = writer.add_kernel(SOURCE, (), ())
    for block in range(100, 140):
        writer.add_variant(kernel, toolchain, "3.9.0", new(block, artifacts={{"ttir": os.urandom(9000)}}))
"""


def test_opening_a_capture_again_does_not_unlock_it_for_other_processes(tmp_path: Path):
    path = tmp_path / "a.irscope"
    write(path, *(new(block, artifacts={"ttir": os.urandom(9000)}) for block in range(9)))
    writer = CaptureWriter.resume(path)
    with CaptureReader(path) as first:
        first.variants()
        with CaptureReader(path) as second:
            second.variants()
        writer.close()
        subprocess.run(
            [sys.executable, "-c", ADDS.format(root=str(Path(__file__).parents[2])), str(path)], check=True
        )
        variants = first.variants()
        assert len(variants) == 49
        assert all(len(first.read(variant, "ttir") or b"") == 9000 for variant in variants)
    with CaptureWriter.resume(path):
        pass
    assert list(tmp_path.iterdir()) == [path]


def test_summaries_have_what_a_list_shows(tmp_path: Path):
    path = tmp_path / "a.irscope"
    origin = Origin("0/0 forward", ("relu",), ("aten.relu",), (ProgramLine("/m.py", 3),))
    failed = Failure("PTXASError", "one line", "the whole\nmessage")
    write(path, new(64, metadata={"shared": 1024, ORIGIN: origin_to_json(origin)}), new(128, failure=failed))
    with CaptureReader(path) as capture:
        whole, summaries = capture.variants(), list(capture.summaries())
    for variant, summary in zip(whole, summaries, strict=True):
        assert (summary.config, summary.specialization) == (variant.config, variant.specialization)
        assert (summary.origin, summary.failure) == (variant.origin, variant.failure)
    assert summaries[0].origin == origin


def test_an_interrupted_capture_is_incomplete_until_it_is_resumed(tmp_path: Path):
    path = tmp_path / "a.irscope"
    write(path, new(64))
    with pytest.raises(KeyboardInterrupt), CaptureWriter.resume(path) as writer:
        writer.expect(2)
        writer.add_variant(1, 1, "3.9.0", new(128))
        raise KeyboardInterrupt
    for amends in (True, False):  # one that only adds facts completes nothing
        found = find_writer(path)
        assert found is not None
        assert (found.running, found.planned) == (False, 3)
        assert incomplete_note(path).startswith(f"{path} is incomplete. The writer has ended, 2 of 3; ")
        CaptureWriter.resume(path, amends=amends).close()
    assert find_writer(path) is None
    assert incomplete_note(path) == ""
    assert [file.name for file in tmp_path.iterdir()] == ["a.irscope"]


def test_a_named_pipe_for_a_lock_blocks_nobody(tmp_path: Path):
    path = tmp_path / "a.irscope"
    write(path, new(64))
    os.mkfifo(f"{path}-lock")
    assert find_writer(path) is None


LAUNCH = Launch((4, 1, 1), (("x", "float16[512, 64]"), ("n", "512")))
TIMES = (Benchmark("n=512", 0.25, 0.2, 0.3), Benchmark("n=64", 0.1, 0.05, 0.2, chosen=True))


def test_launches_and_times_are_read_as_written(tmp_path: Path):
    path = tmp_path / "a.irscope"
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "irscope run")
        kernel = writer.add_kernel(SourceFunction("k", "k.py", 1, ""), (), ())
        new = NewVariant(parse_target("cuda:90"), (), Config(), launches=(LAUNCH,))
        id_ = writer.add_variant(kernel, toolchain, "3.9.0", new)
        writer.add_facts(id_, 1, {"ms": None})
        with CaptureReader(path) as capture:
            assert capture.variants()[0].launches == (LAUNCH,)
            assert capture.variants()[0].benchmarks == ()
        writer.set_measured(id_, (LAUNCH, LAUNCH), TIMES)
    with CaptureReader(path) as capture:
        (variant,) = capture.variants()
        assert variant.launches == (LAUNCH, LAUNCH)
        assert variant.benchmarks == TIMES
        assert by_variant(capture.fact_blocks()) == {}  # measured again
