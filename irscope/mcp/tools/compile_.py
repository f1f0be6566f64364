"""The tool `compile`: a kernel from text or a file, under configs, into the session's capture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irscope.compiling.compile_targets import requested_target
from irscope.compiling.messages import SweepRequest
from irscope.compiling.pool import Stop
from irscope.mcp.answers import ToolAnswer, failed
from irscope.mcp.session import Session
from irscope.mcp.tools.tool import (
    INTEGER,
    LAUNCH,
    NUMBER,
    OBJECT,
    TEXT,
    VARIANT,
    Arguments,
    Tool,
    table,
    text,
)
from irscope.mcp.tools.variants import COLUMNS, header, variant_items
from irscope.mcp.tools.verdict import verdict_answer
from irscope.mcp.warm_compiler import CompileOutcome
from irscope.model import Expression, UserError, Value, Variant, parse_argument
from irscope.model.text import one_line, pluralize
from irscope.workspace import Workspace

_DEFAULT_TARGET = "cuda:90"
# After it come frames of irscope and Triton; lines(stage="error") has them.
_INTERNAL = "\n\nTraceback (innermost calls):"
# A remedy for people at a terminal.
_ADVICE = "; if a program of yours uses it, capture that: "


@dataclass(frozen=True)
class Done:
    """The outcome of a request: the variants by id, how many of them are new, and notes for the client."""

    ids: tuple[int, ...]
    new: frozenset[int]
    import_seconds: float
    seconds: float
    notes: tuple[str, ...]


def execute(session: Session, arguments: Arguments, stop: Stop) -> Done:
    """Compiles into the session's capture."""
    request = _request(session, arguments)
    launch = arguments.get("launch")
    unused = []
    try:
        compiled = session.compile(request, stop)
    except UserError as error:
        raise UserError(
            str(error).partition(_ADVICE)[0].replace(str(request.file), _name(arguments))
        ) from None
    if launch and compiled.ids:
        try:
            session.add_launch(compiled.ids, launch)
        except UserError as error:
            unused.append(f"launch not used: {error}")
    workspace = session.workspace() if compiled.ids else None
    some_compiled = workspace is None or any(
        workspace.live.by_id(id_).failure is None for id_ in compiled.ids
    )
    notes = (*session.new_notes(_notes(compiled)), *unused) if some_compiled else ()
    return Done(compiled.ids, compiled.new, compiled.import_seconds, compiled.seconds, notes)


def run(session: Session, arguments: Arguments, done: Done) -> ToolAnswer:
    """Answers with the verdict on a single variant, or a row per variant."""
    launch = arguments.get("launch")
    workspace = session.workspace()
    variants = [workspace.live.by_id(id_) for id_ in done.ids]
    if variants and all(variant.failure is not None for variant in variants):
        return _all_failed(workspace, variants)
    data = {"seconds": round(done.seconds, 2), **({"notes": list(done.notes)} if done.notes else {})}
    head = "\n".join([*(f"note: {note}" for note in done.notes), *_summary(done, variants)])
    if len(variants) == 1:
        return verdict_answer(workspace, variants[0], arguments.get("against"), head, data)
    return ToolAnswer(
        f"{head}\n{header(variants)}".strip(),
        data | {"columns": list(COLUMNS)},
        "rows",
        variant_items(workspace, variants, estimated=bool(launch)),
        "next: verdict of one, compare of two" if variants else "",
    )


def _name(arguments: Arguments) -> str:
    """Return the client's name for the file, or "source" if it sent text only."""
    return one_line(str(arguments.get("file") or "source"))


def _request(session: Session, arguments: Arguments) -> SweepRequest:
    source, file = arguments.get("source"), arguments.get("file")
    if (source is None) == (file is None):
        raise UserError("give source (the Python text) or file (a path), and not both")
    path = session.source_file(source) if source is not None else session.roots.file(str(file))
    targets = arguments.get("target", _DEFAULT_TARGET)
    names = [targets] if isinstance(targets, str) else targets
    return SweepRequest(
        file=path,
        kernel=arguments.get("kernel"),
        signature=arguments.get("signature"),
        constants={name: _value(value) for name, value in arguments.get("constants", {}).items()},
        axes={name: _values(name, value) for name, value in arguments.get("configs", {}).items()},
        targets=tuple(dict.fromkeys(map(requested_target, names))),
        guess=True,
    )


def _values(name: str, given: object) -> tuple[Value | Expression, ...]:
    values = tuple(map(_value, given)) if isinstance(given, list) else (_value(given),)
    if not values:
        raise UserError(f"configs: {name} has no value")
    return values


def _value(value: object) -> Value | Expression:
    """Return the constexpr that a value of JSON means; text is as on the command line."""
    return parse_argument(value if isinstance(value, str) else repr(value))


def _notes(compiled: CompileOutcome) -> list[str]:
    notes = [one_line(note) for note in compiled.notes]
    if compiled.missing:
        notes.append(f"{pluralize(compiled.missing, 'config')} not compiled: out of time")
    return notes


def _summary(done: Done, variants: Sequence[Variant]) -> Iterator[str]:
    failures = sum(variant.failure is not None for variant in variants)
    known_count = len(variants) - len(done.new)
    parts = [f"compiled {len(done.new) - failures}"]
    parts += [f"{failures} failed"] if failures else []
    parts += [f"{known_count} known already"] if known_count else []
    yield f"{', '.join(parts)}; {done.seconds:.1f} s, {done.import_seconds:.1f} s of it to import"


def _all_failed(workspace: Workspace, variants: Sequence[Variant]) -> ToolAnswer:
    """Return the first failure with the compiler's message, one line first.

    It also says how many others there are.
    """
    first = variants[0]
    failure = first.failure
    if failure is None:
        raise AssertionError("only for failures")
    line = one_line(f"{failure.kind}: {failure.summary}")
    verdict = workspace.verdict(first)
    where: Mapping[str, Any] = (
        {"line": verdict.points[0].line, "at": verdict.points[0].text} if verdict.points else {}
    )
    message = failure.message.partition(_INTERNAL)[0]
    return failed(line, **where, variant=first.id, others=len(variants) - 1, message=message)


TOOL = Tool(
    "compile",
    "Compile a Triton kernel (no GPU needed) under each config; this EXECUTES the Python source. A single "
    "variant is answered with its verdict, several with a row each. Variants are numbered for the other "
    "tools. Edit and call again to iterate.",
    {
        "source": text("Python text with the @triton.jit kernel and its imports"),
        "file": text("or a path"),
        "kernel": text("its name, if there are several"),
        "signature": text('argument types: "x_ptr=*fp16:16, n=i32" (:16 divisible by 16; default: guessed)'),
        "configs": {
            "type": "object",
            "description": 'values or lists of them (product): {"BLOCK": [64, 128], "num_warps": 8}',
        },
        "constants": {"type": "object", "description": "other constexprs"},
        "target": {"type": ["string", "array"], "description": "default cuda:90; or hip:gfx942, ..."},
        "launch": LAUNCH,
        "against": VARIANT | {"description": "also compare the variant with this one"},
    },
    {
        "seconds": NUMBER,
        "notes": {"type": "array"},
        **table(*COLUMNS),
        "verdict": OBJECT,
        "error": TEXT,
        "line": INTEGER,
        "message": TEXT,
    },
    run,
    paged=True,
    execute=execute,
)
