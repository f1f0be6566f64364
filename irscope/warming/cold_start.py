"""A compilation, benchmark or build that a warm process should not do, and the error that lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from irscope.model import UserError
from irscope.model.text import one_line, pluralize

Kind = Literal["compilation", "failure", "benchmark", "build", "graph", "unlisted"]
_DID = {
    "compilation": "was compiled",
    "failure": "did not compile",
    "benchmark": "benchmarked {configs}",
    "build": "was built with the C compiler",
    "graph": "ran {times}",
    "unlisted": "was loaded from an entry that irscope warm did not build",
}


@dataclass(frozen=True, slots=True)
class ColdStart:
    """One compilation, tuning run, build of a stub or graph that the warm folder did not save.

    `kind` is one of "compilation", "failure", "benchmark", "build", "graph" and "unlisted". A "failure" is a
    compilation that raised, which no folder can save. An "unlisted" one was saved by an entry that is not
    part of the folder as it was built: a run on this machine compiled it.

    `seconds` is the time that it took, `count` the number of configs or of calls. `kernel` is the name of the
    kernel, of the module that was built, or of Inductor's counter. `arguments` is the specialization and
    config, or the tuning key. `nearest` is the entry that comes closest ("" if there is none), `missing` in
    which part of the key it differs, or why there is none. `hash` names the cache entry of a compilation.
    """

    kind: Kind
    kernel: str
    seconds: float
    arguments: str = ""
    missing: str = ""
    nearest: str = ""
    count: int = 1
    hash: str = ""

    def __str__(self) -> str:
        """One line: "add was compiled in 0.31 s (n=i32): differs from entry OQ7C in argument n: ..."."""
        did = _DID[self.kind].format(
            configs=pluralize(self.count, "config"), times=pluralize(self.count, "time")
        )
        timed = self.kind in ("compilation", "failure", "benchmark", "build")
        seconds = f" in {self.seconds:.2f} s" if timed else ""
        arguments = f" ({self.arguments})" if self.arguments else ""
        reason = f"differs from {self.nearest} in {self.missing}" if self.nearest else self.missing
        return one_line(f"{self.kernel} {did}{seconds}{arguments}{reason and ': ' + reason}")


class ColdStartError(UserError):
    """The block of `irscope.expect_warm` compiled, benchmarked or built something; `cold` lists what."""

    def __init__(self, cold: Sequence[ColdStart], folder: str) -> None:
        self.cold = tuple(cold)
        lines = [f"not warm: {cold_sentence(cold)}, {folder}", *map(str, cold)]
        super().__init__("\n  ".join(lines))


def cold_sentence(cold: Sequence[ColdStart]) -> str:
    """How much happened: "2 compilations and 1 tuning run in 1.31 s"."""
    nouns = {
        "compilation": "compilation",
        "failure": "failed compilation",
        "benchmark": "tuning run",
        "build": "build",
        "graph": "Inductor run",
        "unlisted": "unlisted entry",
    }
    counts = {noun: sum(each.kind == kind for each in cold) for kind, noun in nouns.items()}
    parts = [pluralize(count, noun) for noun, count in counts.items() if count]
    text = " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
    return f"{text or 'nothing'} in {sum(each.seconds for each in cold):.2f} s"
