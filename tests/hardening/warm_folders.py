"""Warm folders whose manifest and group files anybody may have written: nothing outside of them changes."""

from __future__ import annotations

import hashlib
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

from irscope.jobs.warm import relocate
from irscope.jobs.warm.manifest import MANIFEST, read_manifest
from irscope.model import UserError
from tests.hardening.captures import with_leaf
from tests.hardening.hostile import VALUES, json_text

_NAME, _HERE = "A" * 52, "B" * 52
_PATHS = (
    *("..", ".", "", "/", "/etc/passwd", "../outside", "../../outside", f"{_NAME}/../../outside", "a/b"),
    *("~", "C:\\x", "\0", "\ud800", "a\nb", "x" * 5000, "irscope-warm.json", "relocate.py", "link", "-rf"),
)


def relocated(rng: random.Random, folder: Path) -> None:
    """Reads and relocates a hostile folder; its neighbor keeps its content."""
    outside, warm = folder / "outside", folder / "warm"
    outside.write_text("mine")
    _write(rng, warm, folder)
    before = _state(folder, warm)
    with suppress(UserError):
        read_manifest(warm)
    with suppress(OSError, UserError):
        relocate.relocate(warm)
    # As if this machine looked for the driver module under a name of its own.
    with suppress(OSError, UserError), mock.patch.object(relocate, "_names_here", lambda *_: [_HERE]):
        relocate.add_driver_modules(warm)
    assert _state(folder, warm) == before, "something outside of the warm folder changed"


def _state(folder: Path, warm: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
        if not path.is_relative_to(warm)
    }


def _write(rng: random.Random, warm: Path, folder: Path) -> None:
    entry = warm / _NAME
    entry.mkdir(parents=True)
    (entry / "k.cubin").write_bytes(b"\x7fELF")
    names: Any = {"k.cubin": f"/old/{_NAME}/k.cubin", "k.ptx": f"/old/{_NAME}/k.ptx"}
    if rng.random() < 0.5:
        first, second = rng.choice(_PATHS), rng.choice(_PATHS)
        names = rng.choice(({first: second}, rng.choice(VALUES), [first]))
    (entry / "__grp__k.json").write_text(json_text({"child_paths": names}), errors="replace")
    if rng.random() < 0.3:
        (warm / "link").symlink_to(rng.choice((folder, folder / "outside", warm, "/")))
    if rng.random() < 0.2:
        (entry / "__grp__l.json").symlink_to(folder / "outside")
    (warm / MANIFEST).write_text(_manifest(rng), errors="replace")


def _manifest(rng: random.Random) -> str:
    lists: list[Any] = []
    stub = {"name": "cuda_utils", "folders": [_NAME], "file": "cuda_utils.so", "source": "0" * 64}
    entry = dict.fromkeys(("specialization", "types", "sources", "inputs"), lists) | {"components": {}}
    entry |= {"kernel": "k", "target": "cuda:90", "config": "", "folder": _NAME, "hash": "0" * 64, "size": 4}
    document: Any = {"format": 1, "irscope": "0.1.0", "common": {}, "entries": [entry], "stubs": [stub]}
    document |= {"sources": [], "libhip": [""], "library_dirs": [[]], "platform": "x", "triton_path": "/old"}
    for _ in range(rng.randrange(4)):
        document = with_leaf(rng, document, rng.choice((*_PATHS, *VALUES)))
    if rng.random() < 0.3:
        stub["file"], stub["folders"] = rng.choice(_PATHS), [rng.choice(_PATHS)]
    with suppress(ValueError):
        return json.dumps(document) if rng.random() < 0.9 else json.dumps(document)[: rng.randrange(400)]
    return json_text(document)
