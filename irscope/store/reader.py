"""Reading a capture: read-only, opened in constant time, even while it is being written.

Reading the contents of a capture: stages and attachments, checked, by variant or by hash.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from irscope.model import Artifact, Kernel, Pass, Toolchain, UserError, Variant
from irscope.store import encoding
from irscope.store.connection import Damage, connect_reader, in_parts, marks, rows
from irscope.store.encoding import Blob
from irscope.store.schema import ATTACHMENT, FACTS, LARGE, NAMES
from irscope.store.stored_variant import SharedColumns, StoredVariant, SummaryRow, VariantDetails, mark_of

if TYPE_CHECKING:
    from irscope.store.blocks import FactBlock


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
        """Close the file."""
        self._closed = True
        self._db.close()

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """Return the content of a stage, or None if the variant does not have it."""
        for size, data in self._rows(
            "SELECT size, data FROM artifact JOIN blob USING (digest) WHERE variant = ? AND stage = ?",
            (variant.id, stage),
        ):
            with self._damage():
                return self._decompress((variant.id, stage), size, data)
        return None

    def attached(self, variant: Variant) -> dict[str, Artifact]:
        """Return the attachments of the variant by name; `content` has their bytes."""
        stage_rows = self._rows(
            "SELECT stage, artifact.digest, size FROM artifact JOIN blob USING (digest)"
            " WHERE variant = ? AND stage LIKE ?",
            (variant.id, f"{ATTACHMENT}%"),
        )
        with self._damage():
            return {
                encoding.checked(stage)[1:]: Artifact(stage, encoding.checked(digest), int(size))
                for stage, digest, size in stage_rows
            }

    def content(self, artifact: Artifact) -> bytes:
        """Return the content of an artifact. Raises UserError if it is damaged."""
        with self._damage():
            return self._checked_blob(artifact)[1]

    def blob(self, artifact: Artifact) -> Blob:
        """Return an artifact as stored. Raises UserError if it is damaged."""
        with self._damage():
            return self._checked_blob(artifact)[0]

    def intact_blobs(self, digests: Iterable[str]) -> Iterator[Blob]:
        """Yield the stages with these digests as stored; those that are damaged are left out."""
        for some in in_parts(digests):
            query = f"SELECT digest, size, data FROM blob WHERE digest IN ({marks(some)})"  # noqa: S608
            yield from self._intact(self._rows(query, some))

    def scanned_blobs(self, digests: Collection[str]) -> Iterator[Blob]:
        """Yield the same, in order, with one query that reads all stages: quicker for more than a few."""
        blob_rows = self._rows("SELECT digest, size, data FROM blob ORDER BY digest")
        return self._intact(row for row in blob_rows if row["digest"] in digests)

    def _intact(self, found: Iterable[Any]) -> Iterator[Blob]:
        for digest, size, data in found:
            with suppress(UserError), self._damage():
                yield self._checked(digest, size, data)[0]

    @cached_property
    def _version(self) -> int:
        ((version,),) = self._rows("PRAGMA user_version")
        return int(version)

    def _checked_blob(self, artifact: Artifact) -> tuple[Blob, bytes]:
        """Return an artifact as stored, and its content. Raises ValueError if it is damaged."""
        for size, data in self._rows("SELECT size, data FROM blob WHERE digest = ?", (artifact.digest,)):
            return self._checked(artifact.digest, size, data)
        raise ValueError("a stage is missing")

    def _checked(self, digest: str, size: int, data: bytes) -> tuple[Blob, bytes]:
        """Return a stage as stored, and its content. Raises ValueError if it is damaged."""
        content = self._decompress((digest,), size, data)
        if encoding.digest(content) != digest:
            raise ValueError("the content of a stored stage does not match its hash")
        return Blob(digest, size, data), content

    def _decompress(self, name: tuple[object, ...], size: int, frame: bytes) -> bytes:
        """Return the content of a frame. Raises ValueError beyond the budget.

        Content that is read again costs nothing.
        """
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


# The first versions with tables for passes and layouts, and for blocks.
_WITH_PASSES, _WITH_BLOCKS = 2, 3
_NEWER_TABLES = frozenset(("pass", "layouts"))
# The facts of so many variants are decoded together.
_DECODED = 100

# The columns that large captures read when they are asked for, next to the artifacts.
_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "metadata": encoding.object_from_json,
    "seconds": encoding.seconds_from_json,
    "cache_key": encoding.strings_from_json,
    "cached": bool,
    "log": encoding.optional,
    "output": encoding.checked,
    "reasons": encoding.optional,
    "launches": encoding.launches_from_json,
    "benchmarks": encoding.benchmarks_from_json,
}


class CaptureReader(BlobReader):
    """A capture open for reading. Its methods raise UserError if the file turns out to be damaged."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self._second: CaptureReader | None = None
        self._shared_columns = SharedColumns()

    def close(self) -> None:
        """Close the file."""
        super().close()
        if self._second is not None:
            self._second.close()
            self._second = None

    @cached_property
    def large(self) -> bool:
        """Return True if the capture has so many variants that they are read when they are asked for."""
        ((last,),) = self._rows("SELECT coalesce(max(id), 0) FROM variant")
        return int(last) > LARGE

    @property
    def empty(self) -> bool:
        """Return True if there is no variant."""
        return not any(True for _ in self._rows("SELECT 1 FROM variant LIMIT 1"))

    @cached_property
    def kernels(self) -> Mapping[int, Kernel]:
        """Return the kernels by id, in the order of the capture, as of the first access."""
        kernels = {}
        for id_, name, source, helpers, parameters in self._rows(
            "SELECT id, name, source, helpers, parameters FROM kernel ORDER BY id"
        ):
            with self._damage():
                function = encoding.function_from_json(source)
                functions = encoding.functions_from_json(helpers)
                names = encoding.strings_list(parameters)
                kernels[id_] = Kernel(id_, encoding.checked(name), function, functions, names)
        return kernels

    def variants(self) -> list[Variant]:
        """Return every variant, in order, as they are in the file now.

        Those of a large capture read their large columns when they are asked for, also after it was
        closed.
        """
        self.__dict__.pop("kernels", None)
        self.__dict__.pop("large", None)
        if self.large:
            return list(self.summaries())
        return self._whole_variants(self.kernels, self.toolchains())

    def variant(self, id_: int) -> Variant | None:
        """Return the variant with this id as it is in the file now, or None if there is none."""
        for (kernel,) in self._rows("SELECT kernel FROM variant WHERE id = ?", (id_,)):
            if kernel not in self.kernels:
                self.__dict__.pop("kernels", None)
        variants = self._whole_variants(self.kernels, self.toolchains(), id_, 1)
        return variants[0] if variants and variants[0].id == id_ else None

    def _whole_variants(
        self,
        kernels: Mapping[int, Kernel],
        toolchains: Mapping[int, Toolchain],
        first: int | None = None,
        most: int = -1,
    ) -> list[Variant]:
        """Return variants with all columns: all, or at most `most` from the id `first` on."""
        start = -(1 << 63) if first is None else first
        variant_rows = list(
            self._rows("SELECT * FROM variant WHERE id >= ? ORDER BY id LIMIT ?", (start, most))
        )
        if not variant_rows:
            return []
        artifacts = self._artifacts(variant_rows[0]["id"], variant_rows[-1]["id"])
        with self._damage():
            return [
                self._variant(row, kernels[row["kernel"]], toolchains, artifacts.get(row["id"], {}))
                for row in variant_rows
            ]

    def _artifacts(self, first: int, last: int) -> dict[int, dict[str, Artifact]]:
        """Return the artifacts of the variants with these ids and those between."""
        artifacts: dict[int, dict[str, Artifact]] = {}
        with self._damage():
            for variant, stage, digest, size in self._rows(
                "SELECT variant, stage, artifact.digest, size FROM artifact JOIN blob USING (digest)"
                " WHERE variant BETWEEN ? AND ? AND stage NOT LIKE ?",
                (first, last, f"{ATTACHMENT}%"),
            ):
                artifact = Artifact(encoding.checked(stage), encoding.checked(digest), int(size))
                artifacts.setdefault(variant, {})[artifact.stage] = artifact
        return artifacts

    def summaries(self) -> Iterator[Variant]:
        """Yield every variant, in order; its large columns are read when they are asked for.

        A variant takes a twentieth of the memory that all columns need, for captures of 100,000.
        """

        def read(name: str, first: int, most: int) -> list[tuple[int, int, Any]]:
            if self._closed:
                with CaptureReader(self.path) as again:
                    return again._column(name, first, most)
            # A connection of its own, because several threads may ask.
            self._second = self._second or CaptureReader(self.path)
            return self._second._column(name, first, most)

        details = VariantDetails(read)
        for row in self._summary_rows():
            yield StoredVariant.of(row, self._shared_columns.environment(row), details)

    def _column(self, name: str, first: int, most: int) -> list[tuple[int, int, Any]]:
        """Return a column of at most `most` variants from the id `first` on: (id, mark, value)."""
        decode = _DECODERS.get(name)
        column = name if decode else "NULL"
        query = f"SELECT id, identity, {column} FROM variant WHERE id >= ? ORDER BY id LIMIT ?"  # noqa: S608
        column_rows = list(self._rows(query, (first, most)))
        if decode:
            with self._damage():
                return [(id_, mark_of(identity), decode(value)) for id_, identity, value in column_rows]
        artifacts = self._artifacts(column_rows[0]["id"], column_rows[-1]["id"]) if column_rows else {}
        return [(id_, mark_of(identity), artifacts.get(id_, {})) for id_, identity, _ in column_rows]

    def failed(self) -> dict[int, bool]:
        """Map the id of each variant to whether it failed, as it is in the file now.

        Takes 1 ms per 10,000 variants.
        """
        failure_rows = self._rows("SELECT id, failure NOT NULL FROM variant")
        return {int(id_): bool(failed) for id_, failed in failure_rows}

    def listing(self, kernel: str | None, target: str | None) -> tuple[list[Variant], Mapping[int, str]]:
        """Return the `summaries` of variants that match two globs (None: all), and the names of all by id.

        Raises UserError, listing what there is, if either matches nothing.
        """
        from irscope.store.names import select_variants, variant_names

        variants = list(self.summaries())
        return select_variants(variants, kernel, target), variant_names(variants)

    def _summary_rows(self) -> Iterator[SummaryRow]:
        kernels, toolchains, shared = self.kernels, self.toolchains(), self._shared_columns
        with self._damage():
            blocks = False
            for document in self._blocks(NAMES):
                from irscope.store.blocks import summary_rows

                blocks = True
                yield from summary_rows(document, kernels, toolchains, shared)
            if blocks:
                return
            for row in self._rows(
                "SELECT id, identity, kernel, target, specialization, config, toolchain, failure, cache_key,"
                " metadata, launches != '[]' AS launched FROM variant ORDER BY id"
            ):
                yield shared.summary(row, kernels, toolchains)

    def _blocks(self, kind: str) -> Iterator[Any]:
        """Yield the documents of the blocks of a kind.

        A capture that is small, or being written, has none.
        """
        if self._version < _WITH_BLOCKS:
            return
        for first, size, data in self._rows(
            "SELECT first, size, data FROM block WHERE kind = ? ORDER BY first", (kind,)
        ):
            yield encoding.loads(self._decompress((kind, first), size, data).decode())

    def cache_keys(self) -> dict[str, int]:
        """Map the digest of a cache key (`identity.cache_key_digest`) to the variant that compiled.

        Of variants with equal keys, the first.
        """
        ids: dict[str, int] = {}
        query = "SELECT id, cache_key FROM variant WHERE failure IS NULL AND cache_key != '{}' ORDER BY id"
        for id_, text in self._rows(query):
            with self._damage():
                ids.setdefault(encoding.digest(encoding.checked(text).encode()), int(id_))
        return ids

    def rows_of(self, table: str, ids: Iterable[int]) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of these variants in a table: the columns by name as stored, not decoded."""
        if table in _NEWER_TABLES and self._version < _WITH_PASSES:
            return
        column = "id" if table == "variant" else "variant"
        for some in in_parts(ids):
            yield from self._rows(f"SELECT * FROM {table} WHERE {column} IN ({marks(some)})", some)  # noqa: S608

    def equal_stages(self, id_: int) -> Iterator[tuple[int, str, str]]:
        """Yield every variant's id, its stages, and those whose content is that of the variant `id_`.

        The names of stages are separated by commas. Takes 30 ms per 10,000 variants.
        """
        own_artifacts = self._artifacts(id_, id_).get(id_, {})
        cases = f"CASE stage {'WHEN ? THEN ? ' * len(own_artifacts)}END" if own_artifacts else "NULL"
        digests = [text for name, artifact in own_artifacts.items() for text in (name, artifact.digest)]
        for variant, stages, equal in self._rows(
            f"SELECT variant, group_concat(stage), group_concat(CASE digest WHEN {cases} THEN stage END)"  # noqa: S608
            " FROM artifact WHERE stage NOT BETWEEN ? AND ? GROUP BY variant",
            (*digests, ATTACHMENT, f"{ATTACHMENT}\U0010ffff"),
        ):
            yield int(variant), str(stages), str(equal or "")

    def passes(self, variant: Variant) -> tuple[Pass, ...]:
        """Return the compiler passes in the order in which they ran; none if they were not recorded."""
        if self._version < _WITH_PASSES:
            return ()
        pass_rows = self._rows(
            "SELECT stage, name, seconds, digest, size FROM pass LEFT JOIN blob USING (digest)"
            " WHERE variant = ? ORDER BY place",
            (variant.id,),
        )
        with self._damage():
            return tuple(
                Pass(
                    encoding.checked(stage),
                    encoding.checked(name),
                    float(seconds),
                    None if digest is None else Artifact(stage, digest, int(size)),
                )
                for stage, name, seconds, digest, size in pass_rows
            )

    def layouts(self, variant: Variant) -> dict[str, Any] | None:
        """Return Triton's own linear layouts: type -> bases; None if they were not recorded."""
        if self._version < _WITH_PASSES:
            return None
        for (text,) in self._rows("SELECT layouts FROM layouts WHERE variant = ?", (variant.id,)):
            with self._damage():
                return encoding.object_from_json(text)
        return None

    def fact_blocks(self) -> Iterator[FactBlock]:
        """Yield the facts of all variants by column, some variants at a time."""
        from irscope.store.blocks import facts_by_column, read_fact_blocks

        with self._damage():
            blocks = False
            for document in self._blocks(FACTS):
                blocks = True
                yield from read_fact_blocks(document)
            if blocks:
                return
            fact_rows = self._rows("SELECT variant, version, facts FROM facts")
            while some := list(islice(fact_rows, _DECODED)):
                documents = encoding.objects_from_json([text for _, _, text in some])
                rows = zip(some, documents, strict=True)
                yield from facts_by_column((int(row[0]), int(row[1]), document) for row, document in rows)

    def facts_of(self, variant: Variant) -> tuple[int, dict[str, Any]] | None:
        """Return the version of the analysis and the facts of a variant, or None if none are stored."""
        for version, text in self._rows("SELECT version, facts FROM facts WHERE variant = ?", (variant.id,)):
            with self._damage():
                return int(version), encoding.object_from_json(text)
        return None

    def _variant(
        self,
        row: Mapping[str, Any],
        kernel: Kernel,
        toolchains: Mapping[int, Toolchain],
        artifacts: Mapping[str, Artifact],
    ) -> Variant:
        return Variant(
            id=row["id"],
            kernel=kernel,
            target=self._shared_columns.target(row["target"]),
            specialization=self._shared_columns.specialization(row["specialization"]),
            config=encoding.config_from_json(row["config"]),
            toolchain=toolchains[row["toolchain"]],
            failure=encoding.failure_from_json(row["failure"]),
            artifacts=artifacts,
            **{name: decode(row[name]) for name, decode in _DECODERS.items()},
        )

    def toolchains(self) -> dict[int, Toolchain]:
        """Return the toolchains by id."""
        toolchain_rows = self._rows("SELECT id, versions, command FROM toolchain")
        with self._damage():
            return {
                id_: Toolchain(id_, encoding.strings_from_json(text), encoding.checked(command))
                for id_, text, command in toolchain_rows
            }
