"""The front ends and their source stages, in pipeline order. To add a front end, add it to FRONTENDS."""

from __future__ import annotations

from irscope.frontends.frontend import Frontend
from irscope.model import Stage

__all__ = [
    "FRONTENDS",
    "GLUON",
    "HELION",
    "INDUCTOR",
    "SOURCE_STAGES",
    "TRITON",
    "Frontend",
    "is_source_stage",
]

# The module as the front end made it, before any pass.
TRITON = Frontend("triton", (Stage("source", "mlir"),))
GLUON = Frontend("gluon", (Stage("glir", "mlir"),))
# The wrapper that Inductor generates for a graph: it launches the kernels.
INDUCTOR = Frontend(
    "inductor",
    (Stage("output_code", "python"),),
    package="torch._inductor",
    record="irscope.capturing.record.inductor:recorded_inductor",
)
# The function that the user wrote; the kernel's Python is the Triton that Helion generates from it.
HELION = Frontend(
    "helion",
    (Stage("helion", "python"),),
    package="helion",
    record="irscope.capturing.record.helion:recorded_helion",
)

# The stages of a front end that generates Triton are above those of Triton.
FRONTENDS: tuple[Frontend, ...] = (HELION, INDUCTOR, TRITON, GLUON)
SOURCE_STAGES: tuple[Stage, ...] = tuple(stage for frontend in FRONTENDS for stage in frontend.stages)

_SOURCE_NAMES = frozenset(stage.name for stage in SOURCE_STAGES)


def is_source_stage(name: str) -> bool:
    """Whether a stage shows what was asked for ("source", "helion"), not what the compiler made of it."""
    return name in _SOURCE_NAMES
