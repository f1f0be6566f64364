"""The front ends and their source stages, in pipeline order. To add a front end, add it to FRONTENDS.

Other packages add front ends too (see `irscope.plugins`); `all_frontends` has them.
"""

from __future__ import annotations

from functools import cache

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
    "all_frontends",
    "source_stages",
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
# The function that the user wrote. The source of the kernel is the Triton that Helion generates from it.
HELION = Frontend(
    "helion",
    (Stage("helion", "python"),),
    package="helion",
    record="irscope.capturing.record.helion:recorded_helion",
)

# The stages of a front end that generates Triton are above those of Triton.
FRONTENDS: tuple[Frontend, ...] = (HELION, INDUCTOR, TRITON, GLUON)
SOURCE_STAGES: tuple[Stage, ...] = tuple(stage for frontend in FRONTENDS for stage in frontend.stages)


@cache
def all_frontends() -> tuple[Frontend, ...]:
    """The front ends of plug-ins and of irscope, in pipeline order; looks up the plug-ins."""
    from irscope.frontends.plugin_checks import check_frontend
    from irscope.plugins import FRONTENDS_GROUP, load_plugins

    return (*load_plugins(FRONTENDS_GROUP, Frontend, check_frontend), *FRONTENDS)


def source_stages() -> tuple[Stage, ...]:
    """The source stages of all front ends, in pipeline order; looks up the plug-ins."""
    return tuple(stage for frontend in all_frontends() for stage in frontend.stages)
