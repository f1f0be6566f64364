"""List the sample kernels, or copy them into a folder to edit and compile.

irscope finds a sample by name wherever it is installed: irscope tui samples/matmul. The docstring of each
sample has the arguments that it is compiled with.

example: irscope samples matmul -o .
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from irscope.model import UserError

NAME = "samples"
GROUP = "learn and set up"
SUMMARY = "list the sample kernels, or copy them into a folder"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare NAME, -o and --force."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="a sample (default: all)")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help="copy into this folder")
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def run(args: argparse.Namespace) -> int:
    """Print the samples, or copy them. Raises UserError if one is unknown or cannot be written."""
    from irscope.learn.sample_commands import sample_folders, samples

    samples_by_name = {sample.path.stem: sample for sample in (*samples(), *sample_folders())}
    names = [name.removeprefix("samples/").removesuffix(".py") for name in args.names] or list(
        samples_by_name
    )
    if unknown := [name for name in names if name not in samples_by_name]:
        raise UserError(f"no sample '{unknown[0]}'; the samples are: {', '.join(samples_by_name)}")
    if args.output is not None:
        for line in _copy([samples_by_name[name].path for name in names], args.output, args.force):
            print(line)
        return 0
    width = max(map(len, names))
    for name in names:
        print(f"{name:{width}}  {samples_by_name[name].title}")
    print("open one: irscope tui samples/NAME   copy them: irscope samples -o DIR")
    return 0


def _copy(files: list[Path], folder: Path, force: bool) -> list[str]:
    """Copy files and folders; returns a line per copy. Raises UserError, before any copy, if one exists."""
    targets = [folder / file.name for file in files]
    if not force and (existing := [target for target in targets if target.exists()]):
        raise UserError(f"{existing[0]} exists; choose another folder, or replace it with --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, target in zip(files, targets, strict=True):
            if file.is_dir():
                shutil.copytree(file, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("_*"))
            else:
                shutil.copyfile(file, target)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}") from error
    return [str(target) for target in targets]
