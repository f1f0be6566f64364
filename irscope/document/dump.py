"""`irscope dump`: the paths of a dump's files, and its index. Does not touch the disk.

Names from a capture as parts of file paths: readable if harmless, and never outside of a folder.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irscope.document.json.records import kernel_record, variant_record, variants_by_kernel
from irscope.model import Kernel, Variant

# Everything but ASCII letters, digits and the punctuation of configs, which are kept.
_UNSAFE = re.compile(r"[^A-Za-z0-9_.,=+@#()\[\]-]|^[.-]|\.$")
# File systems allow 255 bytes per part; this leaves room for an extension and a number.
MAX_BYTES = 150
_HASH_DIGITS = 8
# Names that Windows reserves for devices, with any extension, and the name of the dump's own index.
_RESERVED = re.compile(r"(?i:(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)|index\.json$)")


def path_part(text: str) -> str:
    """`text` as one part of a path: no separator, no control character, no "..", at most MAX_BYTES.

    A changed name keeps its readable characters and gets a short hash, so different names stay different.
    """
    part = _UNSAFE.sub("_", unicodedata.normalize("NFC", text))
    if part == text and 0 < len(part) <= MAX_BYTES and not _RESERVED.match(part):
        return part
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    lead = "_" if _RESERVED.match(part) else ""
    return f"{lead}{part[: MAX_BYTES - _HASH_DIGITS - 2]}~{digest}"


def unique_paths(paths: Iterable[tuple[int, str]]) -> dict[int, str]:
    """Return (number, path) pairs as number -> path, unique on a file system that ignores case.

    The first keeps its path, later ones get their number: `a`, `A,#7`.
    """
    used: set[str] = set()
    result: dict[int, str] = {}
    for number, path in paths:
        unique = path
        while unique.casefold() in used:
            unique += f",#{number}"
        used.add(unique.casefold())
        result[number] = unique
    return result


SCHEMA = "irscope.dump/1"
INDEX = "index.json"


@dataclass(frozen=True)
class DumpPlan:
    """Paths relative to the dump's folder, with forward slashes.

    `sources` maps kernel ids to the file with the kernel's Python, `folders` variant ids to folders.
    """

    sources: Mapping[int, str]
    folders: Mapping[int, str]

    def file(self, variant: Variant, extension: str) -> str:
        """Return the path of a variant's stage: `FOLDER/KERNEL.EXTENSION`."""
        return f"{self.folders[variant.id]}/{path_part(variant.kernel.name)}.{extension}"

    def text(self, variant: Variant, name: str) -> str:
        """Return the path of a text such as "error".

        It is not a stage; no stage has the extension .txt.
        """
        return f"{self.folders[variant.id]}/{name}.txt"


def plan(variants: Sequence[Variant]) -> DumpPlan:
    """Return the paths for `variants`: KERNEL/TARGET/CONFIG, with the variant's number if not unique."""
    kernels: dict[int, Kernel] = {variant.kernel.id: variant.kernel for variant in variants}
    sources = unique_paths(
        (kernel.id, f"{path_part(kernel.name)}/{path_part(kernel.name)}") for kernel in kernels.values()
    )
    folders = unique_paths((variant.id, _folder(variant)) for variant in variants)
    return DumpPlan({id_: f"{path}.py" for id_, path in sources.items()}, folders)


def index_document(
    variants: Sequence[Variant],
    names: Mapping[int, str],
    capture: str,
    plan: DumpPlan,
    files: Mapping[int, Mapping[str, str]],
) -> dict[str, Any]:
    """Return the content of index.json.

    `names` maps variant ids to short names, `files` to the written files: stage (or "metadata",
    "error", "log", "output") -> path.
    """
    kernels = []
    for kernel, group in variants_by_kernel(variants).items():
        records = [
            {
                **variant_record(variant, names[variant.id]),
                "folder": plan.folders[variant.id],
                "files": dict(files.get(variant.id, {})),
            }
            for variant in group
        ]
        kernels.append({**kernel_record(kernel), "source": plan.sources[kernel.id], "variants": records})
    return {"schema": SCHEMA, "capture": capture, "kernels": kernels}


def _folder(variant: Variant) -> str:
    target = str(variant.target).replace(":", "-")
    config = str(variant.config) or "default"
    return "/".join(map(path_part, (variant.kernel.name, target, config)))
