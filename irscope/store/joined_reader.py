"""Several captures read as one: the variants of the first, then those of the others under further numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from irscope.model import Artifact, Kernel, Pass, UserError, Variant
from irscope.store.blocks import FactBlock
from irscope.store.encoding import Blob
from irscope.store.reader import CaptureReader


class JoinedReader(CaptureReader):
    """Captures open for reading, in order. Its methods raise UserError if a file turns out to be damaged.

    Variants of the first capture keep their numbers. Kernels with the same source and helpers are one.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__(paths[0])
        self.paths = tuple(paths)
        self._readers = [CaptureReader(paths[0])]
        # Per number of a variant, the reader that has it and its number there.
        self._homes: dict[int, tuple[int, int]] = {}
        # Per kernel without its number, the kernel as the variants have it.
        self._kernels: dict[Kernel, Kernel] = {}
        self._numbers: dict[tuple[int, int], int] = {}
        try:
            self._readers += [CaptureReader(path) for path in paths[1:]]
        except UserError:
            self.close()
            raise

    def close(self) -> None:
        """Close the files."""
        super().close()
        for reader in self._readers:
            reader.close()

    def place(self, variant: Variant) -> int:
        """Return the index in `paths` of the file that has a variant."""
        return self._homes[variant.id][0] if variant.id in self._homes else 0

    @cached_property
    def large(self) -> bool:
        """Return whether variants are read when they are asked for.

        They are not: their numbers are known only once they are read.
        """
        return False

    def variants(self) -> list[Variant]:
        """Return every variant, in order, as they are in the files now."""
        joined = []
        for index, reader in enumerate(self._readers):
            for variant in reader.variants():
                id_ = self._number(index, variant.id)
                joined.append(replace(variant, id=id_, kernel=self._shared(variant.kernel)))
        return joined

    @cached_property
    def kernels(self) -> Mapping[int, Kernel]:
        """Return the kernels of all captures by id, in order, as of the first access."""
        shared = [self._shared(kernel) for reader in self._readers for kernel in reader.kernels.values()]
        return {kernel.id: kernel for kernel in shared}

    def variant(self, id_: int) -> Variant | None:
        """Return the variant with this id as it is in its file now, or None if there is none."""
        return next((variant for variant in self.variants() if variant.id == id_), None)

    def failed(self) -> dict[int, bool]:
        """Map the id of each variant to whether it failed, as it is in the files now."""
        return {variant.id: variant.failure is not None for variant in self.variants()}

    def summaries(self) -> Iterator[Variant]:
        """Yield the variants as `variants` has them."""
        yield from self.variants()

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """Return the content of a stage, or None if the variant does not have it."""
        reader, original = self._home(variant)
        return reader.read(original, stage)

    def attached(self, variant: Variant) -> dict[str, Artifact]:
        """Return the attachments of the variant by name."""
        reader, original = self._home(variant)
        return reader.attached(original)

    def passes(self, variant: Variant) -> tuple[Pass, ...]:
        """Return the compiler passes in the order in which they ran; none if they were not recorded."""
        reader, original = self._home(variant)
        return reader.passes(original)

    def layouts(self, variant: Variant) -> dict[str, Any] | None:
        """Return Triton's own linear layouts: type -> bases; None if they were not recorded."""
        reader, original = self._home(variant)
        return reader.layouts(original)

    def content(self, artifact: Artifact) -> bytes:
        """Return the content of an artifact of any capture. Raises UserError if it is damaged."""
        for reader in self._readers[:-1]:
            with suppress(UserError):  # another capture has it
                return reader.content(artifact)
        return self._readers[-1].content(artifact)

    def blob(self, artifact: Artifact) -> Blob:
        """Return an artifact of any capture as stored. Raises UserError if it is damaged."""
        for reader in self._readers[:-1]:
            with suppress(UserError):  # another capture has it
                return reader.blob(artifact)
        return self._readers[-1].blob(artifact)

    def fact_blocks(self) -> Iterator[FactBlock]:
        """Yield the facts of all variants by column, some variants at a time."""
        for index, reader in enumerate(self._readers):
            for block in reader.fact_blocks():
                yield replace(block, ids=[self._number(index, id_) for id_ in block.ids])

    def _shared(self, kernel: Kernel) -> Kernel:
        """Return the kernel under a number that it shares with equal ones of other captures."""
        return self._kernels.setdefault(replace(kernel, id=0), replace(kernel, id=len(self._kernels) + 1))

    def _home(self, variant: Variant) -> tuple[CaptureReader, Variant]:
        """Return the reader that has a variant, and the variant as it knows it."""
        index, id_ = self._homes.get(variant.id, (0, variant.id))
        return self._readers[index], replace(variant, id=id_)

    def _number(self, index: int, id_: int) -> int:
        """Return the number of a variant; the same whenever it is asked for."""
        home = index, id_
        if home not in self._numbers:
            largest = max(self._homes, default=0)
            self._numbers[home] = id_ if index == 0 and id_ not in self._homes else largest + 1
            self._homes[self._numbers[home]] = home
        return self._numbers[home]
