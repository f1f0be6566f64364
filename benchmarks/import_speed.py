"""Measures how fast `irscope import` reads a Triton cache, and how often it opens each file.

  python -m benchmarks.import_speed [ENTRIES]

Compiles a few kernels, copies their entries until there are ENTRIES (2,000), with the kernel's name changed
in every file so that no two stages are equal, and imports the folder in a separate process. Prints seconds,
entries per second, files and bytes, files opened and the maximum number of opens of one file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.compile_commands import MATMUL_SIGNATURE, SAMPLES, compile_command
from benchmarks.processes import run
from irscope.store import CaptureReader

KERNELS = (
    ("vector_add.py", "*fp32:16, *fp32:16, *fp32:16, i32:16", {"BLOCK_SIZE": (256, 1024)}),
    ("fused_softmax.py", "*fp32:16, *fp32:16, i32:16, i32:16, i32:16", {"BLOCK_SIZE": (1024, 4096)}),
    ("matmul.py", MATMUL_SIGNATURE, {"num_stages": (2, 3)}),
)
# Counts every file that Python opens below the folder, by path.
COUNTING = """
import collections, json, sys
opens = collections.Counter()
folder = sys.argv.pop(1)
def hook(event, arguments):
    if event == "open" and str(arguments[0]).startswith(folder + "/"):
        opens[str(arguments[0])] += 1
sys.addaudithook(hook)
from irscope.cli.main import main
code = main(sys.argv[1:])
print("COUNTED", json.dumps([len(opens), max(opens.values())]))
sys.exit(code)
"""


def compile_entries(folder: Path) -> list[Path]:
    """A few real entries: the folders that compiling KERNELS leaves in a cache."""
    for file, signature, axes in KERNELS:
        capture = folder / "made.irscope"
        command = compile_command(SAMPLES / file, axes, capture, "--signature", signature)
        run(command, environment=os.environ | {"TRITON_CACHE_DIR": str(folder / "made")})
    return sorted({path.parent for path in (folder / "made").glob("*/*.ttir")})


def copy_entry(entry: Path, number: int, target: Path) -> None:
    """The entry under another hash, with the kernel's name changed in all of its files."""
    metadata = next(path for path in entry.glob("*.json") if not path.name.startswith(("__", "irscope")))
    old = json.loads(metadata.read_text())["name"]
    new = f"k{number:0{len(old) - 1}d}"  # as long as the old one: binaries keep their offsets
    digest = hashlib.sha256(b"%d" % number).hexdigest()
    copy = target / base64.b32encode(bytes.fromhex(digest)).decode().rstrip("=")
    copy.mkdir()
    for path in entry.iterdir():
        content = path.read_bytes().replace(old.encode(), new.encode())
        if path == metadata:
            content = json.dumps(json.loads(content) | {"hash": digest}).encode()
        (copy / path.name.replace(old, new)).write_bytes(content)


def main() -> None:
    """Makes the folder, imports it and prints the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entries = compile_entries(folder)
        cache = folder / "cache"
        cache.mkdir()
        for number in range(count):
            copy_entry(entries[number % len(entries)], number, cache)
        sizes = [path.stat().st_size for path in cache.glob("*/*")]
        capture = folder / "imported.irscope"
        command = [sys.executable, "-c", COUNTING, str(cache), "import", str(cache), "-o", str(capture)]
        done = run(command)
        opened, most = json.loads(done.output.rpartition("COUNTED")[2])
        with CaptureReader(capture) as imported:
            variants = len(imported.variants())
        print(f"entries         {count:,}, from {len(entries)} real ones; {variants:,} imported")
        print(f"files           {len(sizes):,}, {sum(sizes):,} bytes")
        print(f"import          {done.wall:.1f} s, {count / done.wall:.0f} entries per second")
        print(f"files opened    {opened:,}, none over {most} time")
        print(f"capture         {capture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
