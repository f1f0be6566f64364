"""Stages: what Triton's pipeline makes of a kernel, in order. Each backend adds its own."""

from __future__ import annotations

from collections.abc import Container

from irscope.model.records import frozen

# A regular expression of names of stages, which are the extensions of their files.
STAGE_NAME = r"[a-z][a-z0-9_]{0,30}"


@frozen
class Stage:
    """One stage of a compilation.

    `name` is Triton's file extension. `language` is what a text stage is written in (None: binary).
    `backend` is the one backend that has the stage (None: all). A derived stage is text that a disassembler
    makes on demand from the artifact of the binary stage `derived_from`: `disassembler` is "module:function",
    called with the bytes, imported when it is needed; it raises UserError if it cannot.
    """

    name: str
    language: str | None
    backend: str | None = None
    derived_from: str | None = None
    disassembler: str = ""

    @property
    def binary(self) -> bool:
        """Return True if the artifact is a binary file without readable text."""
        return self.language is None


# The stages of every backend, below those of the front ends.
COMMON_STAGES: tuple[Stage, ...] = (
    Stage("ttir", "mlir"),
    Stage("ttgir", "mlir"),
    Stage("llir", "llvm"),
)


def gluon_stage(stages: Container[str]) -> str | None:
    """Return the stage of a Gluon kernel with the layouts as the kernel writes them; None for others.

    It is "glir"; Triton before 3.9 has only the front end's module, "source". Gluon has no TTIR.
    """
    if "glir" in stages:
        return "glir"
    return "source" if "source" in stages and "ttgir" in stages and "ttir" not in stages else None


# libtriton's functions that translate a module to LLVM IR and optimize it, recorded as passes of `llir`.
TO_LLVM, OPTIMIZE = "llvm.to_module", "llvm.optimize_module"


def pass_name(pipeline: str) -> str:
    """Return MLIR's name of a pass in a pipeline.

    "llvm.func(canonicalize{top-down=true})" -> "canonicalize"
    """
    return pipeline.partition("{")[0].rpartition("(")[2].rstrip(")")


def pass_options(pipeline: str) -> str:
    """Return the options that a pass was run with.

    "tritongpu-pipeline{num-stages=3}" -> "num-stages=3"
    """
    return " ".join(pipeline.partition("{")[2].rstrip(")").removesuffix("}").split())


def pass_language(pipeline: str) -> str:
    """Return the language of the module after a pass, as named in the stage table."""
    return "llvm" if pipeline in (TO_LLVM, OPTIMIZE) else "mlir"
