"""Stages: what Triton's pipeline makes of a kernel, in order. Each backend adds its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a compilation.

    `name` is Triton's file extension. `language` is what a text stage is written in (None: binary).
    `backend` is the one backend that has the stage (None: all). `derived` stages are made from another
    artifact by a disassembler, on demand.
    """

    name: str
    language: str | None
    backend: str | None = None
    derived_from: str | None = None

    @property
    def binary(self) -> bool:
        """Whether the artifact is bytes to be kept as a file, with nothing to read in it."""
        return self.language is None


# The stages of every backend. `source` is the module as Triton's front end made it, before any pass; `glir`
# is Gluon's.
COMMON_STAGES: tuple[Stage, ...] = (
    Stage("source", "mlir"),
    Stage("glir", "mlir"),
    Stage("ttir", "mlir"),
    Stage("ttgir", "mlir"),
    Stage("llir", "llvm"),
)
