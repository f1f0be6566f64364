"""The fastest config of each size by estimate, with the names that serving systems give to its values.

vLLM and sglang load a JSON file per problem and device, which has a config for each number of rows M:

    E=128,N=768,device_name=NVIDIA_H200,dtype=fp8_w8a8.json    {"64": {"BLOCK_SIZE_M": 16, ...}, ...}

What is in a name (E, N, dtype) and what a config has (BLOCK_SIZE_M) are expressions of the launch and of the
kernel's own constants, which the user writes: nothing is guessed from similar names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.model import Launch, UserError, Variant
from irscope.model.records import frozen, grouped
from irscope.model.text import one_line
from irscope.workspace.launch_expression import (
    LaunchExpression,
    evaluate,
    named_entries,
    number_constants,
    parse_launch,
    tensor_elements,
)
from irscope.workspace.picking import Choice, Pick, Report, asked_problems, device_named, picks
from irscope.workspace.problem_sizes import Problem

if TYPE_CHECKING:
    from irscope.estimating.constants import DeviceRates
    from irscope.workspace.workspace import Workspace

Entry = tuple[tuple[str, int], ...]

_OPTION = "--keys"
_REQUIRED = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
# The options of AMD's compiler, which the metadata of each variant for AMD has.
_AMD = ("waves_per_eu", "matrix_instr_nonkdim", "kpack")
# What the sorted element types of a kernel's tensors match, by the type of the file. vLLM has none for two
# tensors of int8. Both systems check that two weights of int4 are in an element; MXFP4 may be simulated in
# bf16.
_EIGHT_BITS = {"fp8_w8a8": r"fp8\S* fp8", "int8_w8a8": r"\b[iu]8 [iu]8\b"}
_ELEMENTS = {
    "": r"^(?!.*fp8).*(bf|fp)16",
    "float32": r"^(?!.*(16|fp8)).*fp32",
    **_EIGHT_BITS,
    "int8_w8a16": r"(bf|fp)16 .*\b[iu]8\b",
    "int4_w4a16": r"(bf|fp)16 .*\b[iu]8\b",
    "int4_w4a8": r"(fp8.*|\b[iu]8 )\b[iu]8\b",
    "mxfp4_w4a4": r"(bf|fp)16|\b[iu]8\b",
    "mxfp4_w4a16": r"(bf|fp)16|\b[iu]8\b",
}
_FLAGS = ("per_channel_quant", "down")
_SIZE = "M"
# A part of a file name: what the names of GPUs and types have.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.()+-]{0,99}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_MOST_LETTERS = 100


@frozen
class FileKind:
    """A kind of file: the sizes that name it, and the types that it may be for ("": none).

    `types` map each to what the sorted element types of the kernel's tensors match. `texts` are the keys that
    are not numbers; the type is that of the first one.
    """

    text: str
    sizes: tuple[str, ...]
    types: Mapping[str, str]
    texts: tuple[str, ...] = ("dtype", "device_name", "block_shape")


MOE = FileKind("a fused MoE product", ("E", "N"), _ELEMENTS)
PRODUCT = FileKind("a block-scaled product", ("N", "K"), _EIGHT_BITS)
# `vllm/model_executor/layers/mamba/ops/mamba_ssm.py`: only the state has that type.
STATE = FileKind(
    "a Mamba state update",
    ("headdim", "dstate"),
    {"float16": "(bf|fp)16", "float32": "fp32"},
    ("cache_dtype", "device_name"),
)


@frozen
class ServingSystem:
    """A system that loads such files. `optional` are keys that a config may have, `devices` its own names.

    `separator` is between the two numbers of a block shape; `folder` is where the files of fused MoE products
    are, with the version of Triton as `{triton}`; `kinds` are the files that it has.
    """

    name: str
    optional: tuple[str, ...]
    devices: Mapping[str, str]
    separator: str
    folder: str
    kinds: tuple[FileKind, ...] = (MOE, PRODUCT)


# vLLM names AMD's GPUs by their PCI ids (`vllm/platforms/rocm.py`), the others by their drivers.
VLLM = ServingSystem(
    "vllm",
    ("SPLIT_K",),
    {
        "AMD Radeon RX 7900 XTX": "AMD_Radeon_RX7900XTX",
        "AMD Radeon AI PRO R9700": "AMD_Radeon_R9700",
        "AMD Instinct MI355X": "AMD_Instinct_MI355_OAM",
    },
    ",",
    "",
    (MOE, PRODUCT, STATE),
)
SGLANG = ServingSystem("sglang", ("USE_TMA",), {}, ", ", "configs/triton_{triton}/")
SYSTEMS = {system.name: system for system in (VLLM, SGLANG)}


@frozen
class TunedSize:
    """The config for one number of rows: its values by the system's names, and the launches it was chosen by.

    `choices` are the config in each launch of that size; `microseconds` is the sum of their estimates.
    """

    size: int
    config: Entry
    choices: tuple[Choice, ...]
    microseconds: float


@frozen
class TunedFile:
    """A file of a serving system: its path in the folder of the export, and a config per size."""

    path: str
    device: str
    sizes: tuple[TunedSize, ...]


@dataclass(frozen=True)
class Export:
    """What is exported: the picks of one device, each with the written launch that it is for.

    None: the launches were recorded.
    """

    rates: DeviceRates
    picks: tuple[tuple[LaunchExpression | None, Pick], ...]


def written_launches(
    launches: Sequence[str], name: str, numbers: Sequence[int]
) -> list[LaunchExpression | None]:
    """Return each launch with each of `numbers` as the value of `name` ("": as it is); [None]: the recorded.

    Raises UserError if a launch is malformed or does not set the name.
    """
    written: list[LaunchExpression | None] = []
    for expression in map(parse_launch, launches):
        if name:
            expression.number(name)
        written += [expression.with_number(name, number) for number in numbers] or [expression]
    return written or [None]


def planned_paths(
    workspace: Workspace,
    rates: DeviceRates,
    kernel: str | None,
    written: Sequence[LaunchExpression | None],
    form: str,
    keys: Mapping[str, str],
) -> set[str]:
    """Return the paths of the files of an export, before anything is compiled or estimated.

    Raises UserError if a launch fits no variant, and as `tuned_files` for what no estimate decides.
    """
    variants = [variant for variant in workspace.select(kernel) if variant.edit is None]
    naming = _Naming(SYSTEMS[form], keys, rates) if form in SYSTEMS else None
    used = _words(_SIZE, *keys.values())
    return {
        naming.path(expression, problem)[0] if naming else own_name(rates, problem, form)
        for expression in written
        for problem in asked_problems(
            workspace, variants, [expression.checked(variants, used)] if expression else ()
        )
    }


def own_name(rates: DeviceRates, problem: Problem, form: str) -> str:
    """Return a name that is a Python identifier and safe as a path, whatever the kernel is called."""
    text = _UNSAFE.sub("_", f"{problem.kernel}_{rates.driver_name}").strip("_")[:_MOST_LETTERS]
    return f"{text if text.isidentifier() else f'_{text}'}.{'json' if form == 'json' else 'py'}"


def exported_picks(
    workspace: Workspace,
    device: str,
    kernel: str | None,
    written: Sequence[LaunchExpression | None],
    top: str | None,
    report: Report,
) -> Export:
    """Rank the configs for each launch of `written_launches`.

    Raises UserError if a launch fits no variant, or no config of one can be estimated.
    """
    rates, _ = device_named(device)
    result: list[tuple[LaunchExpression | None, Pick]] = []
    for number, expression in enumerate(written):
        report(number, len(written))
        for pick in picks(workspace, kernel, rates.target, [expression] if expression else (), top, device):
            if pick.best is None:
                raise UserError(
                    f"{one_line(pick.problem.kernel)} {pick.problem.text}: "
                    f"{pick.trouble or 'no config can be launched'}"
                )
            result.append((expression, pick))
    return Export(rates, tuple(result))


def parse_keys(texts: Iterable[str]) -> dict[str, str]:
    """Parse `E=128, N=N // 2, BLOCK_SIZE_M=BLOCK_M`. Raises UserError with the part that is wrong."""
    return named_entries(", ".join(texts), _OPTION, "such as N=N // 2")


def tuned_files(export: Export, system: ServingSystem, keys: Mapping[str, str]) -> list[TunedFile]:
    """Return the files for a serving system.

    Launches of the same file and size are launched together: the config with the least sum of estimates is
    chosen. Raises UserError if `keys` does not say what the system needs to know, or a key is not known.
    """
    naming = _Naming(system, keys, export.rates)
    named = [(naming.path(expression, pick.problem), expression, pick) for expression, pick in export.picks]
    files = []
    for (path, _), members in grouped(named, lambda item: (item[0][0], item[2].problem.kernel)).items():
        sizes = []
        for (_, size), together in grouped(members, lambda item: item[0]).items():
            launched = [(pick, naming.entries(expression, pick)) for _, expression, pick in together]
            sizes.append(_tuned(size, launched))
        files.append(TunedFile(path, export.rates.name, tuple(sorted(sizes, key=lambda one: one.size))))
    if len({file.path for file in files}) < len(files):
        raise UserError(f"several kernels are for {files[0].path}; choose one with --kernel")
    return files


def _tuned(size: int, launched: Sequence[tuple[Pick, Mapping[Entry, Choice]]]) -> TunedSize:
    """Return the entry with the least sum of estimates among those that all launches have."""
    first, *rest = (entries for _, entries in launched)
    common = [entry for entry in first if all(entry in entries for entries in rest)]
    if not common:
        kernel, text = launched[0][0].problem.kernel, launched[0][0].problem.text
        raise UserError(f"{one_line(kernel)} {text}: no config has an estimate for all launches of {size}")
    times = {entry: math.fsum(_time(entries[entry]) for _, entries in launched) for entry in common}
    best = min(common, key=times.__getitem__)
    return TunedSize(size, best, tuple(entries[best] for _, entries in launched), times[best])


def _time(choice: Choice) -> float:
    return choice.estimate.microseconds if choice.estimate else math.inf


@dataclass(frozen=True)
class _Naming:
    """Translates launches and configs into a system's names, as `keys` says."""

    system: ServingSystem
    keys: Mapping[str, str]
    rates: DeviceRates

    @property
    def kind(self) -> FileKind:
        """Return the kind of file that the sizes among the keys say."""
        for kind in self.system.kinds:
            if self.keys.keys() >= set(kind.sizes):
                return kind
        kinds = (f"{'=..., '.join(kind.sizes)}=... for {kind.text}" for kind in self.system.kinds)
        raise UserError(f"{_OPTION}: say what it is for: {', '.join(kinds)}")

    @property
    def known(self) -> tuple[str, ...]:
        """Return the keys that a config of the system may have, in the order of its files."""
        if self.kind is STATE:
            return ("BLOCK_SIZE_M", "num_warps")
        return (*_REQUIRED[:4], *self.system.optional, *_REQUIRED[4:], *_AMD)

    def path(self, expression: LaunchExpression | None, problem: Problem) -> tuple[str, int]:
        """Return the file and the size that a problem is for. Raises UserError, also for its configs."""
        kind = self.kind
        self._check_names(kind)
        variant = problem.variants[0]
        names = _names(expression, variant, problem.launches[variant.id])
        sizes = [f"{name}={self._number(name, names)}" for name in kind.sizes]
        sizes.append(f"device_name={self._device()}")
        key = kind.texts[0]
        dtype = self.keys.get(key, "")
        if dtype not in kind.types:
            listed = ", ".join(filter(None, kind.types))
            raise UserError(f"{_OPTION}: {key}={one_line(dtype) or '?'} of {kind.text}: one of {listed}")
        elements = sorted(tensor_elements(variant))
        if elements and not re.search(kind.types[dtype], " ".join(elements)):
            raise UserError(
                f"{_OPTION}: {f'{key}={dtype}' if dtype else 'no dtype'} is wrong for the tensors of "
                f"{one_line(problem.kernel)}, {', '.join(dict.fromkeys(elements))}; compile it for the ones "
                "that are served"
            )
        sizes += [f"{key}={dtype}"] if dtype else []
        if kind is PRODUCT or "block_shape" in self.keys:
            sizes.append(f"block_shape=[{self.system.separator.join(map(str, self._blocks(names)))}]")
        sizes += ["per_channel_quant=True"] if self._number("per_channel_quant", names, "0") else []
        self._check_translated(problem.variants, dict(self._config(variant, names)))
        release = re.match(r"\d+(\.\d+)*", variant.toolchain.versions.get("triton", ""))
        triton = release[0].replace(".", "_") if release else "unknown"
        folder = self.system.folder.format(triton=triton) if kind is MOE else ""
        suffix = "_down" if self._number("down", names, "0") else ""
        return f"{folder}{','.join(sizes)}{suffix}.json", self._number(_SIZE, names)

    def entries(self, expression: LaunchExpression | None, pick: Pick) -> dict[Entry, Choice]:
        """Return the fastest choice of each config in the system's names. Raises UserError."""
        # Kernels load one scale per step; that of sglang's products is BLOCK_SIZE_K // block scales further.
        block = 0
        exact = self.system is SGLANG and self.kind is PRODUCT
        result: dict[Entry, Choice] = {}
        for choice in pick.choices:
            if choice.estimate is None or not choice.estimate.complete or choice.launch is None:
                continue
            names = _names(expression, choice.variant, choice.launch)
            entry = tuple(self._config(choice.variant, names))
            block = self._blocks(names)[1] if "block_shape" in self.keys else 0
            depth = dict(entry).get("BLOCK_SIZE_K", 0)
            if block and (depth != block if exact else block % max(depth, 1)):
                continue
            if entry not in result or _time(choice) < _time(result[entry]):
                result[entry] = choice
        if block and not result:
            rule = f"{'equals' if exact else 'divides'} {block}"
            raise UserError(
                f"{_OPTION}: block_shape: no config with an estimate has a BLOCK_SIZE_K that {rule}"
            )
        return result

    def _config(self, variant: Variant, names: Mapping[str, object]) -> Iterator[tuple[str, int]]:
        values = {name: variant.metadata[name] for name in _AMD if name in variant.metadata} | dict(names)
        for name in self.known:
            if name in self.keys or name in values:
                yield name, self._number(name, values)
            elif name in _REQUIRED:
                raise UserError(
                    f"{self.system.name}'s files need {name}, which the kernel does not have: map it with "
                    f"{_OPTION} {name}=..., a number or an expression of {', '.join(variant.settings)}"
                )

    def _check_names(self, kind: FileKind) -> None:
        """Raise UserError for a key that the system does not have."""
        allowed = [*kind.sizes, _SIZE, *kind.texts, *self.known]
        allowed += _FLAGS if self.system is SGLANG and kind is MOE else ()
        for name in self.keys:
            if name not in allowed:
                listed = ", ".join(allowed)
                raise UserError(
                    f"{_OPTION}: {self.system.name} has no key '{name}' for {kind.text}: {listed}"
                )

    def _check_translated(self, variants: Sequence[Variant], config: Mapping[str, int]) -> None:
        """Raise UserError if configs differ in a value that no key of `config`, that of one of them, has."""
        used = {*config, *_words(*(self.keys.get(name, "") for name in config))}
        for name in dict.fromkeys(name for variant in variants for name in variant.settings):
            values = {variant.settings.get(name) for variant in variants}
            if name not in used and len(values) > 1:
                raise UserError(
                    f"the configs differ in {one_line(name)}, which no key of {self.system.name} says; "
                    f"map it with {_OPTION} KEY={one_line(name)}, or compile one value of it"
                )

    def _device(self) -> str:
        name = self.keys.get("device_name") or self.system.devices.get(
            self.rates.name, self.rates.driver_name
        )
        name = name.replace(" ", "_")
        if not _NAME.fullmatch(name):
            raise UserError(
                f"{_OPTION}: device_name={one_line(name)}: write letters, digits, _ . ( ) + and -"
            )
        if self.kind is STATE:
            return name.replace("-", "_")
        # Both products of that memory have one file.
        return "NVIDIA_H200" if self.system is VLLM and "H200" in name.split("_") else name

    def _blocks(self, names: Mapping[str, object]) -> tuple[int, int]:
        text = self.keys.get("block_shape", "")
        match evaluate(text, names, _OPTION) if text else ():
            case (int(rows), int(columns)) if rows > 0 and columns > 0:
                return rows, columns
        raise UserError(f"{_OPTION}: block_shape={one_line(text) or '?'}: two numbers, such as [128, 128]")

    def _number(self, key: str, names: Mapping[str, object], usual: str = "") -> int:
        text = self.keys.get(key, usual or key)
        value = evaluate(text, names, _OPTION)
        if not isinstance(value, int) or value < 0:
            raise UserError(f"{_OPTION}: {key}={one_line(text)} is {value}, not a whole number from 0")
        return value


def _words(*texts: str) -> list[str]:
    return re.findall(r"\w+", " ".join(texts))


def _names(expression: LaunchExpression | None, variant: Variant, launch: Launch) -> dict[str, object]:
    """Return what an expression may use: written names, the launch's numbers, the variant's constants."""
    if expression is not None:
        return expression.names_of(variant)
    numbers: dict[str, object] = {
        name: int(text) for name, text in launch.arguments if re.fullmatch(r"-?\d{1,19}", text)
    }
    return numbers | number_constants(variant)
