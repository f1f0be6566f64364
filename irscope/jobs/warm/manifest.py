"""The manifest of a warm folder: what it holds, and everything that Triton's keys of it depend on.

The file is `irscope-warm.json` in the folder. Components of cache keys that are equal in all entries are
stored once:

    {"format": 1, "irscope": "0.1.0", "common": {"triton": "7d1c...", "option debug": "False"},
     "entries": [{"kernel": "add_kernel", "folder": "OQ7C...", "components": {"type n": "i32"}, ...}],
     "stubs": [{"name": "cuda_utils", "folders": ["5BXU..."], ...}], ...}

Entries of a warm folder, from the variants of a capture.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from irscope.compiling.toolchain.launch_stubs import BuiltStub, Launcher
from irscope.jobs.warm import cache_folder
from irscope.model import UserError, Variant
from irscope.model.files import check_regular
from irscope.store import CaptureReader
from irscope.targets import backend_of, parse_target

MANIFEST = "irscope-warm.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class HashedFunction:
    """A function of which Triton's key has the text: `digest` is the sha256 (hex) of its lines."""

    name: str
    file: str
    line: int
    digest: str


@dataclass(frozen=True, slots=True)
class WarmEntry:
    """A kernel's entry in Triton's cache.

    `specialization` and `config` are text, as `irscope list` prints them. `folder` is the entry's name in the
    cache, `hash` the sha256 (hex) of Triton's key from which that is made. `types` are Triton's types of the
    parameters, in order. `components` are the components of the key by name
    (`toolchain.triton_cache.cache_key`). `sources` are the indices in `Manifest.sources`
    of the kernel and its helpers. `inputs` are the scripts and captures that asked for it. `size` is in
    bytes.
    """

    kernel: str
    target: str
    specialization: tuple[str, ...]
    config: str
    folder: str
    hash: str
    size: int
    types: tuple[str, ...] = ()
    components: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WarmStub:
    """A shared object that Triton builds with the C compiler at first use, and the entries that have it.

    `name` is "cuda_utils", "hip_utils" or "__triton_launcher"; `file` is the name of the shared object.
    `source` is the sha256 (hex) of its C source. `folders` are equal entries: one per platform key and
    library folder that production may have.
    """

    name: str
    backend: str
    file: str
    source: str
    folders: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
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
    def folders(self) -> frozenset[str]:
        """Return the names of all cache entries that the manifest knows."""
        stubs = (folder for stub in self.stubs for folder in stub.folders)
        return frozenset([*(entry.folder for entry in self.entries), *stubs])


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
        return _manifest_from(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path}: not a manifest of irscope warm; build the folder again") from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest; a reader sees the old or the new one, whole."""
    common = common_components(entry.components for entry in manifest.entries)
    entries = [
        replace(entry, components={n: v for n, v in entry.components.items() if common.get(n) != v})
        for entry in manifest.entries
    ]
    document = {"format": _FORMAT, **asdict(replace(manifest, entries=tuple(entries))), "common": common}
    path = folder / MANIFEST
    temporary = path.with_suffix(".json.tmp")
    temporary.write_text(json.dumps(document, indent=1))
    temporary.replace(path)


def common_components(components: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the components that have one value in all of them; those of one entry are not common."""
    maps = list(components)
    if len(maps) < 2:
        return {}
    return {
        n: v for n, v in maps[0].items() if all(entry_components.get(n) == v for entry_components in maps)
    }


def _manifest_from(document: Mapping[str, Any]) -> Manifest:
    common = _texts(document["common"])
    return Manifest(
        **{name: str(document[name]) for name in _TEXTS},
        versions=_texts(document["versions"]),
        library_dirs=tuple(tuple(map(str, dirs)) for dirs in document["library_dirs"]),
        libhip=tuple(map(str, document["libhip"])),
        sources=tuple(
            HashedFunction(str(s["name"]), str(s["file"]), int(s["line"]), str(s["digest"]))
            for s in document["sources"]
        ),
        entries=tuple(_entry(table, common) for table in document["entries"]),
        stubs=tuple(_stub(table) for table in document["stubs"]),
        choices={_choice_path(path): tuple(map(str, names)) for path, names in document["choices"].items()},
    )


_TEXTS = ("irscope", "created", "command", "at", "extension", "platform", "triton_path")


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in values.items()}


def _entry(of: Mapping[str, Any], common: Mapping[str, str]) -> WarmEntry:
    return WarmEntry(
        kernel=_kernel_name(of["kernel"]),
        target=str(parse_target(str(of["target"]))),
        specialization=tuple(map(str, of["specialization"])),
        config=str(of["config"]),
        folder=entry_name(of["folder"]),
        hash=str(of["hash"]),
        size=int(of["size"]),
        types=tuple(map(str, of["types"])),
        components={**common, **_texts(of["components"])},
        sources=tuple(map(int, of["sources"])),
        inputs=tuple(map(str, of["inputs"])),
    )


def _stub(of: Mapping[str, Any]) -> WarmStub:
    return WarmStub(
        name=str(of["name"]),
        backend=str(of["backend"]),
        file=_file_name(of["file"]),
        source=str(of["source"]),
        folders=tuple(map(entry_name, of["folders"])),
        size=int(of["size"]),
    )


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


def config_key(variant: Variant) -> tuple[Any, ...]:
    """Return the config, in any order of its names."""
    return tuple(sorted((name, str(value)) for name, value in variant.config.values))


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


def warm_stub(stub: BuiltStub) -> WarmStub:
    """Return a stub as the manifest has it."""
    return WarmStub(stub.name, stub.backend, stub.file, stub.source, stub.folders, stub.size)
