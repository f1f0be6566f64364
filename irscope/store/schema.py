"""The tables of a capture file, its application id and its version.

Compares the schema of a capture with ours, statement by statement.

SQLite executes what a schema says: triggers on writes, views and generated columns on reads, expressions of
CHECK and DEFAULT. A capture has tables, exactly as `schema.py` creates them, and nothing else.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache

# "irsc" in ASCII, by which `file` and SQLite recognize a capture.
APPLICATION_ID = 0x69727363
SCHEMA_VERSION = 3
# The first character of the `stage` of an artifact that is not a stage: what a reproducer needs.
ATTACHMENT = "@"
# A capture with more variants has blocks: so many are read from their rows in 0.1 s and 10 MB.
LARGE = 1000
# The kinds of blocks.
NAMES, FACTS = "names", "facts"

SCHEMA = """
CREATE TABLE toolchain (
    id INTEGER PRIMARY KEY,
    versions TEXT NOT NULL,              -- JSON object: triton, ptxas, python, torch, irscope
    command TEXT NOT NULL,
    UNIQUE (versions, command)
);
CREATE TABLE kernel (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,         -- sha256 of the columns below
    name TEXT NOT NULL,
    source TEXT NOT NULL,                -- JSON object: name, file, line, text
    helpers TEXT NOT NULL,               -- JSON list of such objects
    parameters TEXT NOT NULL             -- JSON list of names
);
CREATE TABLE variant (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,       -- sha256 of what names a variant; identity.py
    kernel INTEGER NOT NULL REFERENCES kernel,
    toolchain INTEGER NOT NULL REFERENCES toolchain,
    target TEXT NOT NULL,
    specialization TEXT NOT NULL,        -- JSON list of arguments
    config TEXT NOT NULL,                -- JSON list of [name, value]
    failure TEXT,                        -- JSON object: kind, summary, message
    metadata TEXT NOT NULL,              -- JSON object, Triton's own
    seconds TEXT NOT NULL,               -- JSON object: stage -> seconds
    cache_key TEXT NOT NULL,             -- JSON object: component -> text
    cached INTEGER NOT NULL,             -- 1: Triton's cache had it
    log TEXT,                            -- what ptxas printed
    output TEXT NOT NULL,                -- what the compiler printed
    reasons TEXT,                        -- the coalescing pass's log, if requested
    launches TEXT NOT NULL,              -- JSON list of objects: grid, arguments
    benchmarks TEXT NOT NULL             -- JSON list of objects: key, ms, p20, p80, chosen
);
CREATE TABLE blob (
    digest TEXT PRIMARY KEY,             -- sha256 of the content
    size INTEGER NOT NULL,               -- bytes of the content
    data BLOB NOT NULL                   -- the content, one zstd frame
) WITHOUT ROWID;
CREATE TABLE artifact (
    variant INTEGER NOT NULL REFERENCES variant,
    stage TEXT NOT NULL,
    digest TEXT NOT NULL REFERENCES blob,
    PRIMARY KEY (variant, stage)
) WITHOUT ROWID;
CREATE TABLE facts (                     -- what analysis made of a variant: a cache, never needed
    variant INTEGER PRIMARY KEY REFERENCES variant,
    version INTEGER NOT NULL,            -- version of the facts; facts of another version are recomputed
    facts TEXT NOT NULL                  -- JSON object: name -> value
);
"""

# The tables that each later version added. An older capture lacks them until it is written to.
ADDED = {
    2: """
CREATE TABLE pass (                      -- the compiler's passes, where they were asked for
    variant INTEGER NOT NULL REFERENCES variant,
    place INTEGER NOT NULL,              -- counted from 0, in the order they ran
    stage TEXT NOT NULL,                 -- the stage it is part of
    name TEXT NOT NULL,                  -- MLIR's name of it
    seconds REAL NOT NULL,
    digest TEXT REFERENCES blob,         -- the module after it; NULL: as before
    PRIMARY KEY (variant, place)
) WITHOUT ROWID;
CREATE TABLE layouts (                   -- Triton's own linear layouts, where they were asked for
    variant INTEGER PRIMARY KEY REFERENCES variant,
    layouts TEXT NOT NULL                -- JSON object: type -> bases
);
""",
    3: """
CREATE TABLE block (                     -- large captures: columns of many variants, a cache; blocks.py
    first INTEGER NOT NULL,              -- the id of the first variant
    kind TEXT NOT NULL,                  -- names, or facts
    size INTEGER NOT NULL,               -- bytes of the content
    data BLOB NOT NULL,                  -- the content: JSON, one zstd frame
    PRIMARY KEY (first, kind)
);
""",
}


_COMMENT = re.compile(r"--[^\n]*")
_NAME = re.compile(r"CREATE TABLE (\w+)")


class NotACaptureError(Exception):
    """The database is something else, or newer; the message says what, for `PATH: MESSAGE`."""


def check_schema(db: sqlite3.Connection) -> None:
    """Check that the database is a capture and has nothing that a capture has not.

    Raises NotACaptureError otherwise.
    """
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise NotACaptureError("an SQLite database, but not an irscope capture")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise NotACaptureError(
            f"written by a newer irscope (capture format {version}, this one reads up to "
            f"{SCHEMA_VERSION}); upgrade irscope"
        )
    missing = _required(version)
    for kind, name, table, statement in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        if not _is_ours(kind, name, table, statement):
            raise NotACaptureError(f"not a sound capture: {_described(kind, name)}")
        missing.discard(name)
    if missing:
        raise NotACaptureError(f"damaged: table {min(missing)} is missing; copy the capture again")


def statements(script: str) -> list[str]:
    """Split a part of `schema.py` into its statements."""
    return [statement for statement in script.split(";\n") if statement.strip()]


def _is_ours(kind: object, name: object, table: object, statement: object) -> bool:
    tables = _tables(SCHEMA_VERSION)
    if kind == "table":
        return (
            isinstance(statement, str) and name == table and tables.get(str(name)) == _normalized(statement)
        )
    # The index that SQLite itself makes for UNIQUE.
    return kind == "index" and statement is None and table in tables


def _required(version: int) -> set[str]:
    return set(_tables(version))


def schema(version: int) -> str:
    """Return the statements that create all tables of a version of the format."""
    return SCHEMA + "".join(added for since, added in ADDED.items() if since <= version)


@cache
def _tables(version: int) -> dict[str, str]:
    """Map each table's name to its statement, normalized."""
    by_name = {}
    for statement in map(_normalized, statements(schema(version))):
        if match := _NAME.match(statement):
            by_name[match[1]] = statement
    return by_name


def _normalized(statement: str) -> str:
    """Return a statement without comments and layout, which differ between versions."""
    return " ".join(_COMMENT.sub("", statement).split())


def _described(kind: object, name: object) -> str:
    if kind == "table" and name in _required(SCHEMA_VERSION):
        return f"its table {str(name)!r} has other columns or conditions"
    what = (
        f"{kind} {str(name)[:40]!r}" if kind in ("trigger", "view", "table", "index") else "an unknown entry"
    )
    return f"no capture has {what}"
