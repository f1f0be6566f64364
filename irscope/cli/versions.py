"""Compile the same variants under several versions of Triton or ptxas, and say which one made what worse.

KERNEL is FILE.py::KERNEL with its signature and configs, as in irscope compile; of a CAPTURE, each variant is
compiled again from its file, which executes it; irscope asks first if the capture was not made here and the
file has another kernel. Each version has an environment of its own, made with uv or
pip on first use and kept in your cache folder; torch and your own packages are those of this Python. The new
capture has all versions: table, diff, report and the app show them side by side. A CAPTURE without --triton
and --ptxas is only summarized.

example: irscope versions add.py --signature "*fp32:16, *fp32:16, *fp32:16, i32" --config BLOCK_SIZE=256,512
  irscope versions run.irscope --triton 3.8.0,3.9.0 --ptxas own,12.9 -o both.irscope
  irscope versions --list
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import consent, options
from irscope.model import UserError
from irscope.model.errors import print_note

if TYPE_CHECKING:
    from irscope.compiling.sweep import Progress
    from irscope.jobs.versions.requests import Request
    from irscope.jobs.versions.version_sweep import EnvironmentSweep, Launches
    from irscope.workspace import Workspace
    from irscope.workspace.timeline import VersionSummary
    from irscope.workspace.version_bits import VersionBits

NAME = "versions"
GROUP = "capture"
SUMMARY = "compile under several versions of Triton and say which one made what worse"

_SUFFIX = ".irscope"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what to compile, under which versions, and the commands on environments."""
    parser.add_argument(
        "input",
        metavar="KERNEL|CAPTURE",
        nargs="?",
        help="FILE.py[::KERNEL], a folder with --guess, or a capture",
    )
    parser.add_argument(
        "--triton",
        metavar="V1,V2",
        action="append",
        help="versions of Triton, or folders that have the package triton (default: one per release series)",
    )
    parser.add_argument(
        "--ptxas",
        metavar="P1,P2",
        action="append",
        help="versions of ptxas (12.9, 13.3.33), paths, or own: that of each Triton (default: own)",
    )
    options.add_launches(
        parser, "a launch as in irscope bits: say which versions change its bits (default: those recorded)"
    )
    parser.add_argument("--guess", action="store_true", help="guess missing types and constexprs of a KERNEL")
    parser.add_argument("--kernel", metavar="GLOB", help="of a CAPTURE, only kernels matching GLOB")
    consent.add_trust(parser)
    options.add_compilation(parser)
    options.add_output(parser, "KERNEL-versions.irscope")
    options.add_format(parser, "text", "json")
    group = parser.add_argument_group("environments")
    group.add_argument("--list", action="store_true", help="list the installed ones with their sizes")
    group.add_argument("--remove", metavar="VERSION", help="remove those of a version, or all")


def run(args: argparse.Namespace) -> int:
    """Compiles, summarizes or lists; returns 1 if a variant failed or a version cannot be had."""
    if args.list or args.remove is not None:
        return _environments(args)
    if args.input is None:
        raise UserError("name a kernel or a capture, or use --list; see irscope versions --help")
    capture = Path(args.input)
    if not (capture.suffix == _SUFFIX or _is_capture(capture)):
        return _compile_kernel(args)
    if args.triton or args.ptxas:
        return _compile_capture(args, capture)
    if not _summarize(args, capture, []):
        raise UserError(
            f"{capture}: no kernel in it has several versions; --triton 3.8.0,3.9.0 compiles its variants"
        )
    return 0


def _is_capture(path: Path) -> bool:
    """Return True if the file is an SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except (OSError, ValueError):
        return False


def _compile_kernel(args: argparse.Namespace) -> int:
    from irscope.jobs.versions.requests import FileRequest

    if args.kernel is not None:
        raise UserError("--kernel: is for captures; name the kernel of a file as FILE.py::KERNEL")
    if Path(args.input).is_dir():
        requests, stem = options.folder_requests(args, Path(args.input)), Path(args.input).resolve().name
    else:
        requests = [options.sweep_request(args, args.input)]
        stem = requests[0].kernel or ""
    return _compile(args, FileRequest(requests), stem, lambda path: None, {})


def _compile_capture(args: argparse.Namespace, capture: Path) -> int:
    from irscope.jobs.versions.requests import captured_request, launches_of, left_out
    from irscope.workspace import MergedCapture
    from irscope.workspace.trust import untrusted_files

    options.check_workers(args)
    options.check_output(args, capture)
    if kernel_options := [
        f"--{name}" for name in ("signature", "config", "const", "guess") if getattr(args, name)
    ]:
        raise UserError(f"{kernel_options[0]}: is for kernels; a capture has the variants to compile")
    targets = [options.target(text) for text in args.target]
    request = captured_request(capture, args.kernel, targets, args.passes)
    consent.require_consent(args, capture, list(untrusted_files(request.files)))
    for line in left_out(capture, request, args.kernel):
        print_note(line)

    def begin(path: Path) -> None:
        """Begins with the variants as they were captured, under their own version."""
        if not (args.resume and path.exists()) and args.kernel is None and not targets:
            MergedCapture.write([capture], path, args.force)
            args.resume = True

    return _compile(args, request, capture.stem, begin, launches_of(request))


def _compile(
    args: argparse.Namespace,
    request: Request,
    stem: str,
    begin: Callable[[Path], None],
    launches: Launches,
) -> int:
    """Compiles under every version that can be had, and prints the summary."""
    from irscope.cli.progress import counting_bar
    from irscope.jobs.versions.environments import chosen_environments
    from irscope.jobs.versions.version_sweep import compile_versions, planned_environments

    start = time.monotonic()
    tritons, assemblers = (options.split_names(names) or [] for names in (args.triton, args.ptxas))
    environments, problems = chosen_environments(tritons, assemblers, print_note)
    for problem in problems:
        print_note(problem)
    if not environments:
        raise UserError("none of the versions can be had")
    with planned_environments(request, environments, args.jobs, args.timeout) as planned:
        rejected = list(dict.fromkeys(line for environment in planned for line in environment.rejected))
        for line in (*rejected, *_notes(planned)):
            print_note(line)
        path = args.output or Path(f"{stem or planned[0].plans[0].source.name}-versions{_SUFFIX}")
        begin(path)
        with options.open_writer(args, path) as writer, counting_bar("variants") as bar:
            progress = compile_versions(
                planned,
                writer,
                shlex.join(sys.argv),
                args.jobs,
                args.timeout,
                lambda done: bar(done.kept + done.done, done.total),
                launches,
            )
    _print_result(args, path, progress, time.monotonic() - start)
    _summarize(args, path, problems)
    return int(bool(problems or rejected or progress.failed))


def _print_result(args: argparse.Namespace, path: Path, progress: Progress, seconds: float) -> None:
    """Store the facts, and print how many variants compiled and each failure."""
    from irscope.workspace import Workspace

    Workspace(path).store_facts()
    compiled = progress.done - progress.failed
    text = options.compiled_text(path, compiled, progress.kept, progress.failed, seconds)
    if args.format == "json":
        print_note(text)
    else:
        print(text)
        options.print_next(path)
        print()
    if progress.failed:
        options.print_failures(path)


def _summarize(args: argparse.Namespace, path: Path, problems: list[str]) -> bool:
    """Print which version made what worse; returns whether any kernel has several versions."""
    from irscope.document.json.capture import versions_document
    from irscope.document.variant_content import versions_content
    from irscope.workspace import Workspace
    from irscope.workspace.timeline import version_summaries

    with Workspace(path) as workspace:
        target = args.target[0] if len(args.target) == 1 else None
        summaries = version_summaries(workspace, args.kernel, target)
        bits = [_bits(workspace, summary, args.launch) for summary in summaries]
        if args.format == "json":
            options.print_json(versions_document(summaries, bits, str(path), problems))
        else:
            options.print_document(versions_content(summaries, bits), args)
    return bool(summaries)


def _bits(workspace: Workspace, summary: VersionSummary, launches: list[str]) -> list[VersionBits]:
    """Return what the versions change about bits; nothing without a launch, which takes no time."""
    variants = (variant for variants in summary.versions.values() for variant in variants)
    if not launches and not any(variant.launches for variant in variants):
        return []
    from irscope.workspace.version_bits import version_bits

    return list(version_bits(workspace, summary, launches))


def _environments(args: argparse.Namespace) -> int:
    from irscope.jobs.versions.packages import installed_packages, remove_packages

    if args.remove is not None:
        for package in remove_packages(args.remove):
            print(f"removed {package.tool} {package.version}: {package.folder}")
        return 0
    packages = installed_packages()
    for package in packages:
        print(f"{package.tool:6}  {package.version:8}  {package.size / 1e6:>6,.0f} MB  {package.folder}")
    if not packages:
        print("no environments are installed; irscope versions KERNEL makes them")
    return 0


def _notes(planned: list[EnvironmentSweep]) -> Iterator[str]:
    """Yield the notes of all plans; those that not all versions have begin with the version."""
    notes: dict[str, list[str]] = {}
    for environment_plan in planned:
        for note in dict.fromkeys(note for plan in environment_plan.plans for note in plan.notes):
            notes.setdefault(note, []).append(environment_plan.environment.name)
    for note, versions in notes.items():
        yield note if len(versions) == len(planned) else f"Triton {', '.join(versions)}: {note}"
