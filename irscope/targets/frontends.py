"""The front ends and their source stages, in pipeline order. To add a front end, add it to FRONTENDS.

Other packages add front ends too (see `irscope.model.plugins`); `all_frontends` has them.

Defines a front end: the source stages that it puts above TTIR, and its hooks into a capture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache

from irscope.model import Stage
from irscope.model.records import frozen_with_dict


@frozen_with_dict
class Frontend:
    """A language or library that makes Triton kernels; one per line of FRONTENDS.

    A hook is "module:function", imported when it is first needed, so that a front end takes no time until
    a program imports it.

      name: what it is called ("helion").
      stages: its source stages in order, from the user's text to the module that Triton's passes begin with.
      languages: the languages of stages that irscope does not have: name -> the module that defines LANGUAGE.
      package: the module whose import means that a program uses it; "" if every program does.
      record: a context manager, called with the `Recorder` of a program under `irscope run` and
        `irscope.capture` right after `package` is imported, and left when the recording ends. Within it, it
        may patch the package, record kernels, and describe generated kernels with `Recorder.with_frontend`.
      unwrap: called with an object of the user's file after `package` is imported; returns the Triton kernel
        (`@triton.jit`, or decorated with `@triton.autotune`) that the object compiles to, None if it is not
        of this front end. `irscope compile FILE::KERNEL` then compiles that kernel.
      sources: called with a Triton kernel (a JITFunction) after `package` is imported; returns the texts of
        its source stages by name, none if this front end did not make it. `record` can replace it if the
        texts are known only while the program runs.
    """

    name: str
    stages: tuple[Stage, ...] = ()
    languages: Mapping[str, str] = field(default_factory=dict)
    package: str = ""
    record: str = ""
    unwrap: str = ""
    sources: str = ""


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
    record="irscope.recording.inductor:recorded_inductor",
)
# The function that the user wrote. The source of the kernel is the Triton that Helion generates from it.
HELION = Frontend(
    "helion",
    (Stage("helion", "python"),),
    package="helion",
    record="irscope.recording.helion:recorded_helion",
)

# The stages of a front end that generates Triton are above those of Triton.
FRONTENDS: tuple[Frontend, ...] = (HELION, INDUCTOR, TRITON, GLUON)
SOURCE_STAGES: tuple[Stage, ...] = tuple(stage for frontend in FRONTENDS for stage in frontend.stages)


@cache
def all_frontends() -> tuple[Frontend, ...]:
    """Return the front ends of plug-ins and of irscope, in pipeline order; look up the plug-ins."""
    from irscope.model.plugins import FRONTENDS_GROUP, load_plugins
    from irscope.targets.plugin_checks import check_frontend

    return (*load_plugins(FRONTENDS_GROUP, Frontend, check_frontend), *FRONTENDS)


def source_stages() -> tuple[Stage, ...]:
    """Return the source stages of all front ends, in pipeline order; look up the plug-ins."""
    return tuple(stage for frontend in all_frontends() for stage in frontend.stages)
