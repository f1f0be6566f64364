"""What TRITON_KERNEL_DUMP=1 leaves: a folder a kernel and signature, with the stages and no metadata.

The folder's name is the hash of source, signature and constants, not of the options, so configs that
differ in num_warps or num_stages overwrite each other: the last one is there.
"""

from __future__ import annotations

import re
from typing import Any

from irscope.capturing.importers.compilation import RawCompilation, config_options, target_of
from irscope.capturing.importers.entry_folders import EntryFolder
from irscope.capturing.importers.untrusted import BadEntryError

_MODULE = re.compile(rb"^module attributes \{([^\n]{0,4000})", re.MULTILINE)
# The attributes of a TTGIR module by the names that Triton's metadata has for them.
_ATTRIBUTES = {
    "num_warps": re.compile(rb'"ttg\.num-warps" = (\d{1,9}) : i32'),
    "num_ctas": re.compile(rb'"ttg\.num-ctas" = (\d{1,9}) : i32'),
    "maxnreg": re.compile(rb"ttg\.maxnreg = (\d{1,9}) : i32"),
    "warp_size": re.compile(rb'"ttg\.threads-per-warp" = (\d{1,9}) : i32'),
}
# What a dump's folder is named by (`ASTSource.hash`): the component of Triton's cache key without options.
DUMP_KEY = "source, types and constants"
_TARGET = re.compile(rb'ttg\.target = "(\w{1,20}):([\w:+-]{1,60})"')


def dump_remains(entry: EntryFolder, stem: str) -> RawCompilation:
    """What one folder of a dump has of the kernel whose files are called `stem`. Raises BadEntryError."""
    artifacts = entry.read_stages(stem)
    metadata = _module_metadata(artifacts.get("ttgir", b""))
    return RawCompilation(
        key=entry.path.name,
        name=stem,
        target=target_of(metadata["target"]),
        options=config_options(metadata),
        artifacts=artifacts,
        metadata=metadata,
        cache_key={DUMP_KEY: entry.path.name},
        cached=False,
    )


def _module_metadata(ttgir: bytes) -> dict[str, Any]:
    """What the attributes of the module say, by the names of Triton's metadata. Raises BadEntryError."""
    module = _MODULE.search(ttgir)
    target = _TARGET.search(module[1]) if module else None
    if module is None or target is None:
        raise BadEntryError("no TTGIR module that names its target")
    metadata: dict[str, Any] = {"target": {"backend": target[1].decode(), "arch": target[2].decode()}}
    for name, attribute in _ATTRIBUTES.items():
        if found := attribute.search(module[1]):
            metadata[name] = int(found[1])
    return metadata
