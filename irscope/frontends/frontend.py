"""Defines a front end: the source stages that it puts above TTIR, and its hooks into a capture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irscope.model import Stage


@dataclass(frozen=True, eq=False, repr=False)
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
