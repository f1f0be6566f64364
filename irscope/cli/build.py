"""Build a variant again from an edited stage, and show what differs from the original.

Everything below the stage is built anew by Triton's own compiler, without a GPU and without executing the
kernel's file. The result is a new variant of the same capture, next to the original: edit=NAME is part of its
name. STAGE_FILE is a stage as irscope dump writes it (matmul.ttgir), changed in an editor; --edit opens
$EDITOR on the stage of --from. What MLIR, LLVM or ptxas rejects is printed with its line in the stage.
Without a capture (irscope build FILE.ttgir), a new capture gets what was built.

example: irscope build matmul.irscope '#1' --skip-pass tritongpu-pipeline
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import Kernel, Toolchain, UserError, parse_value
from irscope.model.errors import print_note
from irscope.model.files import DEFAULT_EDITOR, open_command
from irscope.model.text import one_line

if TYPE_CHECKING:
    from irscope.compiling.edits.edited_variant import (
        BuiltVariant,
        CompilerDiagnostic,
        EditRequest,
        RebuildError,
    )
    from irscope.model import Variant
    from irscope.workspace import Workspace

NAME = "build"
GROUP = "capture"
SUMMARY = "edit a stage of a variant and build what is below it"

# More than a person reads; irscope diff has all.
_MAX_ROWS = 80
# The kind of error if the passes to leave out or to run do not exist: wrong use.
_WRONG_PASSES = "PassEditError"
_MAX_DIAGNOSTICS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("capture", metavar="CAPTURE|STAGE_FILE", type=Path, help="the capture, or a stage")
    parser.add_argument(
        "variant", metavar="VARIANT", nargs="?", help="#3, or any part of its name in irscope list"
    )
    parser.add_argument(
        "file", metavar="STAGE_FILE", type=Path, nargs="?", help="the edited stage; its suffix says which"
    )
    parser.add_argument(
        "--from",
        dest="stage",
        metavar="STAGE",
        help="the stage to build from: source, ttir, ttgir, llir, ptx",
    )
    parser.add_argument("--edit", action="store_true", help="edit the stage of --from in $EDITOR first")
    parser.add_argument(
        "--skip-pass",
        metavar="PASS",
        action="append",
        default=[],
        help="leave out a pass, by its name in irscope passes; NAME#2 is only its second run in a stage",
    )
    parser.add_argument(
        "--passes",
        metavar="[STAGE:]LIST",
        action="append",
        default=[],
        help="the passes that make a stage (ttgir): 'cse,tritongpu-pipeline{num-stages=2}'",
    )
    parser.add_argument("--name", help="the name of the edit (default: ttgir-1, no-PASS)")
    parser.add_argument(
        "--python", metavar="FILE", type=Path, help="a Python that has the Triton to build with"
    )
    parser.add_argument("--ptxas", metavar="FILE", type=Path, help="the ptxas to build with")
    parser.add_argument(
        "--any-triton", action="store_true", help="build also with another Triton than the original's"
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="launch both on this machine's GPU, which executes their machine code, and compare",
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=300.0, help="default: 300")
    alone = parser.add_argument_group("without a capture")
    alone.add_argument("--target", metavar="TARGET", help="for example cuda:90 (default: the stage's own)")
    alone.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an option of the compiler: num_warps=8, maxnreg=128",
    )
    options.add_file(alone, "the capture (default: NAME.irscope)")
    options.add_format(parser, "text", "json")
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Build, stores and compare. Raises UserError if there is nothing to build or it cannot be stored."""
    from irscope.compiling.edits.edited_variant import RebuildError

    options.check_timeout(args)
    try:
        return _build_edit(args) if args.variant is not None else _build_file(args)
    except RebuildError as error:
        _print_rejected(error)
        return 2 if error.kind == _WRONG_PASSES else 1


def _build_edit(args: argparse.Namespace) -> int:
    from irscope.compiling.edits.edited_variant import build_variant
    from irscope.workspace import Workspace
    from irscope.workspace.what_if import edit_names

    if args.target or args.option or args.output:
        raise UserError("--target, --option and -o apply only to a stage file without a capture")
    with Workspace(args.capture) as workspace:
        original = workspace.variant(args.variant)
        if args.run and not original.launches:
            number = original.id
            raise UserError(
                f"--run: no launch of #{number} was recorded; irscope run PROGRAM.py records them"
            )
        request = _request(args, workspace, original)
        used_names = edit_names(workspace, original)
        built = build_variant(
            original, lambda stage: workspace.contents.read(original, stage), request, used_names
        )
    id_ = _store(args.capture, original, built)
    _print_diagnostics(built.diagnostics)
    with Workspace(args.capture) as workspace:
        _print_comparison(args, workspace, original.id, id_)
        if args.run:
            _run_both(args, workspace, original.id, id_)
    return 0


def _request(args: argparse.Namespace, workspace: Workspace, original: Variant) -> EditRequest:
    """Return the build that the arguments describe; run $EDITOR if they ask for it."""
    from irscope.compiling.edits.edited_variant import (
        EditRequest,
        PassEdits,
        first_stage,
        read_stage,
        stage_of,
    )

    if args.file is not None and (args.edit or args.stage):
        raise UserError(f"give either {args.file} or --from STAGE")
    passes = PassEdits(tuple(args.skip_pass), _replaced(args.passes))
    text = None
    if args.file is not None:
        stage, text = stage_of(args.file), read_stage(args.file)
    elif args.edit:
        stage = args.stage or "ttgir"
        text = _edited(original, stage, workspace.text(original, stage))
    else:
        stage = args.stage or first_stage(original)
    if text is None and not passes and args.ptxas is None:
        raise UserError("nothing to change: give STAGE_FILE, --edit, --skip-pass, --passes or --ptxas")
    return EditRequest(
        stage, text, passes, _edit_name(args.name), args.python, args.ptxas, args.any_triton, args.timeout
    )


def _replaced(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the passes of each stage in `STAGE:LIST`. Raises UserError if one is malformed."""
    from irscope.compiling.edits.edited_variant import split_passes

    passes_by_stage = {}
    for text in texts:
        stage, colon, passes = text.partition(":")
        passes_by_stage[stage.strip() if colon else "ttgir"] = split_passes(passes if colon else text)
    return passes_by_stage


def _edit_name(text: str | None) -> str:
    if text is not None and not re.fullmatch(r"[\w.-]{1,40}", text):
        raise UserError(f"--name {text}: use letters, digits, '.', '_' and '-', at most 40")
    return text or ""


def _edited(variant: Variant, stage: str, text: str) -> str:
    """Return the stage after $EDITOR. Raises UserError if the editor cannot be started or fails."""
    with tempfile.TemporaryDirectory(prefix="irscope-") as folder:
        path = Path(folder, f"{variant.id}.{stage}")
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        try:
            status = subprocess.run(open_command("EDITOR", DEFAULT_EDITOR, path), check=False).returncode
        except (OSError, ValueError) as error:
            raise UserError(f"$EDITOR: {error}") from error
        if status:
            raise UserError(f"$EDITOR ended with status {status}; nothing was built")
        return path.read_text(encoding="utf-8", errors="replace")


def _store(path: Path, original: Variant, built: BuiltVariant) -> int:
    """Add the variant to the capture; returns its id."""
    from irscope.workspace import CaptureWriter

    same = built.versions == dict(original.toolchain.versions)
    command = original.toolchain.command if same else shlex.join(sys.argv)
    with CaptureWriter.resume(path, amends=True) as writer:
        return writer.add_compiled(original.kernel, Toolchain(0, built.versions, command), built.new)


def _build_file(args: argparse.Namespace) -> int:
    from irscope.compiling.edits.edited_variant import PassEdits, build_file
    from irscope.workspace import CaptureWriter, Workspace

    path = args.capture
    if args.edit or args.stage or args.name:
        raise UserError(f"--edit, --from and --name need a capture and a variant; {path} is taken as a stage")
    target = None if args.target is None else options.target(args.target)
    passes = PassEdits(tuple(args.skip_pass), _replaced(args.passes))
    values = {n: parse_value(text) for n, text in options.assigned_texts(args.option).items()}
    built = build_file(path, target, values, passes, args.python, args.ptxas, args.timeout)
    output = args.output or path.with_suffix(".irscope")
    options.check_output(argparse.Namespace(output=output), path)
    with CaptureWriter.create(output, args.force) as writer:
        kernel = Kernel(0, built.source.name, built.source, (), ())
        writer.add_compiled(kernel, Toolchain(0, built.versions, shlex.join(sys.argv)), built.new)
    _print_diagnostics(built.diagnostics)
    with Workspace(output) as workspace:
        _print_facts(args, workspace)
    name = shlex.quote(str(output))
    print(f"browse: irscope {name}   edit: irscope build {name} '#1' --from {path.suffix[1:]} --edit")
    return 0


def _print_facts(args: argparse.Namespace, workspace: Workspace) -> None:
    from irscope.document.table_content import table_content

    for section in workspace.sections():
        options.print_document(table_content(section.showing()), args)


def _print_comparison(args: argparse.Namespace, workspace: Workspace, original: int, edit: int) -> None:
    """Print what the edit changed, as irscope diff does."""
    from irscope.document.report_content import pair_report

    comparison = workspace.compare(workspace.live.by_id(original), workspace.live.by_id(edit))
    report = pair_report(comparison)
    if args.format == "json":
        from irscope.document.json.comparison import diff_document

        options.print_json(diff_document(report, 3))
        return
    from irscope.document.comparison_content import diff_content

    options.print_document(diff_content(report, rows=_MAX_ROWS), args)


def _run_both(args: argparse.Namespace, workspace: Workspace, original: int, edit: int) -> None:
    """Launch both and print how they compare. Raises UserError if there is no GPU."""
    from irscope.compiling.edits.launch import compare_launches

    a, b = workspace.live.by_id(original), workspace.live.by_id(edit)
    launches = compare_launches(a, b, a.launches[0], workspace.contents.read, args.timeout)
    file = sys.stderr if args.format == "json" else sys.stdout
    print("\n".join(["", "Run", *(f"  {line}" for line in launches.lines)]), file=file)


def _print_rejected(error: RebuildError) -> None:
    """Print why the compiler rejected a stage, with the lines."""
    where = "" if error.kind == _WRONG_PASSES else f"{error.stage} could not be made: "
    print_note(f"{where}{one_line(str(error))}")
    _print_diagnostics(error.diagnostics)


def _print_diagnostics(found: Sequence[CompilerDiagnostic]) -> None:
    for diagnostic in found[:_MAX_DIAGNOSTICS]:
        python = f" ({diagnostic.python})" if diagnostic.python and diagnostic.line else ""
        print(f"{diagnostic.severity}: {one_line(str(diagnostic))}{one_line(python)}", file=sys.stderr)
    if len(found) > _MAX_DIAGNOSTICS:
        print(f"... {len(found) - _MAX_DIAGNOSTICS} more", file=sys.stderr)
