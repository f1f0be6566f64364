"""The manifest of a warm folder: what it holds, and everything that Triton's keys of it depend on.

The file is `irscope-warm.json` in the folder. Components of cache keys that are equal in all entries are
stored once:

    {"format": 1, "irscope": "0.1.0", "common": {"triton": "7d1c...", "option debug": "False"},
     "entries": [{"kernel": "add_kernel", "folder": "OQ7C...", "components": {"type n": "i32"}, ...}],
     "stubs": [{"name": "cuda_utils", "folders": ["5BXU..."], ...}], ...}

`write_from_capture` writes the entry of a variant, `launcher_of` reads what the launcher of one depends on.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from irscope.compiling.toolchain.launch_stubs import Launcher
from irscope.jobs.warm import cache_folder
from irscope.model import UserError, Variant
from irscope.model.files import check_regular
from irscope.model.records import frozen
from irscope.store import CaptureReader
from irscope.targets import backend_of, parse_target

MANIFEST = "irscope-warm.json"
_FORMAT = 1


# Texts that name files and folders: what a file of somebody else may say is limited when it is read.
KernelName = str
EntryName = str
FileName = str
TargetName = str


@frozen
class HashedFunction:
    """A function of which Triton's key has the text: `digest` is the sha256 (hex) of its lines."""

    name: str
    file: str
    line: int
    digest: str


@frozen
class WarmEntry:
    """A kernel's entry in Triton's cache.

    `specialization` and `config` are text, as `irscope list` prints them. `folder` is the entry's name in the
    cache, `hash` the sha256 (hex) of Triton's key from which that is made. `types` are Triton's types of the
    parameters, in order. `components` are the components of the key by name
    (`toolchain.triton_cache.cache_key`). `sources` are the indices in `Manifest.sources`
    of the kernel and its helpers. `inputs` are the scripts and captures that asked for it. `size` is in
    bytes.
    """

    kernel: KernelName
    target: TargetName
    specialization: tuple[str, ...]
    config: str
    folder: EntryName
    hash: str
    size: int
    types: tuple[str, ...] = ()
    components: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()


@frozen
class WarmStub:
    """A shared object that Triton builds with the C compiler at first use, and the entries that have it.

    `name` is "cuda_utils", "hip_utils" or "__triton_launcher"; `file` is the name of the shared object.
    `source` is the sha256 (hex) of its C source. `folders` are equal entries: one per platform key and
    library folder that production may have.
    """

    name: str
    backend: str
    file: FileName
    source: str
    folders: tuple[EntryName, ...]
    size: int


@frozen
class Manifest:
    """The content of a warm folder and the machine that built it.

    `versions` are those of the capture (`triton`, `ptxas`, `python`, `torch`). `extension` is the suffix of
    Python's extension modules, which names its ABI; `platform` is Triton's platform key. `triton_path` is the
    folder of the installed package, `library_dirs` the folders of libcuda that the stubs were built for,
    `libhip` the paths of libamdhip64. `at` is the path that the entries name their files by.
    `choices` are files with autotuned choices, by their path in the folder, and the inputs they are for.
    """

    irscope: str = ""
    created: str = ""
    command: str = ""
    at: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    extension: str = ""
    platform: str = ""
    triton_path: str = ""
    library_dirs: tuple[tuple[str, ...], ...] = ()
    libhip: tuple[str, ...] = ()
    sources: tuple[HashedFunction, ...] = ()
    entries: tuple[WarmEntry, ...] = ()
    stubs: tuple[WarmStub, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the targets of the entries, each once."""
        return tuple(dict.fromkeys(entry.target for entry in self.entries))

    @property
    def backends(self) -> tuple[str, ...]:
        """Return the backends of the entries, each once."""
        return tuple(dict.fromkeys(target.partition(":")[0] for target in self.targets))

    @property
    def folders(self) -> frozenset[str]:
        """Return the names of all cache entries that the manifest knows."""
        stubs = (folder for stub in self.stubs for folder in stub.folders)
        return frozenset([*(entry.folder for entry in self.entries), *stubs])

    def foreign_entries(self, triton: str) -> list[WarmEntry]:
        """Return the entries that another build of Triton compiled than the one with this key."""
        return [entry for entry in self.entries if entry.components.get("triton", triton) != triton]


def text_digest(text: str) -> str:
    """Return the sha256 (hex) of a function's text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a folder, or return None if it has none.

    Raises UserError if it cannot be read.
    """
    path = folder / MANIFEST
    try:
        check_regular(path)
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read ({error}); build the folder again") from error
    try:
        if document["format"] != _FORMAT:
            raise UserError(f"{path}: made by another version of irscope; build the folder again")
        manifest, common = _record(Manifest, document), _texts(document["common"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path}: not a manifest of irscope warm; build the folder again") from error
    entries = (replace(e, components={**common, **e.components}) for e in manifest.entries)
    return replace(manifest, entries=tuple(entries))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest; a reader sees the old or the new one, whole."""
    components = [entry.components for entry in manifest.entries]
    common = dict(components[0]) if len(components) > 1 else {}
    for entry_components in components:
        common = {name: value for name, value in common.items() if entry_components.get(name) == value}
    entries = [
        replace(entry, components={n: v for n, v in entry.components.items() if common.get(n) != v})
        for entry in manifest.entries
    ]
    document = {"format": _FORMAT, **asdict(replace(manifest, entries=tuple(entries))), "common": common}
    path = folder / MANIFEST
    temporary = path.with_suffix(".json.tmp")
    temporary.write_text(json.dumps(document, indent=1))
    temporary.replace(path)


_Record = TypeVar("_Record", HashedFunction, WarmEntry, WarmStub, Manifest)


def _record(kind: type[_Record], document: Mapping[str, Any]) -> _Record:
    """Read a record. Raises KeyError, TypeError, ValueError or AttributeError if it is damaged."""
    return kind(**{f.name: _READERS[str(f.type)](document[f.name]) for f in fields(kind)})


def _all(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda values: tuple(map(read, values))


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in values.items()}


def entry_name(name: object) -> str:
    """`name`, which is the name of a cache entry. Raises ValueError if it is a path or anything else."""
    text = str(name)
    if not (text.isalnum() and text.isascii()):
        raise ValueError(text)
    return text


def _file_name(name: object) -> str:
    """Return the name of a file of an entry. Raise ValueError if it is a path."""
    text = str(name)
    if text in ("", ".", "..") or "/" in text or "\0" in text:
        raise ValueError(text)
    return text


def _choice_path(path: object) -> str:
    """Return the path of a file in an entry, `ENTRY/FILE`. Raise ValueError if it is another path."""
    entry, _, file = str(path).partition("/")
    return f"{entry_name(entry)}/{_file_name(file)}"


def _kernel_name(name: object) -> str:
    """Return the name of a kernel, which names files. Raise ValueError if it is not one of a function."""
    text = str(name)
    if not text.isidentifier():
        raise ValueError(text)
    return text


# How a field is read, by its type.
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "str": str,
    "int": int,
    "KernelName": _kernel_name,
    "TargetName": lambda text: str(parse_target(str(text))),
    "EntryName": entry_name,
    "FileName": _file_name,
    "tuple[str, ...]": _all(str),
    "tuple[int, ...]": _all(int),
    "tuple[EntryName, ...]": _all(entry_name),
    "tuple[tuple[str, ...], ...]": _all(_all(str)),
    "tuple[HashedFunction, ...]": _all(partial(_record, HashedFunction)),
    "tuple[WarmEntry, ...]": _all(partial(_record, WarmEntry)),
    "tuple[WarmStub, ...]": _all(partial(_record, WarmStub)),
    "Mapping[str, str]": _texts,
    "Mapping[str, tuple[str, ...]]": lambda choices: {
        _choice_path(path): _all(str)(names) for path, names in choices.items()
    },
}


# The keys that irscope adds to Triton's metadata.
_OWN_METADATA = frozenset(["origin"])


def write_from_capture(entry: Path, variant: Variant, reader: CaptureReader) -> str:
    """Write an entry with the stages that the capture has.

    Return why that is impossible, or "".
    """
    name, backend = variant.kernel.source.name, backend_of(variant.target)
    stage_names = [
        "source",
        "ttir",
        "ttgir",
        "llir",
        *(s.name for s in backend.stages if s.derived_from is None),
    ]
    stages = {stage: reader.read(variant, stage) for stage in stage_names}
    files = {stage: content for stage, content in stages.items() if content is not None}
    if backend.binary not in files or not {"shared", "name", "target"} <= set(variant.metadata):
        missing = backend.binary if backend.binary not in files else "launch metadata"
        maker = (
            f" (the capture was made by: {variant.toolchain.command})" if variant.toolchain.command else ""
        )
        return f"the capture has no {missing}; give irscope warm the program instead{maker}"
    metadata = {k: v for k, v in variant.metadata.items() if k not in _OWN_METADATA}
    cache_folder.write_entry(entry, name, files | {"json": json.dumps(metadata).encode()})
    return ""


def parameter_types(variant: Variant) -> tuple[str, ...]:
    """Return Triton's types of the parameters.

    They are those of its key if the capture has them, else those of the specialization.
    """
    types = {argument.name: argument.type for argument in variant.specialization}
    return tuple(
        variant.cache_key.get(f"type {name}") or types.get(name, "constexpr")
        for name in variant.kernel.parameters
    )


def launcher_of(folder: Path, entry: WarmEntry) -> Launcher:
    """Return the launcher of an entry: its backend, types, tensor descriptors and warp size."""
    target = parse_target(entry.target)
    try:
        stem = cache_folder.file_stem(entry.kernel)
        metadata = cache_folder.read_json(folder / f"{stem}.json")
    except (OSError, ValueError):
        metadata = {}
    meta = metadata.get("tensordesc_meta")
    types = tuple(map(_type, entry.types))
    return Launcher(target.backend, types, json.dumps(meta) if meta else "", target.warp_size)


def _type(text: str) -> Any:
    """Return a type of Triton's as its signature has it; those of a tuple are written as one."""
    if not text.startswith("("):
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
