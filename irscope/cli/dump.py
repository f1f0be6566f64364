"""Write every stage of every variant to a file with a readable name.

The files are DIR/matmul_kernel/cuda-90/BLOCK_M=64,num_warps=4/matmul_kernel.ttgir and so on, the kernel's
Python, error.txt for each failed variant, and index.json, which lists them.

example: irscope dump matmul.irscope -o stages --stage ttgir,ptx
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from irscope.cli import options
from irscope.document.dump import INDEX, DumpPlan, index_document, plan
from irscope.document.json.records import to_json
from irscope.model import UserError, Variant
from irscope.model.files import cannot_write, prepare_folder, write_output
from irscope.model.text import encoded, pluralize
from irscope.workspace import Workspace
from irscope.workspace.variant_texts import PYTHON, check_stage, variant_texts

NAME = "dump"
GROUP = "share"
SUMMARY = "write every stage of every variant to a file with a readable name"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, required=True, help="the folder to write to"
    )
    options.add_selection(parser)
    parser.add_argument(
        "--stage", metavar="STAGE", action="append", help="only this stage; a,b or repeated for several"
    )
    parser.add_argument(
        "--sass", action="store_true", help="disassemble cubins that have no SASS yet (0.4 s each)"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="write into DIR even if it is not empty; other files in it are kept",
    )


def run(args: argparse.Namespace) -> int:
    """Write the files. Raises UserError if DIR is not empty or cannot be written."""
    from irscope.cli.progress import count_on_stderr

    stages = options.split_names(args.stage)
    for stage in stages or ():
        check_stage(stage)
    progress = count_on_stderr("")
    with Workspace(args.capture) as workspace:
        variants = workspace.select(args.kernel, args.target)
        folder = _Folder(args.output, args.force)
        paths = plan(variants)
        for variant in {variant.kernel.id: variant for variant in variants}.values():
            folder.write(paths.sources[variant.kernel.id], encoded(variant_texts(variant)[PYTHON]))
        files: dict[int, dict[str, str]] = {}
        for number, variant in enumerate(variants, 1):
            progress(number, len(variants))
            files[variant.id] = {}
            for name, path, content in _contents(workspace, variant, paths, stages, args.sass):
                folder.write(path, content)
                files[variant.id][name] = path
        names = workspace.names
    index = index_document(variants, names, str(args.capture), paths, files)
    folder.write(INDEX, to_json(index).encode())
    count = sum(map(len, files.values())) + len(paths.sources) + 1
    print(f"{args.output}: {count} files of {pluralize(len(variants), 'variant')}", file=sys.stderr)
    return 0


def _contents(
    workspace: Workspace, variant: Variant, paths: DumpPlan, wanted: Sequence[str] | None, sass: bool
) -> Iterator[tuple[str, str, bytes]]:
    """Name in the index, path and content of each file of a variant."""
    for stage in workspace.pipeline(variant):
        if wanted is not None:
            included = stage.name in wanted
        else:
            included = stage.derived_from is None or stage.name in variant.artifacts
        included = included or (sass and stage.derived_from is not None)
        if included and (content := workspace.contents.find(variant, stage.name)) is not None:
            yield stage.name, paths.file(variant, stage.name), content
    if variant.metadata:
        metadata = json.dumps(dict(variant.metadata), indent=2) + "\n"
        yield "metadata", paths.file(variant, "json"), metadata.encode()
    for name, text in variant_texts(variant).items():
        if name != PYTHON:  # written once per kernel
            yield name, paths.text(variant, name), encoded(text)


class _Folder:
    """The folder of a dump; all files are written through it."""

    def __init__(self, path: Path, force: bool) -> None:
        prepare_folder(path, force)
        self.path = path
        self._root = path.resolve()

    def write(self, relative: str, content: bytes) -> None:
        """Write a file. Raises UserError if that fails, or if a link leads out of the folder."""
        file = self.path / relative
        if not file.resolve().is_relative_to(self._root):
            raise UserError(f"{file}: leads out of {self.path}; choose another folder with -o")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(file, error) from error
        write_output(file, content, force=True)
