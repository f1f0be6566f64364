"""The kernels of the corpus: their files, and how to compile each without a launch."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from irscope.model import Value

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
SAMPLES = HERE.parent.parent / "samples"

TARGETS = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942")
HOPPER = ("cuda:90", "cuda:100")
NVIDIA = ("cuda:80", "cuda:90", "cuda:100")
# The modules that kernels import from their own folder.
_SHARED_MODULES = ("shared_helpers",)


@dataclass(frozen=True)
class Case:
    """A kernel, and one compilation of it.

    `signature` is Triton's ahead-of-time notation; `config` has one value per meta-parameter and option;
    `targets` are those it compiles for.
    """

    file: Path
    kernel: str
    signature: str
    config: Mapping[str, Value] = field(default_factory=dict)
    targets: tuple[str, ...] = TARGETS

    @property
    def name(self) -> str:
        """The file and the kernel: `norms.rms_norm_kernel`."""
        return f"{self.file.stem}.{self.kernel}"


def cases(pattern: str = "*", folder: Path | None = None) -> list[Case]:
    """The kernels of the corpus, those of `samples`, and those of `folder`, whose names match a glob."""
    from tests.truth.sample_cases import SAMPLE_CASES

    files = sorted(KERNELS.glob("*.py")) + (sorted(folder.glob("*.py")) if folder else [])
    found = [*SAMPLE_CASES, *(case for file in files for case in _cases_of(file))]
    return [case for case in found if fnmatchcase(case.kernel, pattern) or fnmatchcase(case.name, pattern)]


def load(file: Path) -> ModuleType:
    """The module of a file, imported anew; files in its folder are imported anew too."""
    sys.path.insert(0, str(file.parent))
    for name in _SHARED_MODULES:
        sys.modules.pop(name, None)
    try:
        spec = spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise ImportError(file)
        module = module_from_spec(spec)
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(file.parent))
        for name in (file.stem, *_SHARED_MODULES):
            sys.modules.pop(name, None)


def _cases_of(file: Path) -> list[Case]:
    """The cases that a file lists: `CASES = [("kernel", "signature", {config}), ...]`."""
    listed = getattr(load(file), "CASES", [])
    return [Case(file, *case) for case in listed]
