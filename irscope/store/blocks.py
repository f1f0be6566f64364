"""Blocks: what names the variants of a large capture, and their facts, by column.

The row of a variant takes 5 kB, of which a list of variants needs 200 bytes, and most of these are the same
in all rows. A block of a thousand variants has equal values once:

    {"id": [1, 2], "target": {"values": ["cuda:90"], "at": "AAAAAAAAAAA="}, "config": {...}, ...}

Blocks are a cache. A writer removes those of the capture that it opens, and writes new ones when it closes
it: a capture has blocks of all its variants or none.
"""

from __future__ import annotations

import sqlite3
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from irscope.model import Config, Kernel, Toolchain
from irscope.model.records import frozen, grouped
from irscope.model.variant import environment_components
from irscope.store import encoding
from irscope.store.schema import FACTS, LARGE, NAMES
from irscope.store.stored_variant import SharedColumns, SummaryRow, kept_metadata, mark_of

# The variants of a block, and the bytes of its columns, of which real ones have 0.5 MB.
_VARIANTS = 1000
_MOST_BYTES = 8 << 20
# Types of which equal values are written alike.
_WRITTEN_ALIKE = (frozenset((int, type(None))), frozenset((str, type(None))), frozenset((bool, type(None))))
_QUERY = (
    "SELECT id, identity, kernel, toolchain, target, specialization, failure, launches != '[]', config,"
    " cache_key, metadata, version, facts FROM variant LEFT JOIN facts ON facts.variant = variant.id"
    " ORDER BY id"
)

_T = TypeVar("_T")


@frozen
class FactBlock:
    """Facts that one `version` of the analysis measured: under each name, a value per variant."""

    ids: Sequence[int]
    version: int
    columns: Mapping[str, Sequence[Any]]


def facts_by_column(rows: Iterable[tuple[int, int, Mapping[str, Any]]]) -> list[FactBlock]:
    """Group facts by column from the id, the version and the facts of each variant.

    Variants with facts of the same names and version are in one block.
    """
    groups = grouped(rows, lambda row: (row[1], tuple(row[2])))
    return [
        FactBlock(
            [id_ for id_, _, _ in group],
            version,
            {name: [facts[name] for _, _, facts in group] for name in names},
        )
        for (version, names), group in groups.items()
    ]


# Writing.


def remove_blocks(db: sqlite3.Connection) -> None:
    """Remove the blocks of a capture whose variants are about to change."""
    db.execute("DELETE FROM block")


def write_blocks(db: sqlite3.Connection) -> None:
    """Write the blocks of a capture if it is large; 10,000 variants take 0.6 s.

    Raises one of the errors in `connection.DAMAGE`, and writes none, if a row is damaged.
    """
    ((variants,),) = db.execute("SELECT count(*) FROM variant")
    if variants <= LARGE:
        return
    with db:
        cursor = db.execute(_QUERY)
        while rows := cursor.fetchmany(_VARIANTS):
            for kind, document in ((NAMES, _names_document(rows)), (FACTS, _facts_document(rows))):
                content = encoding.dumps(document).encode()
                if len(content) > _MOST_BYTES:
                    raise ValueError("a block is too large")
                blob = encoding.pack(content)
                row = (rows[0][0], kind, blob.size, blob.frame)
                db.execute("INSERT INTO block VALUES (?, ?, ?, ?)", row)


def _names_document(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    ids, identities, kernels, toolchains, *texts, launched, configs, keys, metadata, _, _ = zip(
        *rows, strict=True
    )
    targets, specializations, failures = texts
    pairs = [tuple(map(tuple, encoding.loads(config))) for config in configs]
    distinct_pairs: dict[str, tuple[str, Any]] = {
        repr(pair): pair for variant_pairs in pairs for pair in variant_pairs
    }
    positions = {text: position for position, text in enumerate(distinct_pairs)}
    return {
        "id": ids,
        "mark": [mark_of(identity) for identity in identities],
        "kernel": _coded(kernels),
        "toolchain": _coded(toolchains),
        "target": _coded(targets),
        "specialization": _coded(specializations),
        "failure": _coded(failures),
        "launched": _coded(launched),
        "config": {
            "values": list(distinct_pairs.values()),
            "at": _packed([positions[repr(pair)] for variant_pairs in pairs for pair in variant_pairs]),
            "lengths": _packed(list(map(len, pairs))),
        },
        "key": _coded(_texts(environment_components(encoding.strings_from_json(key)) for key in keys)),
        "metadata": _coded(_texts(map(kept_metadata, metadata))),
    }


def _texts(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return each document as JSON; equal ones, of which there are many, are written once."""
    written_once: dict[str, str] = {}
    return [
        written_once.get(key) or written_once.setdefault(key, encoding.dumps(document))
        for document in documents
        if (key := repr(document))
    ]


def _facts_document(rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    stored = [(id_, version, text) for id_, *_, version, text in rows if text is not None]
    documents = encoding.objects_from_json([text for _, _, text in stored])
    blocks = facts_by_column(
        (id_, version, document) for (id_, version, _), document in zip(stored, documents, strict=True)
    )
    return [
        {
            "id": block.ids,
            "version": block.version,
            "columns": {name: _coded(values) for name, values in block.columns.items()},
        }
        for block in blocks
    ]


def _coded(values: Sequence[Any]) -> dict[str, Any] | Sequence[Any]:
    """Encode a column: equal values once, and where each variant has which, unless that is longer."""
    types = set(map(type, values))
    if not any(alike.issuperset(types) for alike in _WRITTEN_ALIKE):
        return values
    numbers: dict[Any, int] = {}
    value_numbers = [numbers.setdefault(value, len(numbers)) for value in values]
    return (
        {"values": list(numbers), "at": _packed(value_numbers)} if 2 * len(numbers) <= len(values) else values
    )


def _packed(numbers: Sequence[int]) -> str:
    """Pack numbers of 32 bits in little-endian order, as base64.

    JSON of them takes ten times as long to read.
    """
    return b64encode(struct.pack(f"<{len(numbers)}I", *numbers)).decode()


def _unpacked(text: str) -> tuple[int, ...]:
    data = b64decode(text, validate=True)
    if len(data) % 4:
        raise ValueError("not numbers of 32 bits")
    return struct.unpack(f"<{len(data) // 4}I", data)


# Reading.


def summary_rows(
    document: Any,
    kernels: Mapping[int, Kernel],
    toolchains: Mapping[int, Toolchain],
    shared: SharedColumns,
) -> Iterator[SummaryRow]:
    """Return the rows that name the variants of a block.

    Raises one of `connection.DAMAGE` if it is damaged.
    """
    ids = _ids(document["id"])

    def column(name: str, decode: Callable[[Any], _T]) -> list[_T]:
        return _column(document[name], len(ids), decode)

    coded = document["config"]
    pairs = [shared.pair(name, value) for name, value in coded["values"]]
    config_pairs = iter([pairs[position] for position in _unpacked(coded["at"])])
    configs = [Config(tuple(islice(config_pairs, length))) for length in _unpacked(coded["lengths"])]
    columns = zip(
        ids,
        column("kernel", kernels.__getitem__),
        column("target", shared.target),
        column("specialization", shared.specialization),
        configs,
        column("toolchain", toolchains.__getitem__),
        column("failure", encoding.failure_from_json),
        strict=True,
    )
    marks, launched = column("mark", int), column("launched", bool)
    keys, metadata = column("key", shared.key_components), column("metadata", shared.metadata)
    return map(SummaryRow, marks, launched, columns, keys, metadata)


def read_fact_blocks(document: Any) -> Iterator[FactBlock]:
    """Yield the facts of a block. Raises one of `connection.DAMAGE` if it is damaged."""
    for group in document:
        ids = _ids(group["id"])
        columns = {name: _column(coded, len(ids), None) for name, coded in group["columns"].items()}
        yield FactBlock(ids, int(group["version"]), columns)


def _ids(found: Any) -> list[int]:
    if set(map(type, found)) != {int}:
        raise ValueError("the numbers of variants are not numbers")
    return list(found)


def _column(coded: Any, size: int, decode: Callable[[Any], Any] | None) -> list[Any]:
    """Decode a column of so many values; `decode` is called once for each value that is written once."""
    if not isinstance(coded, dict):
        values = list(coded) if decode is None else list(map(decode, coded))
    else:
        distinct_values = coded["values"]
        decoded = distinct_values if decode is None else list(map(decode, distinct_values))
        values = [decoded[position] for position in _unpacked(coded["at"])]
    if len(values) != size:
        raise ValueError(f"a column has {len(values):,} values for {size:,} variants")
    return values
