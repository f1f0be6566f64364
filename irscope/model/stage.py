"""The stage table: what Triton's pipeline makes of a kernel, in order. A new backend adds rows here."""

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


# `source` is the module as Triton's front end made it, before any pass; `glir` is Gluon's.
STAGES: tuple[Stage, ...] = (
    Stage("source", "mlir"),
    Stage("glir", "mlir"),
    Stage("ttir", "mlir"),
    Stage("ttgir", "mlir"),
    Stage("llir", "llvm"),
    Stage("ptx", "ptx", "cuda"),
    Stage("cubin", None, "cuda"),
    Stage("sass", "sass", "cuda", derived_from="cubin"),
    Stage("amdgcn", "amdgcn", "hip"),
    Stage("hsaco", None, "hip"),
)


def stage_named(name: str) -> Stage:
    """The stage called `name`. Raises ValueError, naming the known ones."""
    for stage in STAGES:
        if stage.name == name:
            return stage
    raise ValueError(f"unknown stage '{name}'; known: {', '.join(s.name for s in STAGES)}")


def stages_for(backend: str) -> tuple[Stage, ...]:
    """The stages that `backend` ("cuda", "hip") can have, in pipeline order."""
    return tuple(stage for stage in STAGES if stage.backend in (None, backend))
