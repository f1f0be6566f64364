"""Defines a backend: its stages, targets, devices, and how to read its artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from irscope.model import Stage, Target, Variant
from irscope.model.records import frozen_with_dict

if TYPE_CHECKING:
    from irscope.targets.instructions import InstructionSet

# Both vendors: CUDA Programming Guide, table 30; AMD's ISA documents, "work-group".
MAX_THREADS_PER_BLOCK = 1024
KIB = 1024
MIB = 1024**2
GIB = 1024**3


@frozen_with_dict
class Device:
    """The limits of one multiprocessor (NVIDIA: SM; CDNA: compute unit; RDNA: work-group processor).

    `warps` and `blocks` limit how many are resident. A multiprocessor has `partitions`, each with
    `lane_registers` 32-bit registers per lane, allocated to a warp in multiples of `register_unit` per
    lane; a thread can have `thread_registers` of them. `shared` is the bytes of shared memory (LDS),
    `block_shared` the maximum per block after opting in; a block is allocated its own plus
    `reserved_shared` bytes, rounded up to `shared_unit`.
    `barriers` is the pool of barrier resources and `scalar_registers` the registers per partition (None:
    no limit).
    """

    warps: int
    blocks: int
    shared: int
    block_shared: int
    shared_unit: int
    reserved_shared: int = 0
    partitions: int = 4
    lane_registers: int = 512
    register_unit: int = 8
    thread_registers: int = 255
    barriers: int | None = None
    scalar_registers: int | None = None


class ReferenceDevice(NamedTuple):
    """A device as its driver describes it.

    `multiprocessors` is the number that the driver reports (RDNA: work-group processors); `memory` and
    `l2` are in bytes.
    """

    name: str
    multiprocessors: int
    memory: int
    l2: int


class Resources(NamedTuple):
    """The resources that one kernel uses; None if unknown.

    `registers` are 32-bit registers per thread (AMD: vector registers, including accumulation registers),
    `stack` is bytes of local memory (scratch) per thread, `barriers` are per block. `spill_store_bytes`
    and `spill_load_bytes` are counted by ptxas in the code of one thread; `vector_spills` and
    `scalar_spills` are AMD's spilled registers; `scalar_registers` are per wave.
    """

    registers: int | None = None
    stack: int | None = None
    barriers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    accumulation_registers: int | None = None
    scalar_registers: int | None = None
    vector_spills: int | None = None
    scalar_spills: int | None = None


def _no_warnings(log: str | None) -> tuple[str, ...]:
    return ()


def _without_features(arch: Any) -> str:
    """Return an architecture of Triton as text, without AMD's features: gfx942:sramecc+:xnack-."""
    return str(arch).partition(":")[0]


def _no_capability(arch: str) -> tuple[int, int]:
    return 0, 0


def _always(arch: str) -> bool:
    return True


# Compared by identity: comparing or printing its 26 fields would take 1 ms of every command to define.
@frozen_with_dict
class Backend:
    """A backend of Triton, complete: each module of this package defines one, and other packages may.

    A hook is "module:function", for functions that use Triton or tools; it is imported when it is needed.

    Stages:
      name: Triton's name ("cuda", "hip").
      stages: the stages below LLVM IR, in pipeline order.
      assembly: the stage with the assembly text, whose lines carry source locations.
      binary: the stage that a device loads, an ELF file.
      machine_code: the stage that shows the machine code as text; made on demand if it is derived.
      instruction_set: returns the meaning of the assembly's instructions; imports it only when called.
      machine_instruction_set: the same of the machine code, if that is another stage.
      layout_dialects: the MLIR dialects of the backend that define layouts ("triton_intel_gpu").
      languages: the languages of stages that irscope does not have: name -> the module that defines LANGUAGE.

    Targets:
      targets: the targets that Triton can compile for.
      arch: a regular expression for architectures, including those that Triton cannot compile for.
      warp_size: threads per warp of an architecture.
      triton_arch: the architecture as Triton's GPUTarget has it, and `arch_name` the reverse.

    Devices:
      device: the limits of a multiprocessor by architecture and Triton's metadata; None if unknown.
      reference_devices: by architecture, the real device that programs see under `irscope run`.
      capability: the compute capability that torch reports for an architecture.
      has_bf16: whether an architecture computes in bf16.
      default_shared: bytes of shared memory per block without opting in; None: all of it.
      register_usage: a hook: a CompiledKernel's `asm` -> registers per thread and 4-byte words spilled, as
        Triton's driver counts them; "": zeros.

    Artifacts:
      resources: what a variant's kernel takes, from its binary and assembly.
      warnings: performance warnings in the log of the assembler.
      words: the vendor's words for NVIDIA's, in texts for people: {"shared memory": "LDS"}.
      facts: the names of facts that it has in addition to those of every backend (`irscope table --all`).

    Compilation:
      option_defaults: the launch options that a config may set, and the values that they have otherwise
        (parse_options in triton/backends/*/compiler.py of 3.6 to 3.9).
      pointer_key: what the specialization key of a pointer has in addition (see `Argument.key`).
      log_stage: the stage during which Triton prints the log of the assembler to stdout; "" if it does not.
      versions: a hook: an architecture -> tools with versions that determine the result: {"ptxas": "12.9"}.
      assembler_variables: the environment variables that choose the assembler.
      path_options: the options that are paths into Triton's folder, if those are in the keys of its cache.
    """

    name: str
    stages: tuple[Stage, ...]
    assembly: str
    binary: str
    machine_code: str
    instruction_set: Callable[[], InstructionSet]
    targets: tuple[Target, ...]
    arch: str
    warp_size: Callable[[str], int]
    device: Callable[[str, Mapping[str, Any]], Device | None]
    resources: Callable[[Variant, bytes | None, str | None], Resources]
    reference_devices: Mapping[str, ReferenceDevice] = field(default_factory=dict)
    layout_dialects: frozenset[str] = frozenset()
    languages: Mapping[str, str] = field(default_factory=dict)
    triton_arch: Callable[[str], Any] = str
    arch_name: Callable[[Any], str] = _without_features
    capability: Callable[[str], tuple[int, int]] = _no_capability
    has_bf16: Callable[[str], bool] = _always
    default_shared: int | None = None
    register_usage: str = ""
    warnings: Callable[[str | None], tuple[str, ...]] = _no_warnings
    words: Mapping[str, str] = field(default_factory=dict)
    facts: frozenset[str] = frozenset()
    option_defaults: Mapping[str, int | None] = field(default_factory=dict)
    machine_instruction_set: Callable[[], InstructionSet] | None = None
    pointer_key: str = ""
    log_stage: str = ""
    versions: str = ""
    assembler_variables: tuple[str, ...] = ()
    path_options: tuple[str, ...] = ()
