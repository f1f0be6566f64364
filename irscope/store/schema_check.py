"""Compares the schema of a capture with ours, statement by statement.

SQLite executes what a schema says: triggers on writes, views and generated columns on reads, expressions of
CHECK and DEFAULT. A capture has tables, exactly as `schema.py` creates them, and nothing else.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache

from irscope.store.schema import ADDED, APPLICATION_ID, SCHEMA, SCHEMA_VERSION

_COMMENT = re.compile(r"--[^\n]*")
_NAME = re.compile(r"CREATE TABLE (\w+)")


class NotACaptureError(Exception):
    """The database is something else, or newer; the message says what, for `PATH: MESSAGE`."""


def check_schema(db: sqlite3.Connection) -> None:
    """Raises NotACaptureError if the database is not a capture or has anything that a capture has not."""
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
    """The statements of a part of `schema.py`."""
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
    """The statements that create all tables of a version of the format."""
    return SCHEMA + "".join(added for since, added in ADDED.items() if since <= version)


@cache
def _tables(version: int) -> dict[str, str]:
    """Table name -> its statement, normalized."""
    found = {}
    for statement in map(_normalized, statements(schema(version))):
        if match := _NAME.match(statement):
            found[match[1]] = statement
    return found


def _normalized(statement: str) -> str:
    """A statement without comments and layout, which differ between versions."""
    return " ".join(_COMMENT.sub("", statement).split())


def _described(kind: object, name: object) -> str:
    if kind == "table" and name in _required(SCHEMA_VERSION):
        return f"its table {str(name)!r} has other columns or conditions"
    what = (
        f"{kind} {str(name)[:40]!r}" if kind in ("trigger", "view", "table", "index") else "an unknown entry"
    )
    return f"no capture has {what}"
