"""Write every stage of every variant under a readable name, to read, grep, diff and attach.

DIR/matmul_kernel/cuda-90/BLOCK_M=64,num_warps=4/matmul_kernel.ttgir and so on, the kernel's Python
beside them, error.txt for what failed, and index.json, which says what is where.

example: irscope dump matmul.irscope -o stages --stage ttgir,ptx
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from irscope.backends import stages_for
from irscope.cli import options
from irscope.model import UserError, Variant
from irscope.report.dump import INDEX, DumpPlan, index_document, plan
from irscope.report.json.records import to_json
from irscope.workspace import Workspace, check_stage, encoded, variant_texts

NAME = "dump"
SUMMARY = "write every stage of every variant under a readable name"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="the folder to fill")
    options.add_selection(parser)
    parser.add_argument(
        "--stage", metavar="STAGE", action="append", help="only this stage; several: repeated or a,b"
    )
    parser.add_argument(
        "--sass", action="store_true", help="disassemble the cubins that have no SASS yet (0.4 s each)"
    )
    parser.add_argument(
        "--force", action="store_true", help="write into DIR though it is not empty; other files in it stay"
    )


def run(args: argparse.Namespace) -> int:
    """Writes the files. Raises UserError where DIR is not empty or cannot be written."""
    wanted = options.split_names(args.stage)
    for stage in wanted or ():
        check_stage(stage)
    with Workspace(args.capture) as workspace:
        variants = workspace.select(args.kernel, args.target)
        folder = _Folder(args.output, args.force)
        paths = plan(variants)
        for variant in {variant.kernel.id: variant for variant in variants}.values():
            folder.write(paths.sources[variant.kernel.id], encoded(variant_texts(variant)["python"]))
        files: dict[int, dict[str, str]] = {}
        for number, variant in enumerate(variants, 1):
            _progress(number, len(variants))
            files[variant.id] = {}
            for name, path, content in _contents(workspace, variant, paths, wanted, args.sass):
                folder.write(path, content)
                files[variant.id][name] = path
        names = workspace.names
    index = index_document(variants, names, str(args.capture), paths, files)
    folder.write(INDEX, to_json(index).encode())
    count = sum(map(len, files.values())) + len(paths.sources) + 1
    print(f"{count} files of {len(variants)} variants in {args.output}", file=sys.stderr)
    return 0


def _contents(
    workspace: Workspace, variant: Variant, paths: DumpPlan, wanted: Sequence[str] | None, sass: bool
) -> Iterator[tuple[str, str, bytes]]:
    """(name in the index, path, content) of each file of a variant."""
    for stage in stages_for(variant.target.backend):
        if wanted is not None:
            asked = stage.name in wanted
        else:
            asked = stage.derived_from is None or stage.name in variant.artifacts
        asked = asked or (sass and stage.name == "sass")
        if asked and (content := workspace.find_content(variant, stage.name)) is not None:
            yield stage.name, paths.file(variant, stage.name), content
    if variant.metadata:
        metadata = json.dumps(dict(variant.metadata), indent=2) + "\n"
        yield "metadata", paths.file(variant, "json"), metadata.encode()
    for name, text in variant_texts(variant).items():
        if name != "python":  # the kernel's, written once
            yield name, paths.text(variant, name), encoded(text)


def _progress(number: int, total: int) -> None:
    """A counter on a terminal's last line; disassembling makes a dump take a while."""
    if sys.stderr.isatty():
        print(f"\r{number} of {total}", end="\n" if number == total else "", file=sys.stderr, flush=True)


class _Folder:
    """The folder that a dump goes to, and the one place that writes into it."""

    def __init__(self, path: Path, force: bool) -> None:
        try:
            path.mkdir(parents=True, exist_ok=True)
            occupied = any(path.iterdir())
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error.strerror}") from error
        if occupied and not force:
            raise UserError(f"{path} is not empty; choose another folder with -o or add to it with --force")
        self.path = path
        self._root = path.resolve()

    def write(self, relative: str, content: bytes) -> None:
        """Writes one file. Raises UserError where that fails, or a link leads out of the folder."""
        file = self.path / relative
        if not file.resolve().is_relative_to(self._root):
            raise UserError(f"{file}: leads out of {self.path}; choose another folder with -o")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        except OSError as error:
            raise UserError(f"{file}: cannot be written: {error.strerror}") from error
