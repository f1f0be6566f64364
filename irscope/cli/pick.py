"""Rank the configs of each kernel by estimated time, and say why the others need not be measured.

The estimate comes from the machine code, the grid and the arguments of each recorded launch; no GPU is
needed. Configs that cannot launch or are duplicates of others are left out. The list is also printed as
Python, to paste into @triton.autotune. For a kernel that was never launched, --launch says how it would be:
its values are expressions of each other and of the config.

example: irscope pick matmul.irscope --launch "grid=(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), M=4096, N=M, K=M"
  irscope pick moe.irscope --export vllm --device H200 --keys "E=128, N=768" --launch ... --vary M=1..4096:*2
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from irscope.cli import consent, options
from irscope.model import UserError
from irscope.model.files import exists_already, prepare_folder, write_output
from irscope.model.text import one_line
from irscope.workspace import Pick, Workspace
from irscope.workspace.picking import never_launched, picks

NAME = "pick"
GROUP = "choose and ship"
SUMMARY = "rank the configs by estimated time: which few are worth measuring"

# A person sees a tenth of the configs; JSON has all, in order.
_TOP = "10%"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "capture", metavar="CAPTURE", type=Path, nargs="+", help="the capture file; several to calibrate"
    )
    options.add_selection(parser)
    parser.add_argument(
        "--top",
        metavar="N",
        help=f"configs worth measuring per launch: 8, or 10%% of them (default: {_TOP}%, JSON: all)",
    )
    options.add_launches(parser, 'pick for this launch: "grid=(cdiv(M, BLOCK_M),), M=4096"; can be repeated')
    parser.add_argument(
        "--same-bits-as",
        metavar="VARIANT",
        help="pick among the configs that compute the same bits as this one: #3, or any part of its name",
    )
    parser.add_argument("--explain", action="store_true", help="show what each estimate is made of")
    parser.add_argument(
        "--device", metavar="NAME", help="estimate for this device: H100, A100, ... or a file of --calibrate"
    )
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="fit the model's constants to the times in the captures, and use them from now on",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        help="the file of --calibrate (default: the user's own), or the folder of --export",
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    options.add_document_format(parser)
    options.add_width(parser)
    group = parser.add_argument_group("files for serving systems")
    group.add_argument(
        "--export",
        choices=("vllm", "sglang", "json", "python"),
        help="write the configs for --device as files that this system loads, into the folder -o",
    )
    group.add_argument(
        "--keys",
        metavar="NAME=VALUE,...",
        action="append",
        default=[],
        help='what names the file, and the names of config values: "E=128, N=N // 2, BLOCK_SIZE_M=BLOCK_M"',
    )
    group.add_argument(
        "--vary", metavar="NAME=VALUES", action="append", default=[], help="sizes to export: M=1..4096:*2"
    )
    consent.add_compiling(group)


def run(args: argparse.Namespace) -> int:
    """Print the ranking. Raises UserError if nothing was launched or an argument is wrong."""
    if args.calibrate:
        return _calibrate(args)
    if args.export:
        return _export(args)
    if args.keys or args.vary:
        raise UserError("--keys and --vary are for --export")
    if len(args.capture) > 1:
        raise UserError("several captures need --calibrate; irscope merge joins captures")
    with Workspace(_compiled(args)) as workspace:
        ranked = _picks(workspace, args)
        unlisted = args.launch or args.same_bits_as
        if not unlisted and (names := never_launched(workspace, args.kernel, args.target)):
            listed = ", ".join(map(one_line, names))
            sys.stderr.write(f"irscope: never launched, so not ranked: {listed}; see --launch\n")
        if args.format == "json":
            from irscope.document.json.estimates import pick_document

            options.print_json(pick_document(ranked))
            return 0
        from irscope.document.pick_content import picks_content

        options.print_document(picks_content(ranked, args.explain), args)
    return 0


def _compiled(args: argparse.Namespace) -> Path:
    """Return a capture with the variants for the target of --device."""
    from irscope.workspace.picking import device_named

    capture: Path = args.capture[0]
    if args.device is None or args.target:
        return capture
    return consent.compiled_for(args, capture, [options.target(device_named(args.device)[0].target)])


def _picks(workspace: Workspace, args: argparse.Namespace) -> list[Pick]:
    from irscope.cli.progress import counting_bar

    top = args.top or (None if args.format == "json" else _TOP)
    same = None if args.same_bits_as is None else workspace.variant(args.same_bits_as)
    with counting_bar("estimating") as report:
        return picks(workspace, args.kernel, args.target, args.launch, top, args.device, report, same)


def _export(args: argparse.Namespace) -> int:
    """Write the files, and print what they have. Raises UserError if nothing can be written."""
    from irscope.cli.progress import counting_bar
    from irscope.document import tuned_files as documents
    from irscope.workspace import tuned_configs
    from irscope.workspace.picking import device_named

    if args.output is None or not args.device or len(args.capture) > 1:
        raise UserError("--export: one capture, --device NAME and the folder -o DIR are needed")
    keys = tuned_configs.parse_keys(args.keys)
    system = tuned_configs.SYSTEMS.get(args.export)
    if keys and system is None:
        raise UserError(f"--keys: not for --export {args.export}, which has the kernel's own names")
    rates, _ = device_named(args.device)
    name, rows = _rows(args.vary, args.launch)
    written = tuned_configs.written_launches(args.launch, name, rows)
    # What is wrong is said before anything is compiled; the rows are not in the names of files.
    first = written[:: max(1, len(rows))]
    with Workspace(args.capture[0]) as workspace:
        names = tuned_configs.planned_paths(workspace, rates, args.kernel, first, args.export, keys)
    _check_free(args.output, names, args.force)
    path = _compiled(args)
    # A system's file has one config per size, whichever --top.
    top = None if system else args.top or _TOP
    with Workspace(path) as workspace, counting_bar("estimating") as report:
        export = tuned_configs.exported_picks(workspace, args.device, args.kernel, written, top, report)
        tuned = tuned_configs.tuned_files(export, system, keys) if system else []
    texts = {file.path: documents.serving_text(file) for file in tuned}
    if system is None:
        texts = documents.own_files(export, args.export)
    paths = _write_all(args.output, texts, args.force)
    options.print_document(documents.export_content(tuned, paths), args)
    return 0


def _rows(texts: Sequence[str], launches: Sequence[str]) -> tuple[str, list[int]]:
    """Return the name that --vary gives values, and these, sorted. Raises UserError for anything else."""
    from irscope.compiling.launch_grid import parse_axes

    rows: set[int] = set()
    axes = [axis for text in texts for axis in parse_axes(f"*:{text}")]
    names = {axis.name for axis in axes}
    if axes and (len(names) > 1 or not launches):
        raise UserError(f"--vary {texts[0]}: give one name, which each --launch sets, its numbers of rows")
    for axis in axes:
        values = list(axis.texts())
        if not all(value.isdecimal() and int(value) > 0 for value in values):
            raise UserError(f"--vary {texts[0]}: write numbers from 1, such as M=1,2,4 or M=1..4096:*2")
        rows.update(map(int, values))
    return "".join(names), sorted(rows)


def _check_free(folder: Path, names: Iterable[str], force: bool) -> None:
    """Raise UserError if files cannot be written into a folder: it is a file, or one of them exists."""
    if folder.exists():
        prepare_folder(folder, force=True)
    for path in map(folder.joinpath, () if force else names):
        if path.exists():
            raise exists_already(path)


def _write_all(folder: Path, texts: Mapping[str, str], force: bool) -> list[str]:
    """Write files into a folder, all or none of them if one exists; return their paths."""
    _check_free(folder, texts, force)
    for name, text in texts.items():
        prepare_folder((folder / name).parent, force=True)
        write_output(folder / name, text.encode(), force)
    return [str(folder / name) for name in texts]


def _calibrate(args: argparse.Namespace) -> int:
    from irscope.cli.progress import counting_bar
    from irscope.document.pick_content import calibration_content
    from irscope.workspace.picking import calibrate_captures

    with counting_bar("calibrating"):
        calibration = calibrate_captures(args.capture, args.output, args.device, args.force)
    options.print_document(calibration_content(calibration), args)
    return 0
