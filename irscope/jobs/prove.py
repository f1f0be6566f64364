"""`irscope lint --prove`: launches the kernels of a capture on this machine's GPU under sanitizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from irscope.compiling.processes.temporary_folders import temporary_folder
from irscope.jobs.reproduce import sanitizers
from irscope.jobs.reproduce.writing import reproduce
from irscope.model import Kernel, UserError, Variant
from irscope.model.records import frozen
from irscope.model.text import one_line
from irscope.workspace import Diagnostic, Workspace

Report = Callable[[str], None]


@frozen
class Proof:
    """What one sanitizer says of the launch of a variant.

    `outcome` is "error", "clean" or "unknown"; `findings` are its errors, or why it could not run.
    """

    variant: Variant
    name: str
    tool: str
    outcome: str
    findings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the proof in one line."""
        said = "; ".join(self.findings) or "nothing to report"
        return one_line(f"{self.tool}: {self.variant.kernel.name} #{self.variant.id} {self.name}: {said}")


def launched_variants(workspace: Workspace, problems: Sequence[Diagnostic]) -> list[Variant]:
    """Return the first variant that was launched of each kernel with problems, or of all kernels if none has.

    Raises UserError if the capture has no launch of them.
    """
    variants = [v for v in workspace.variants if v.launches and v.failure is None and v.edit is None]
    reported = [v for v in variants if any(is_about(problem, v.kernel) for problem in problems)]
    if problems and not reported:
        raise UserError("--prove: no launch of a reported kernel is recorded; irscope run records launches")
    if not variants:
        raise UserError("--prove: the capture has no launches; irscope run records them")
    return list({variant.kernel.id: variant for variant in reversed(reported or variants)}.values())[::-1]


def is_about(problem: Diagnostic, kernel: Kernel) -> bool:
    """Return True if a diagnostic of a capture is about a kernel."""
    return problem.file == kernel.source.file and kernel.source.line in problem.suppression_lines


def prove(workspace: Workspace, variants: Sequence[Variant], report: Report) -> list[Proof]:
    """Launch each variant under each sanitizer, which executes the kernel's Python as the capture has it.

    `report` receives what is about to run. Raises UserError if this machine has no GPU, or a kernel cannot
    be written out.
    """
    if problem := sanitizers.missing_gpu():
        raise UserError(f"--prove: {problem}; irscope reproduce --test writes the launch for another machine")
    proofs = []
    for variant in variants:
        name = workspace.names[variant.id]
        with temporary_folder("irscope-") as place:
            folder = Path(place) / "launch"
            reproduce(workspace.path, variant, folder, name=name, check=False)
            for tool in sanitizers.TOOLS:
                report(f"{tool}: {variant.kernel.name} #{variant.id}")
                proofs.append(_proof(variant, name, tool, folder))
    return proofs


def _proof(variant: Variant, name: str, tool: str, folder: Path) -> Proof:
    if problem := sanitizers.missing(tool):
        return Proof(variant, name, tool, "unknown", (f"not run, {problem}",))
    findings, failure = sanitizers.run(tool, folder)
    if findings:
        return Proof(variant, name, tool, "error", tuple(findings))
    if failure:
        last = failure.strip().splitlines()[-1:] or ["no output"]
        return Proof(variant, name, tool, "unknown", (f"the launch failed: {last[0]}",))
    return Proof(variant, name, tool, "clean", ())
