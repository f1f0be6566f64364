"""Reading the contents of a capture: stages and attachments, checked, by variant or by hash."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from irscope.model import Artifact, UserError, Variant
from irscope.store import encoding
from irscope.store.connection import Damage, connect_reader, in_parts, marks, rows
from irscope.store.encoding import Blob
from irscope.store.schema import ATTACHMENT

# The bytes of stages that one reader decompresses: this, and this much per byte of the file. Stages of real
# captures are 15 times as large as the file; equal stages of several variants count for each.
_BUDGET, _BUDGET_PER_BYTE = 1 << 30, 256

_Self = TypeVar("_Self", bound="BlobReader")  # typing.Self needs Python 3.11


class BlobReader:
    """A capture open for reading its contents. Raises UserError if the file turns out to be damaged."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._db, self._deadline = connect_reader(self.path)
        self._read: set[tuple[object, ...]] = set()
        self._decompressed = 0
        self._closed = False

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._closed = True
        self._db.close()

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """The content of a stage; None if the variant does not have it."""
        for size, data in self._rows(
            "SELECT size, data FROM artifact JOIN blob USING (digest) WHERE variant = ? AND stage = ?",
            (variant.id, stage),
        ):
            with self._damage():
                return self._decompress((variant.id, stage), size, data)
        return None

    def attached(self, variant: Variant) -> dict[str, Artifact]:
        """The attachments of the variant by name; `content` has their bytes."""
        found = self._rows(
            "SELECT stage, artifact.digest, size FROM artifact JOIN blob USING (digest)"
            " WHERE variant = ? AND stage LIKE ?",
            (variant.id, f"{ATTACHMENT}%"),
        )
        with self._damage():
            return {
                encoding.checked(stage)[1:]: Artifact(stage, encoding.checked(digest), int(size))
                for stage, digest, size in found
            }

    def content(self, artifact: Artifact) -> bytes:
        """The content of an artifact. Raises UserError if it is damaged."""
        with self._damage():
            return self._checked_blob(artifact)[1]

    def blob(self, artifact: Artifact) -> Blob:
        """An artifact as stored. Raises UserError if it is damaged."""
        with self._damage():
            return self._checked_blob(artifact)[0]

    def intact_blobs(self, digests: Iterable[str]) -> Iterator[Blob]:
        """The stages with these digests as stored; those that are damaged are left out."""
        for some in in_parts(digests):
            query = f"SELECT digest, size, data FROM blob WHERE digest IN ({marks(some)})"  # noqa: S608
            yield from self._intact(self._rows(query, some))

    def scanned_blobs(self, digests: Collection[str]) -> Iterator[Blob]:
        """The same, in order, with one query that reads all stages: quicker for more than a few of them."""
        found = self._rows("SELECT digest, size, data FROM blob ORDER BY digest")
        return self._intact(row for row in found if row["digest"] in digests)

    def _intact(self, found: Iterable[Any]) -> Iterator[Blob]:
        for digest, size, data in found:
            with suppress(UserError), self._damage():
                yield self._checked(digest, size, data)[0]

    @cached_property
    def _version(self) -> int:
        ((version,),) = self._rows("PRAGMA user_version")
        return int(version)

    def _checked_blob(self, artifact: Artifact) -> tuple[Blob, bytes]:
        """An artifact as stored, and its content. Raises ValueError if it is damaged."""
        for size, data in self._rows("SELECT size, data FROM blob WHERE digest = ?", (artifact.digest,)):
            return self._checked(artifact.digest, size, data)
        raise ValueError("a stage is missing")

    def _checked(self, digest: str, size: int, data: bytes) -> tuple[Blob, bytes]:
        """A stage as stored, and its content. Raises ValueError if it is damaged."""
        content = self._decompress((digest,), size, data)
        if encoding.digest(content) != digest:
            raise ValueError("the content of a stored stage does not match its hash")
        return Blob(digest, size, data), content

    def _decompress(self, name: tuple[object, ...], size: int, frame: bytes) -> bytes:
        """The content of a frame. Raises ValueError beyond the budget; content read again costs nothing."""
        content = encoding.decompress(frame, size)
        if name not in self._read:
            self._read.add(name)
            self._decompressed += size
            if self._decompressed > _BUDGET + _BUDGET_PER_BYTE * self._deadline.size:
                raise ValueError(f"its stages have more than {self._decompressed:,} bytes")
        return content

    def _rows(self, query: str, parameters: tuple[Any, ...] = ()) -> Iterator[Any]:
        with self._damage():
            yield from rows(self._db, self._deadline, query, parameters)

    def _damage(self) -> Damage:
        return Damage(self.path)
