"""Handmade cache folders with real stages, for cases that a real cache does not have."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

STAGES = Path(__file__).parents[1] / "data" / "stages"
ADD = "add_kernel.cuda-90.BLOCK_SIZE={block},num_warps=4.triton-3.9.0.{stage}"


def stage(name: str, block: int = 1024) -> bytes:
    """A real stage of the add kernel."""
    return (STAGES / ADD.format(block=block, stage=name)).read_bytes()


def metadata(key: str, **more: Any) -> dict[str, Any]:
    """The part of Triton 3.9's metadata of the add kernel that an import reads."""
    record = {
        "hash": hashlib.sha256(key.encode()).hexdigest(),
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
        "name": "add_kernel",
        "num_warps": 4,
        "num_stages": 3,
        "num_ctas": 1,
        "maxnreg": None,
        "triton_version": "3.9.0",
    }
    return record | more


def write_entry(cache: Path, key: str, block: int = 1024, **more: Any) -> Path:
    """One entry of a cache: metadata, TTIR and PTX."""
    folder = cache / key
    folder.mkdir(parents=True)
    (folder / "add_kernel.json").write_text(json.dumps(metadata(key, **more)))
    for name in ("ttir", "ptx"):
        (folder / f"add_kernel.{name}").write_bytes(stage(name, block))
    return folder
