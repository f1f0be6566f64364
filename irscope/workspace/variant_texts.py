"""The texts that belong to a variant but are not stages: its Python, its error, what the tools printed."""

from __future__ import annotations

from irscope.model import SourceFunction, Stage, UserError, Variant
from irscope.model.stage import gluon_stage
from irscope.targets import all_stages, stage_named, stages_of

# The kernel's own Python. The stage called `source` is the front end's MLIR.
PYTHON = "python"
# The failure of a variant with the compiler's whole message.
ERROR = "error"
# The values of `--stage` in addition to the names of the stage table.
TEXTS = (PYTHON, ERROR, "log", "output", "reasons")


def check_stage(name: str, with_texts: bool = False) -> Stage:
    """Return the stage called `name`; with `with_texts`, also a text stage for each of TEXTS.

    Raises UserError, listing the known names, if there is none.
    """
    if with_texts and name in TEXTS:
        return Stage(name, PYTHON if name == PYTHON else "text")
    try:
        return stage_named(name)
    except ValueError as error:
        more = f", {', '.join(TEXTS)}" if with_texts else ""
        raise UserError(f"{error}{more}") from error


def stage_names(binary: bool = True) -> list[str]:
    """Return the names of all stages in pipeline order, those of plug-ins included."""
    return [stage.name for stage in all_stages() if binary or not stage.binary]


def text_stages(variant: Variant) -> list[str]:
    """Return the text stages that a variant has or that can be derived, in pipeline order."""
    return [
        stage.name
        for stage in stages_of(variant)
        if not stage.binary and (stage.name in variant.artifacts or stage.derived_from in variant.artifacts)
    ]


def written_stage(variant: Variant) -> str | None:
    """Return the stage with the layouts as a Gluon kernel writes them; None for other kernels."""
    return gluon_stage(variant.artifacts)


def variant_texts(variant: Variant) -> dict[str, str]:
    """Return the TEXTS that a variant has, by name.

    "python": the source of the kernel and of the jit functions that it calls, after the lines of
    the program that a generated kernel came from; "error": the failure with the compiler's whole
    message; "log": what ptxas printed; "output": everything else the compiler printed;
    "reasons": the coalescing pass's log for each load and store.
    """
    failure, functions = variant.failure, (variant.kernel.source, *variant.kernel.helpers)
    texts = {
        PYTHON: "\n\n".join([*_program(variant), *map(_with_place, functions)]),
        "error": f"{failure.kind}: {failure.summary}\n\n{failure.message.rstrip()}\n" if failure else None,
        "log": variant.log,
        "output": variant.output,
        "reasons": variant.reasons,
    }
    return {name: text for name, text in texts.items() if text}


def missing_text(variant: Variant, name: str) -> str:
    """Say why a variant has no stage or text called `name`, and what it has instead."""
    failure = variant.failure
    if failure and name not in TEXTS:
        return (
            f"#{variant.id} has no {name} because it failed: {failure.kind}: {failure.summary}; "
            "irscope show --stage error prints the whole message"
        )
    names = [stage.name for stage in stages_of(variant) if stage.name in variant.artifacts]
    available = ", ".join([*names, *variant_texts(variant)])
    return f"#{variant.id} ({variant.target}) has no {name}; it has: {available}"


def failure_lines(variant: Variant, other: Variant | None = None) -> list[str]:
    """Say how a variant failed: the summary, its stages, and the compiler's whole message.

    After its own stages come those of `other` if that one compiled. Empty if it did not fail.
    """
    failure = variant.failure
    if failure is None:
        return []
    stages = _stored_stages(variant)
    lines = [
        f"#{variant.id} failed after {stages}" if stages else f"#{variant.id} failed before its first stage"
    ]
    if other is not None and other.failure is None:
        lines.append(f"#{other.id} has {_stored_stages(other)}")
    return [f"{failure.kind}: {failure.summary}", "", *lines, "", *failure.message.rstrip().split("\n")]


def _stored_stages(variant: Variant) -> str:
    return ", ".join(stage.name for stage in stages_of(variant) if stage.name in variant.artifacts)


def _program(variant: Variant) -> list[str]:
    """Return a generated kernel's computation and the lines of the program that it came from."""
    if variant.origin is None:
        return []
    from irscope.facts.source.map import origin_lines

    numbered = (
        f"{line.number}: {line.text}" if line.number else line.text for line in origin_lines(variant.origin)
    )
    return ["".join(f"{text if text.startswith('#') else f'# {text}'}\n" for text in numbered if text)]


def _with_place(function: SourceFunction) -> str:
    # One line: a line feed in a file name must not end the comment.
    header = f"# {function.file}:{function.line}".replace("\n", " ").replace("\r", " ")
    return f"{header}\n{function.text.rstrip()}\n"
