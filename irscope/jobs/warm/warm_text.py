"""Text of `irscope warm`: what a build did, and how large the folder is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from irscope.jobs.warm.build import WarmResult
from irscope.jobs.warm.manifest import Manifest, WarmEntry
from irscope.model.text import pluralize, printable

_UNITS = ("B", "kB", "MB", "GB")


def result_text(folder: Path, result: WarmResult) -> str:
    """Return the counts of a build, the folder's sizes, and how to use it."""
    lines = [_counts(folder, result)]
    if result.manifest.entries:
        notes = map(printable, result.notes)
        lines += [*size_lines(result.manifest), *notes, *_use(folder, result.manifest)]
    return "\n".join(lines)


def _counts(folder: Path, result: WarmResult) -> str:
    done = {
        "compiled": result.compiled,
        "written from captures": result.written,
        "there already": result.kept,
        "removed": result.removed,
        "failed": len(result.failures),
    }
    counts = ", ".join(f"{number} {what}" for what, number in done.items() if number)
    if not result.manifest.entries:
        return printable(f"{folder}: no kernel{counts and ': ' + counts}")
    entries = pluralize(len(result.manifest.entries), "variant")
    return printable(f"{folder}: {entries} for {', '.join(result.manifest.targets)}: {counts}")


def new_entry_text(entry: WarmEntry) -> str:
    """Return an entry that the folder lacked, in one line with the inputs that need it."""
    inputs = ", ".join(entry.inputs)
    return f"not in the folder before: {entry.kernel} {entry.target} ({entry.config}), for {inputs}"


def size_lines(manifest: Manifest) -> Iterator[str]:
    """Yield a line per kernel with its variants and bytes, the largest first, and one for the stubs."""
    sizes: dict[str, list[int]] = {}
    for entry in manifest.entries:
        sizes.setdefault(entry.kernel, []).append(entry.size)
    rows = [(name, pluralize(len(of), "variant"), sum(of)) for name, of in sizes.items()]
    rows.sort(key=lambda row: -row[2])
    for name in dict.fromkeys(stub.name for stub in manifest.stubs):
        stubs = [stub for stub in manifest.stubs if stub.name == name]
        entries = pluralize(sum(len(stub.folders) for stub in stubs), "entry")
        rows.append((name, entries, sum(stub.size for stub in stubs)))
    rows.append(("total", "", sum(size for _, _, size in rows)))
    width = max(len(name) for name, _, _ in rows)
    for name, count, size in rows:
        yield printable(f"  {name:{width}}  {size_text(size):>8}  {count}").rstrip()


def size_text(size: int) -> str:
    """Return a number of bytes with three digits."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.{0 if unit == 0 or value >= 100 else 1}f} {_UNITS[unit]}"


def _use(folder: Path, manifest: Manifest) -> Iterator[str]:
    yield printable(
        f"production: TRITON_CACHE_DIR={manifest.at}; check there: irscope warm --verify {folder}"
    )
    yield "if the folder moves: python3 relocate.py in it, or build with --at PATH"
