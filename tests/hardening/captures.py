"""Captures: damaged bytes, schemas that are not ours, hostile values in every column, hostile stages."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import shutil
import sqlite3
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import zstandard

from irscope.store.encoding import MAX_LINE, pack
from tests.hardening.hostile import TEXTS, VALUES, json_text, write_hostile_capture
from tests.hardening.texts import damaged_text, pieces
from tests.hardening.views import run, some_views

_OLD = sorted((Path(__file__).parents[1] / "data" / "captures").glob("*.irscope"))
_TABLES = ("toolchain", "kernel", "variant", "blob", "artifact", "facts", "pass", "layouts")
_SCHEMAS = (
    "CREATE TRIGGER t AFTER INSERT ON artifact BEGIN DELETE FROM kernel; END",
    "CREATE TRIGGER t BEFORE UPDATE ON variant BEGIN SELECT zeroblob(900000000); END",
    "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
    "CREATE TABLE more (x)",
    "CREATE INDEX i ON variant (abs(id))",
    "ANALYZE",
    "DROP TABLE facts",
    "CREATE INDEX j ON kernel (name)",
    "ALTER TABLE variant ADD COLUMN g TEXT AS (zeroblob(900000000))",
    "ALTER TABLE kernel ADD COLUMN extra TEXT",
    "ALTER TABLE kernel RENAME COLUMN name TO title",
    "ALTER TABLE artifact RENAME TO artifacts",
    "CREATE VIRTUAL TABLE f USING fts5(x)",
    "PRAGMA user_version = 9",
    "PRAGMA user_version = -1",
    "PRAGMA application_id = 7",
    "DROP TABLE layouts",
    "CREATE VIEW w AS SELECT load_extension('/tmp/x.so')",
    "PRAGMA user_version = 0",
)
_REPLACED_BY_VIEW = (
    "SELECT 1 AS id, zeroblob(900000000) AS versions, 'x' AS command",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT x AS id, x AS versions, x AS command FROM c",
)


@cache
def _hostile() -> Path:
    return write_hostile_capture(Path(mkdtemp(prefix="irscope-hostile-"), "hostile.irscope"))


def some_capture(rng: random.Random) -> Path:
    """Return a capture of the test data, or one in which every text is hostile."""
    return rng.choice([*_OLD, _hostile()])


def _copy(rng: random.Random, folder: Path) -> Path:
    return Path(shutil.copy(some_capture(rng), folder / "case.irscope"))


def _view(rng: random.Random, path: Path, folder: Path, number: int = 2) -> None:
    for words in some_views(rng, number):
        run(words, path, folder)


def damaged_bytes(rng: random.Random, folder: Path) -> None:
    """Flips, truncates, overwrites, inserts or exchanges pages."""
    path = _copy(rng, folder)
    content = bytearray(path.read_bytes())
    match rng.randrange(6):
        case 0 | 1:
            for _ in range(rng.choice((1, 1, 1, 8, 200))):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        case 2:
            del content[rng.randrange(len(content)) :]
        case 3:
            start = rng.randrange(len(content))
            content[start : start + 200] = rng.randbytes(rng.randrange(400))
        case 4:
            first, second = (1024 * rng.randrange(len(content) // 1024) for _ in range(2))
            content[first : first + 1024] = content[second : second + 1024]
        case _:
            content[rng.randrange(100)] = rng.randrange(256)  # the header
    path.write_bytes(content)
    if rng.random() < 0.1:
        for suffix in ("-wal", "-shm", "-journal"):
            Path(f"{path}{suffix}").write_bytes(rng.choice((b"", rng.randbytes(4096), bytes(content[:2048]))))
    _view(rng, path, folder)


def foreign_schema(rng: random.Random, folder: Path) -> None:
    """Adds to the schema, or changes it: no view may execute any of it."""
    path = _copy(rng, folder)
    with contextlib.closing(sqlite3.connect(path)) as db, contextlib.suppress(sqlite3.Error):
        if rng.random() < 0.15:
            db.execute("ALTER TABLE toolchain RENAME TO hidden")
            db.execute(f"CREATE VIEW toolchain AS {rng.choice(_REPLACED_BY_VIEW)}")
        elif rng.random() < 0.2:
            db.execute("PRAGMA writable_schema = 1")
            column, value = (
                rng.choice(("sql", "name", "type", "rootpage")),
                rng.choice((*TEXTS[:20], 1, 2, 3, None)),
            )
            db.execute(
                f"UPDATE sqlite_master SET {column} = ? WHERE tbl_name = ?", (value, rng.choice(_TABLES))
            )
            db.commit()
        else:
            db.execute(rng.choice(_SCHEMAS))
    _view(rng, path, folder)


def hostile_values(rng: random.Random, folder: Path) -> None:
    """Puts hostile values into columns: as they are, as JSON, or within the JSON that is there."""
    path = _copy(rng, folder)
    with contextlib.closing(sqlite3.connect(path)) as db:
        for _ in range(rng.choice((1, 1, 2, 5))):
            table = rng.choice(_TABLES)
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            if not columns:
                continue
            column = rng.choice(columns)
            row = db.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
            with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                value = _hostile_value(rng, row[0] if row else None)
                which = (
                    ""
                    if rng.random() < 0.5
                    else f" WHERE {columns[0]} = (SELECT {columns[0]} FROM {table} LIMIT 1)"
                )
                db.execute(f"UPDATE {table} SET {column} = ?{which}", (value,))
        if rng.random() < 0.3:
            db.execute("DELETE FROM facts")
        db.commit()
    _view(rng, path, folder)


def _hostile_value(rng: random.Random, old: object) -> object:
    value = rng.choice(VALUES)
    kind = rng.randrange(4)
    if kind == 0:
        return value if isinstance(value, int | float | str | None) else json_text(value)
    if kind == 1:
        return rng.choice((b"\xff\xfe", rng.randbytes(30), json_text(value), "[" * 5000, "{" * 9, ""))
    if kind == 2:
        return json_text(rng.choice(([value], {"name": value}, [[value, value]], {"x": [value]}, value)))
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        return json_text(with_leaf(rng, json.loads(str(old)), value))
    return json_text(value)


def with_leaf(rng: random.Random, value: object, leaf: object) -> object:
    """`value` with one of its parts replaced by `leaf`."""
    if isinstance(value, list) and value and rng.random() < 0.9:
        index = rng.randrange(len(value))
        return [*value[:index], with_leaf(rng, value[index], leaf), *value[index + 1 :]]
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        return value | {key: with_leaf(rng, value[key], leaf)}
    return leaf


def with_stages(path: Path, stages: Mapping[str, bytes]) -> Path:
    """Copies the newest capture of the test data to `path`, with other stages in every variant."""
    shutil.copy(_OLD[-1], path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        for stage, content in stages.items():
            blob = pack(content, 1)
            db.execute("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", (blob.digest, blob.size, blob.frame))
            db.execute("UPDATE artifact SET digest = ? WHERE stage = ?", (blob.digest, stage))
        db.execute("DELETE FROM facts")
        db.commit()
    return path


_UNITS = (
    *(b"a", b" ", b"(", b"\\", b'"', b"{", b"}", b"\xff", "\u3164".encode(), b"%0 = ", b"/*0010*/"),
    *(b"tensor<4xf32, #b> ", b"ld.global.b32 \t%r1, [%rd1];", b'loc("x":1:1) '),
)


def hostile_lines(rng: random.Random, folder: Path) -> None:
    """Makes lines as long as they can be, and longer, in one stage or in several."""
    unit = rng.choice(_UNITS)
    size = rng.choice((1000, 20_000, 100_000, MAX_LINE - 50, MAX_LINE, MAX_LINE + 1, 1 << 20, 7 << 20))
    line = (unit * (size // len(unit) + 1))[:size]
    before, after = (
        rng.choice((b"", b"\n", b"module {\n", b"k:\n", b".visible .entry k(\n")) for _ in range(2)
    )
    content = before + b"\n".join([line] * rng.choice((1, 1, 2, min(20, (8 << 20) // size)))) + after
    names = rng.sample(
        ("ttir", "ttgir", "llir", "ptx", "sass", "cubin", "source", "amdgcn"), rng.randrange(1, 4)
    )
    _view(rng, with_stages(folder / "case.irscope", dict.fromkeys(names, content)), folder)


def hostile_stages(rng: random.Random, folder: Path) -> None:
    """Replaces stages: by damaged texts, by noise, by bombs, by frames that are wrong."""
    path = _copy(rng, folder)
    with contextlib.closing(sqlite3.connect(path)) as db:
        digests = [row[0] for row in db.execute("SELECT digest FROM blob")]
        for digest in rng.sample(digests, min(len(digests), rng.randrange(1, 4))):
            content = _stage(rng)
            frame = zstandard.ZstdCompressor(level=1).compress(content)
            size = len(content)
            if rng.random() < 0.1:
                frame = rng.choice((frame[: len(frame) // 2], frame + frame, rng.randbytes(50), b""))
            if rng.random() < 0.1:
                size = rng.choice((0, -1, size + 1, 1 << 40, 2**63 - 1))
            name = hashlib.sha256(content).hexdigest()
            with contextlib.suppress(sqlite3.IntegrityError):
                db.execute("INSERT INTO blob VALUES (?, ?, ?)", (name, size, frame))
            for table in ("artifact", "pass"):
                with contextlib.suppress(sqlite3.OperationalError):  # version 1 has no passes
                    db.execute(f"UPDATE {table} SET digest = ? WHERE digest = ?", (name, digest))
        db.execute("DELETE FROM facts")
        db.commit()
    _view(rng, path, folder)


def _stage(rng: random.Random) -> bytes:
    kind = rng.randrange(20)
    if kind < 12:
        known = pieces()[rng.choice(sorted(pieces()))]
        text = "".join(damaged_text(rng, known) for _ in range(rng.randrange(1, 6)))
        return text.encode("utf-8", rng.choice(("replace", "surrogatepass")))
    if kind < 16:
        return rng.randbytes(rng.randrange(3000))
    if kind < 18:
        return b"\x7fELF\x02\x01\x01" + rng.randbytes(rng.randrange(2000))
    return rng.choice((b"\n", b"\0", b" ", b"(", b"{\n", b"tensor<")) * rng.choice(
        (100_000, 1_000_000, 40 << 20)
    )
