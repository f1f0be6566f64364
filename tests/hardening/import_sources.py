"""Sources of `irscope import`, of all three kinds: caches, dump folders and traces, with damaged parts."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
from pathlib import Path

from tests.hardening.captures import with_leaf
from tests.hardening.hostile import TEXTS, VALUES, json_text
from tests.hardening.views import VIEWS, run

_TRACE = Path(__file__).parents[1] / "data" / "import" / "tritonparse-0.6.0.ndjson"
_STAGES = Path(__file__).parents[1] / "data" / "stages"
_ADD = "add_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0."


def damaged(rng: random.Random, folder: Path) -> None:
    """Imports a source with damaged parts; what was imported can be listed."""
    source = folder / "source"
    rng.choice((_cache, _dump, _trace))(rng, source)
    capture = folder / "imported.irscope"
    run(("import", str(source), "-o", str(capture), "--force"), capture, folder)
    if capture.exists():
        run(rng.choice(VIEWS), capture, folder)
        code, _ = run(VIEWS[0], capture, folder)
        assert code == 0, "an import writes what can be read"


def _metadata(rng: random.Random) -> str:
    record: object = {
        "hash": hashlib.sha256(rng.randbytes(4)).hexdigest(),
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
        "name": "add_kernel",
        "num_warps": 4,
        "num_stages": 3,
        "num_ctas": 1,
        "maxnreg": None,
        "triton_version": "3.9.0",
        "shared": 0,
    }
    for _ in range(rng.choice((0, 1, 1, 3))):
        record = with_leaf(rng, record, rng.choice(VALUES))
    return json_text(record)


def _cache(rng: random.Random, source: Path) -> None:
    for _ in range(rng.randrange(1, 3)):
        entry = source / base64.b32encode(rng.randbytes(32)).decode().rstrip("=")
        _write_entry(rng, entry, with_metadata=True)


def _dump(rng: random.Random, source: Path) -> None:
    _write_entry(rng, source / hashlib.sha256(rng.randbytes(4)).hexdigest(), with_metadata=False)


def _write_entry(rng: random.Random, entry: Path, with_metadata: bool) -> None:
    entry.mkdir(parents=True)
    name = "add_kernel" if rng.random() < 0.9 else "x" * rng.randrange(1, 200)
    if with_metadata:
        _write(rng, entry / f"{name}.json", _metadata(rng).encode("utf-8", "surrogatepass"))
    for stage in ("ttir", "ttgir", "llir", "ptx"):
        _write(rng, entry / f"{name}.{stage}", (_STAGES / (_ADD + stage)).read_bytes())
    if rng.random() < 0.2:
        _write(
            rng,
            entry / f"{name}.autotune.json",
            json_text(rng.choice(VALUES)).encode("utf-8", "surrogatepass"),
        )
    if rng.random() < 0.2:
        _write(
            rng,
            entry / "irscope.json",
            json_text({"log": rng.choice(VALUES), "seconds": rng.choice(VALUES)}).encode(),
        )


def _write(rng: random.Random, path: Path, content: bytes) -> None:
    match rng.randrange(30):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to("/etc/passwd")
        case 2:
            path.mkdir()
        case 3:
            path.write_bytes(content[: rng.randrange(len(content) + 1)])
        case 4:
            path.write_bytes(rng.randbytes(200) + content)
        case 5:
            path.write_bytes(rng.choice(TEXTS).encode("utf-8", "surrogatepass"))
        case _:
            path.write_bytes(content)


def _trace(rng: random.Random, source: Path) -> None:
    lines = _TRACE.read_text().splitlines()
    kept = [rng.choice(lines) for _ in range(rng.randrange(1, 4))]
    for index in range(len(kept)):
        if rng.random() < 0.7:
            record = json.loads(kept[index])
            for _ in range(rng.randrange(1, 4)):
                record = with_leaf(rng, record, rng.choice(VALUES))
            kept[index] = json_text(record)
    content = "\n".join(kept).encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        content = content[: rng.randrange(len(content))]
    packed = rng.random() < 0.3
    content = gzip.compress(content, 1) if packed else content
    if packed and rng.random() < 0.2:
        content = content[: rng.randrange(len(content))]
    source.mkdir()
    (source / f"trace.ndjson{'.gz' if packed else ''}").write_bytes(content)
