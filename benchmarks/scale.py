"""Measures CPU time and peak memory of every viewing command on captures of 10,000 and 100,000 variants.

    python -m benchmarks.scale CAPTURE [--sizes 1000 10000 100000] [--only table why] [--folder /tmp/scale]

CAPTURE has a few real variants (irscope compile samples/matmul.py ...). The large captures repeat them under
other configs, with the writer of the store: each variant has its own row, facts, cache key and metadata, and
shares its stages with others. Prints a line per command and size: CPU time, peak memory, and the characters
of the output.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import run
from irscope.facts.measure import FACTS_VERSION, to_json
from irscope.model import Config
from irscope.store import CaptureWriter, NewVariant
from irscope.workspace import Workspace

# What each run gets: C is the capture, D another one of the same size in which one variant is missing.
COMMANDS = {
    "list": "list C",
    "list json": "list C --format json",
    "table": "table C",
    "table 80": "table C --width 80",
    "table --sort": "table C --sort registers",
    "table csv": "table C --format csv",
    "table json": "table C --format json",
    "table markdown": "table C --format markdown",
    "show": "show C #1",
    "diff A B": "diff C #1 #2",
    "diff OLD NEW": "diff C D",
    "diff OLD NEW json": "diff C D --format json",
    "why": "why C",
    "why A B": "why C #1 #2",
    "why json": "why C --format json",
    "check": "check C --expect registers<999",
    "lint": "lint C",
    "report html": "report C -o report.html --force",
    "report markdown": "report C --format markdown",
    "merge": "merge C D -o merged.irscope --force",
    "dump": "dump C -o dumped --force",
}
PYTHON = {
    "open": "irscope.open('C')",
    "open, names": "irscope.open('C').names",
    "open, table()": "irscope.open('C').table()",
    "open, variant": "c = irscope.open('C'); c.facts(c.variant('#7')); c.text(c.variant('#9'), 'ttgir')",
    "open, iterate": "sum(len(v.metadata) + len(v.cache_key) for v in irscope.open('C').variants)",
}


def write_capture(real: Path, path: Path, size: int) -> None:
    """A capture of `size` variants: those of `real`, in turn, with a GROUP_M and a `part` of their own."""
    with Workspace(real) as workspace, CaptureWriter.create(path, force=True) as writer:
        writer._db.execute("PRAGMA synchronous = OFF")
        good = [variant for variant in workspace.variants if variant.failure is None]
        stages = {v.id: {s: workspace.contents.read(v, s) or b"" for s in v.artifacts} for v in good}
        facts = {v.id: to_json(workspace.facts(v)) for v in good}
        owner, toolchain = good[0].kernel, good[0].toolchain
        kernel = writer.add_kernel(owner.source, owner.helpers, owner.parameters)
        tool = writer.add_toolchain(toolchain.versions, toolchain.command)
        for number in range(size):
            variant = good[number % len(good)]
            config = Config((*variant.config.values, ("PART", number // len(good))))
            new = NewVariant(
                target=variant.target,
                specialization=variant.specialization,
                config=config,
                metadata={**variant.metadata, "hash": f"{number:064x}"},
                seconds={name: each + number * 1e-9 for name, each in variant.seconds.items()},
                cache_key=variant.cache_key,
                log=variant.log,
                artifacts=stages[variant.id],
            )
            id_ = writer.add_variant(kernel, tool, toolchain.versions.get("triton", ""), new)
            values = facts[variant.id]
            own = {"registers": int(values["registers"] or 0) + number % 7, "code": f"{number // 2:064x}"}
            writer.add_facts(id_, FACTS_VERSION, {**values, **own})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("capture", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--only", nargs="+", help="only the commands that start with one of these")
    parser.add_argument("--folder", type=Path, default=None)
    args = parser.parse_args()
    folder: Path = args.folder or Path(tempfile.mkdtemp(prefix="irscope-scale-"))
    folder.mkdir(exist_ok=True)
    print(f"{'command':<20} {'variants':>9} {'CPU':>9} {'memory':>9} {'output':>12}", flush=True)
    for size in args.sizes:
        paths = {"C": folder / f"{size}.irscope", "D": folder / f"{size}-less.irscope"}
        for name, path in paths.items():
            if not path.exists():
                write_capture(args.capture, path, size - (name == "D"))
        runs = {name: _command(text, paths) for name, text in COMMANDS.items()}
        for name, text in PYTHON.items():
            code = f"import irscope; {text.replace(chr(39) + 'C', chr(39) + str(paths['C']))}"
            runs[name] = [sys.executable, "-c", code]
        for name, words in runs.items():
            if args.only and not name.startswith(tuple(args.only)):
                continue
            used = run(words, cwd=folder, codes=None)
            failed = f"  exit code {used.code}: {used.errors[-300:]}" if used.code else ""
            size_and_time = f"{size:>9,} {used.cpu:>7.2f} s {used.megabytes:>6.0f} MB"
            print(f"{name:<20} {size_and_time} {len(used.output):>12,}{failed}", flush=True)


def _command(text: str, paths: dict[str, Path]) -> list[str]:
    return [sys.executable, "-m", "irscope", *(str(paths.get(word, word)) for word in text.split())]


if __name__ == "__main__":
    main()
