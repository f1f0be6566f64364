"""Makes a reproducer smaller as long as a condition on its facts holds, as llvm-reduce and creduce do."""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from irscope.compiling.pool import Worker, spawn
from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.facts.fact import Fact
from irscope.facts.measure import measure
from irscope.jobs.reproduce.clean_process import SCRIPT, SLOWER, dumped_stages
from irscope.jobs.reproduce.recorded import Recorded
from irscope.jobs.reproduce.reductions import KernelProgram, Reduction, reductions, without_unused
from irscope.jobs.reproduce.script import KERNEL_FILE, script_text
from irscope.model import Artifact, UserError
from irscope.model.process import available_cores
from irscope.workspace.conditions import ALIASES, parse_expectation, unmet

_RUNNER = "irscope.jobs.reproduce.script_runner"
_SECONDS_PER_COMPILATION = 60.0
# Of a failing variant, the error's text without what moves with the kernel's lines.
_NUMBERS = re.compile(r"\d+")
_SPILLS = ("spills", "n_spills", "spill_words")


@dataclass(frozen=True)
class Minimized:
    """A smaller variant for which the condition holds, how many were tried, and whether time ran out."""

    recorded: Recorded
    condition: str
    tried: int
    seconds: float
    stopped: bool

    @property
    def text(self) -> str:
        """Return the result in one sentence."""
        lines = self.recorded.kernel.count("\n")
        limit = "; the time limit was reached" if self.stopped else ""
        tried = f"{self.tried} smaller kernels tried in {self.seconds:.0f} s"
        return f"Minimized to {lines} lines as long as {self.condition} ({tried}{limit})."


def fact_condition(name: str, recorded: Recorded) -> str:
    """Return the expression that says that a fact stays as bad as recorded.

    Raises UserError if it is unknown.
    """
    if name in _SPILLS:
        return "n_spills > 0"
    fact = recorded.facts.get(ALIASES.get(name, name))
    if fact is None or fact.value is None:
        raise UserError(f"--fact {name}: the variant has no such fact; irscope show lists its facts")
    if isinstance(fact.value, str) or not isinstance(fact.value, int | float):
        return f'{fact.kind.name} == "{fact.value}"'
    return f"{fact.kind.name} {'<=' if fact.kind.better == 'high' else '>='} {fact.value}"


def minimize(recorded: Recorded, condition: str, seconds: float, processes: int) -> Minimized:
    """Return the smallest kernel found in `seconds` for which `condition` holds.

    `condition` is an expectation, or "" if the variant fails. `processes` of 0 starts one per
    core. Executes the kernel's Python text. Raises UserError if the condition does not hold for
    the variant itself.
    """
    started = time.monotonic()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(temporary_folder("irscope-minimize-")))
        count = processes or available_cores()
        runners = [_Runner(scratch / str(number), recorded) for number in range(count)]
        for runner in runners:
            stack.callback(runner.stop)
        program = KernelProgram(ast.parse(recorded.kernel), recorded.call)
        search = _Search(program, recorded, runners, _interesting(recorded, condition), started + seconds)
        if search.accept([without_unused(program)]) is None and search.accept([program]) is None:
            what = condition or "the recorded error"
            raise UserError(f"--minimize: {what} does not hold for the variant itself: {search.last}")
        size = 0
        while search.program.size != size and not search.expired:
            size = search.program.size
            for reduction in reductions():
                search.reduce(reduction)
    condition = condition or "it fails as recorded"
    return Minimized(search.recorded, condition, search.tried, time.monotonic() - started, search.expired)


# Whether a smaller program still shows the problem, from its artifacts with facts, or from its output if it
# does not compile.
Interesting = Callable[[Recorded, str], bool]


def _interesting(recorded: Recorded, condition: str) -> Interesting:
    if condition:
        comparisons = parse_expectation(condition)
        return lambda found, _: bool(found.artifacts) and not list(unmet(comparisons, found.facts))
    if recorded.variant.failure is None:
        raise UserError("--minimize needs a condition: --check EXPR or --fact NAME")
    error_pattern = _NUMBERS.sub("N", recorded.variant.failure.summary)
    return lambda found, printed: not found.artifacts and error_pattern in _NUMBERS.sub("N", printed)


class _Search:
    """Tries programs in parallel, in order, until time runs out; `program` is the smallest so far."""

    def __init__(
        self,
        program: KernelProgram,
        recorded: Recorded,
        runners: Sequence[_Runner],
        interesting: Interesting,
        deadline: float,
    ) -> None:
        self.program, self.recorded = program, recorded
        self._runners, self._interesting, self._deadline = runners, interesting, deadline
        self._pool = ThreadPoolExecutor(len(runners))
        self._known: set[str] = set()
        self.tried, self.last, self.expired = 0, "", False

    def reduce(self, reduction: Reduction) -> None:
        """Take each step of one kind after which the problem is still there."""
        index = 0
        while index < len(attempts := reduction(self.program)) and not self.expired:
            programs = [attempt() for attempt in attempts[index : index + len(self._runners)]]
            accepted = self.accept([program and without_unused(program) for program in programs])
            index += len(programs) if accepted is None else accepted

    def accept(self, programs: Sequence[KernelProgram | None]) -> int | None:
        """Take the first of these programs that is interesting, and return its index."""
        if time.monotonic() > self._deadline:
            self.expired = True
            return None
        new_programs = [program if program and self._is_new(program) else None for program in programs]
        pairs = zip(new_programs, self._runners, strict=False)
        results = list(self._pool.map(lambda pair: pair[0] and pair[1].compile(pair[0]), pairs))
        for index, (program, result) in enumerate(zip(new_programs, results, strict=True)):
            if program is None or result is None:
                continue
            self.tried += 1
            recorded, printed = result
            last = printed.strip().rpartition("\n")[2] or "it took too long"
            self.last = "it compiles" if recorded.artifacts else last
            if self._interesting(recorded, printed):
                self.program, self.recorded = program, recorded
                return index
        return None

    def _is_new(self, program: KernelProgram) -> bool:
        """Return True if the program was not tried before."""
        text = f"{program.text}{program.call}"
        is_new = text not in self._known
        self._known.add(text)
        return is_new


class _Runner:
    """One process that compiles one program after another."""

    def __init__(self, folder: Path, recorded: Recorded) -> None:
        self._folder, self._recorded = folder, recorded
        folder.mkdir()
        self._worker = Worker(partial(spawn, module=_RUNNER, arguments=(str(folder / "cache"),)))
        self._count = 0

    def compile(self, program: KernelProgram) -> tuple[Recorded, str] | None:
        """Return the variant that a program compiles to, and what was printed.

        It has no artifacts if the program fails.
        """
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        recorded = replace(self._recorded, kernel=program.text, call=program.call, values=None)
        (folder / f"{KERNEL_FILE}.py").write_text(recorded.kernel)
        (folder / SCRIPT).write_text(script_text(recorded))
        dump, printed = folder / "stages", folder / "printed"
        seconds = max(_SECONDS_PER_COMPILATION, SLOWER * sum(self._recorded.variant.seconds.values()))
        try:
            self._worker.pipe.send((str(folder / SCRIPT), str(dump), str(printed), seconds))
            self._worker.pipe.recv()
        except (OSError, EOFError):
            return None
        text = printed.read_text(errors="replace") if printed.exists() else ""
        return _measured(recorded, dumped_stages(dump, recorded.variant)), text

    def stop(self) -> None:
        """End the process."""
        self._worker.stop()


def _measured(recorded: Recorded, artifacts: dict[str, bytes]) -> Recorded:
    """Return the variant with these artifacts and their facts."""
    log = artifacts.pop("log", b"").decode("utf-8", "replace")
    metadata = json.loads(artifacts.pop("json", b"{}"))
    variant = replace(
        recorded.variant,
        artifacts={stage: Artifact(stage, "", len(content)) for stage, content in artifacts.items()},
        log=log,
        metadata=metadata,
        benchmarks=(),
        seconds={},
    )
    facts: dict[str, Fact] = measure(variant, artifacts.get) if artifacts else {}
    return replace(recorded, variant=variant, artifacts=artifacts, facts=facts)
