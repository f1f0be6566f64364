"""The variants that are being compiled: how far each is, and the stages that it has so far."""

from __future__ import annotations

from dataclasses import replace

from irscope.backends import stages_for
from irscope.model import Artifact, Variant
from irscope.store.encoding import digest

WAITING = "waiting"
COMPILING = "compiling"
# Gluon's own stage, which a kernel in Triton does not have.
_GLUON = "glir"


class InProgress:
    """Variants that are not in the capture yet, by id, with the contents of their stages."""

    def __init__(self) -> None:
        self._words: dict[int, str] = {}
        self._contents: dict[int, dict[str, bytes]] = {}

    def __contains__(self, id_: int) -> bool:
        return id_ in self._words

    def __len__(self) -> int:
        return len(self._words)

    @property
    def waiting(self) -> int:
        """How many were not begun."""
        return sum(words == WAITING for words in self._words.values())

    def words(self, id_: int) -> str:
        """`waiting`, `compiling`, `compiling ptx` (that stage comes next); "" for one that is done."""
        return self._words.get(id_, "")

    def add(self, id_: int) -> None:
        """A variant is going to be compiled."""
        self._words[id_] = WAITING

    def begin(self, id_: int) -> None:
        """Its compilation has begun."""
        self._words[id_] = COMPILING

    def with_stage(self, variant: Variant, stage: str, content: bytes) -> Variant:
        """The variant with a stage that it has now."""
        artifact = Artifact(stage, digest(content), len(content))
        self._contents.setdefault(variant.id, {})[artifact.digest] = content
        grown = replace(variant, artifacts={**variant.artifacts, stage: artifact})
        self._words[variant.id] = f"{COMPILING} {_next(grown)}".rstrip()
        return grown

    @staticmethod
    def coming(variant: Variant) -> list[str]:
        """The stages that it is going to have, unless it fails: those of its backend."""
        return [stage.name for stage in stages_for(variant.target.backend) if stage.name != _GLUON]

    def content(self, variant: Variant, stage: str) -> bytes | None:
        """A stage that the capture does not have yet; None where it is not held here."""
        artifact = variant.artifacts.get(stage)
        return self._contents.get(variant.id, {}).get(artifact.digest) if artifact else None

    def remove(self, id_: int) -> None:
        """The capture has it now, or it never will be compiled."""
        self._words.pop(id_, None)
        self._contents.pop(id_, None)

    def clear(self) -> set[int]:
        """Nothing is under way any more; the ids of what was."""
        gone = set(self._words)
        for id_ in gone:
            self.remove(id_)
        return gone


def _next(variant: Variant) -> str:
    """The stage that comes after those there are, "" after the last."""
    names = [stage.name for stage in stages_for(variant.target.backend) if not stage.derived_from]
    last = max((names.index(name) for name in variant.artifacts if name in names), default=0)
    return names[last + 1] if last + 1 < len(names) else ""
