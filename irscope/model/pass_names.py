"""How the compiler's passes are called: MLIR's pipeline text, and what Triton asks LLVM for."""

from __future__ import annotations

# What makes LLVM IR of a module, and what optimises that: libtriton's functions, told of as passes of `llir`.
TO_LLVM, OPTIMIZE = "llvm.to_module", "llvm.optimize_module"


def pass_name(pipeline: str) -> str:
    """MLIR's name of a pass in a pipeline: "llvm.func(canonicalize{top-down=true})" -> "canonicalize"."""
    return pipeline.partition("{")[0].rpartition("(")[2].rstrip(")")


def pass_options(pipeline: str) -> str:
    """The options that a pass was run with: "tritongpu-pipeline{num-stages=3}" -> "num-stages=3"."""
    return " ".join(pipeline.partition("{")[2].rstrip(")").removesuffix("}").split())


def pass_language(pipeline: str) -> str:
    """The language of the module after a pass, by the stage table's word."""
    return "llvm" if pipeline in (TO_LLVM, OPTIMIZE) else "mlir"
