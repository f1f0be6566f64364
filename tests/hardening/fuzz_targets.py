"""The targets of coverage-guided fuzzing: a parser per language, and the reader of captures twice.

irscope is imported by the checks, not by this module: a fuzzer instruments it while it is imported.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

_CORPUS = Path(__file__).parent / "corpus"
_CAPTURE = Path(__file__).parents[1] / "data" / "captures" / "v2.irscope"
LANGUAGES = ("mlir", "llvm", "ptx", "sass", "amdgcn", "python")
# Ends a value among the values of an input, and a text that is compared with the text after it.
_END = b"\xff\0"
# The columns that hold text of others, by their first letter in an input.
COLUMNS = (
    ("toolchain", "versions"), ("toolchain", "command"), ("kernel", "name"), ("kernel", "source"),
    ("kernel", "helpers"), ("kernel", "parameters"), ("variant", "target"), ("variant", "specialization"),
    ("variant", "config"), ("variant", "failure"), ("variant", "metadata"), ("variant", "seconds"),
    ("variant", "cache_key"), ("variant", "log"), ("variant", "output"), ("variant", "reasons"),
    ("variant", "launches"), ("variant", "benchmarks"), ("artifact", "stage"), ("facts", "facts"),
    ("layouts", "layouts"), ("pass", "name"), ("pass", "stage"),
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """`check` raises only for a bug; `load` imports everything that it calls."""

    name: str
    check: Callable[[bytes], None]

    def load(self) -> None:
        """Imports what `check` calls, by a first input of every kind."""
        for content in (b"", b"x", *seeds(self)[:3]):
            self.check(content)


def check_language(language: str, content: bytes) -> None:
    """Parses, strips and follows a text; compares it with a second one, if the input has it."""
    from irscope.diff.stage_diff import diff_stage
    from irscope.languages.language import Language
    from tests.hardening.texts import check_parsing

    first, _, second = (part.decode("utf-8", "replace") for part in content.partition(_END))
    known = Language.named(language)
    document = check_parsing(first, language)
    Language.named(language).without_debug(first)
    for line in first.split("\n")[:20]:
        Language.named(language).strip_location(line)
    known.branches(document)
    if known.registers is not None:
        known.registers(document)
    if second:
        diff = diff_stage("stage", document, check_parsing(second, language))
        assert [row.left for row in diff.rows if row.left is not None] == list(range(len(document.lines)))


def check_bytes(content: bytes) -> None:
    """Overwrites bytes of a capture, each piece at the page and offset that its first three bytes are."""
    with _capture() as path:
        whole = bytearray(path.read_bytes())
        for piece in content.split(_END):
            if len(piece) > 3:
                place = (int.from_bytes(piece[:2], "big") * 1024 + 4 * piece[2]) % len(whole)
                whole[place : place + len(piece) - 3] = piece[3:]
        path.write_bytes(whole)
        read_everything(path)


def check_values(content: bytes) -> None:
    """Replaces values of a capture, each in the column that its first byte chooses."""
    with _capture() as path:
        with contextlib.closing(sqlite3.connect(path)) as db:
            for piece in content.split(_END):
                if piece:
                    table, column = COLUMNS[piece[0] % len(COLUMNS)]
                    value = piece[1:].decode("utf-8", "replace")
                    with contextlib.suppress(sqlite3.IntegrityError):
                        db.execute(f"UPDATE {table} SET {column} = ?", (value,))
            db.commit()
        read_everything(path)


def read_everything(path: Path) -> None:
    """Reads all that a capture has. Only UserError is an answer."""
    from irscope.facts.measure import from_json
    from irscope.model import UserError
    from irscope.store import CaptureReader, find_variant, variant_names
    from tests.store.stored_facts import by_variant

    with contextlib.suppress(UserError), CaptureReader(path) as reader:
        variants = reader.variants()
        assert [variant.id for variant in reader.summaries()] == [variant.id for variant in variants]
        variant_names(variants)
        for variant in variants:
            _ = variant.origin, variant.settings
            reader.passes(variant)
            reader.layouts(variant)
            for stage in variant.artifacts:
                reader.read(variant, stage)
        find_variant(variants, "#1")
        for _, facts in by_variant(reader.fact_blocks()).values():
            for variant in variants[:1]:
                from_json(facts, variant.target.backend)


@contextlib.contextmanager
def _capture() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="irscope-fuzz-") as folder:
        yield Path(shutil.copy(_small_capture(), folder))


@cache
def _small_capture() -> Path:
    """A capture with two variants, without machine code: 25 kB."""
    path = Path(tempfile.mkdtemp(prefix="irscope-fuzz-base-"), "small.irscope")
    shutil.copy(_CAPTURE, path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        for statement in (
            "DELETE FROM variant WHERE id > 2",
            "DELETE FROM facts WHERE variant > 2",
            "DELETE FROM artifact WHERE variant > 2 OR stage IN ('llir', 'cubin', 'sass', 'ptx', 'hsaco')",
            "DELETE FROM pass WHERE variant > 2 OR place > 2",
            "DELETE FROM blob WHERE digest NOT IN (SELECT digest FROM artifact)"
            " AND digest NOT IN (SELECT digest FROM pass WHERE digest IS NOT NULL)",
        ):
            db.execute(statement)
        db.execute('INSERT OR REPLACE INTO layouts VALUES (1, \'{"#blocked": {"register": [[0, 1]]}}\')')
        db.commit()
        db.execute("VACUUM")
    return path


def _language_seeds(language: str) -> list[bytes]:
    from tests.hardening.texts import pieces

    known = [piece.encode() for piece in pieces()[language]]
    pairs = [known[i] + _END + known[i + 1] for i in range(0, len(known) - 1, 10)]
    return known[:400:2] + pairs[:100]


def _value_seeds() -> list[bytes]:
    found = []
    with contextlib.closing(sqlite3.connect(_small_capture())) as db:
        for number, (table, column) in enumerate(COLUMNS):
            for (value,) in db.execute(f"SELECT DISTINCT {column} FROM {table} LIMIT 3"):
                found.append(bytes([number]) + str(value or "x").encode())
    return found


def _byte_seeds() -> list[bytes]:
    content = _small_capture().read_bytes()
    pages = [(page, content[1024 * page :][:16]) for page in range(len(content) // 1024)]
    return [page.to_bytes(2, "big") + b"\0" + start for page, start in pages]


TARGETS = {
    target.name: target
    for target in (
        *(Target(language, partial(check_language, language)) for language in LANGUAGES),
        Target("capture-values", check_values),
        Target("capture-bytes", check_bytes),
    )
}
_SEEDS = {"capture-values": _value_seeds, "capture-bytes": _byte_seeds}


def corpus_file(target: Target) -> Path:
    """The committed corpus: a JSON list of inputs, each byte a character."""
    return _CORPUS / f"{target.name}.json"


def corpus(target: Target) -> list[bytes]:
    """The committed inputs, which reach all code that the fuzzer reached."""
    file = corpus_file(target)
    return [text.encode("latin-1") for text in json.loads(file.read_text())] if file.exists() else []


def seeds(target: Target) -> list[bytes]:
    """The inputs that fuzzing starts from: the corpus, and pieces of real stages or values."""
    return corpus(target) + (_SEEDS.get(target.name) or partial(_language_seeds, target.name))()
