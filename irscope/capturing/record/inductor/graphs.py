"""Follows what torch.compile generates: graphs of a program, the output code of each, the kernels in it.

Every kernel passes `AsyncCompile.triton` while its output code is executed, also if Inductor's caches are
warm; the choices of max-autotune pass the algorithm selector.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irscope.capturing.record.inductor.output_code import (
    KernelNodes,
    LineMap,
    graph_part,
    kernels_of,
    program_line,
    program_lines,
)
from irscope.capturing.record.inductor.templates import size_hints, template_constants
from irscope.capturing.record.recorder import Generated
from irscope.model import Argument, Config
from irscope.model.origin import Origin, origin_to_json
from irscope.model.variant import ORIGIN
from irscope.store.new_variant import NewVariant
from irscope.toolchain.kernels import source_function
from irscope.toolchain.patching import never_raises

OUTPUT_CODE = "output_code"
# Why Inductor measures kernels that the program does not launch.
CHOICE, FUSION = "a choice of max-autotune, only measured", "only measured, to decide about a fusion"


@dataclass(frozen=True)
class GeneratedKernel:
    """A kernel that Inductor generated: its module's text, its output code's file (None: it is in none).

    If Inductor's autotune cache chose one of its configs, `chosen` has the values of that one, and `configs`
    is how many there were.
    """

    source: str
    output_code: str | None
    origin: Origin
    chosen: Mapping[str, Any] = field(default_factory=dict)
    configs: int | None = None


@dataclass
class _Module:
    """An output code that is being executed.

    `kernels` are those that it has not created yet, in order, `created` the others by name.
    """

    path: str
    line_map: LineMap
    part: str = ""
    kernels: list[KernelNodes] | None = None
    created: dict[str, GeneratedKernel] = field(default_factory=dict)

    def next(self, name: str) -> KernelNodes:
        """The nodes of the next kernel whose function is called `name`."""
        if self.kernels is None:
            text = Path(self.path).read_text("utf-8", "replace")
            self.part, self.kernels = graph_part(text), list(kernels_of(text, self.line_map).values())
        found = next((kernel for kernel in self.kernels if kernel.name == name), KernelNodes())
        self.kernels = [kernel for kernel in self.kernels if kernel is not found]
        return found


@dataclass
class _ThreadState(threading.local):
    """The compilations in this thread: the Python stacks of the program's graph by node, and output codes."""

    stacks: list[dict[str, str]] = field(default_factory=list)
    modules: list[_Module] = field(default_factory=list)


class InductorGraphs:
    """The kernels that Inductor generated so far, by the name of their module's file without its suffix."""

    def __init__(self) -> None:
        self._state = _ThreadState()
        self._kernels: dict[str, GeneratedKernel] = {}
        self._narrowed: dict[str, tuple[int, Mapping[str, Any]]] = {}

    def of_autotuner(self, autotuner: Any) -> GeneratedKernel | None:
        """The kernel of an autotuner that the output code being executed creates.

        The autotuner of a template does not have the file of the kernel's module.
        """
        if (file := getattr(autotuner, "filename", None)) is not None:
            return self.of_file(file)
        name = str((getattr(autotuner, "inductor_meta", None) or {}).get("kernel_name"))
        return self._state.modules[-1].created.get(name) if self._state.modules else None

    def of_file(self, path: str | None) -> GeneratedKernel | None:
        """The kernel whose module is this file, with what Inductor's autotune cache did to its configs."""
        key = _stem(path or "")
        kernel = self._kernels.get(key)
        if kernel is None or key not in self._narrowed:
            return kernel
        configs, chosen = self._narrowed[key]
        return replace(kernel, chosen=chosen, configs=configs)

    @contextmanager
    def compiling(self, module: Any) -> Iterator[None]:
        """While Inductor compiles a graph of the program: `module` is its GraphModule."""
        self._state.stacks.append(self._stacks(module) or {})
        try:
            yield
        finally:
            self._state.stacks.pop()

    @contextmanager
    def loading(self, path: str, line_map: LineMap) -> Iterator[None]:
        """While the output code in the file `path` is executed, which creates its kernels."""
        self._state.modules.append(_Module(path, line_map))
        try:
            yield
        finally:
            self._state.modules.pop()

    @never_raises
    def add_kernel(self, name: str, source: str) -> None:
        """A kernel is about to be created from its source."""
        if not self._state.modules:
            return
        module = self._state.modules[-1]
        key, kernel = _key(source), GeneratedKernel(source, module.path, self._origin(name, module))
        module.created[name] = kernel
        if key not in self._kernels or self._kernels[key].origin.trial:
            self._kernels[key] = kernel

    @never_raises
    def add_choices(self, choices: Sequence[Any]) -> None:
        """Kernels that max-autotune chooses from for the node of the graph that is being lowered."""
        from torch._inductor.virtualized import V

        node = getattr(V.graph, "current_node", None)
        origin = origin_of_nodes([] if node is None else [node], CHOICE)
        for choice in choices:
            path = getattr(getattr(choice, "bmreq", None), "module_path", None)
            if isinstance(path, str):
                self._kernels.setdefault(_stem(path), GeneratedKernel("", None, origin))

    @never_raises
    def add_trial(self, source: str, scheduled: Sequence[Any]) -> None:
        """Inductor has generated a kernel for these nodes of its scheduler, fused or apart, to measure it."""
        found = (origin for each in scheduled for origin in each.node.get_origins())
        nodes = [node for node in dict.fromkeys(found) if node.op == "call_function"]
        kernel = GeneratedKernel("", None, origin_of_nodes(nodes, FUSION))
        self._kernels.setdefault(_key(source), kernel)

    @never_raises
    def add_narrowed(self, path: str | None, configs: int, chosen: Any) -> None:
        """Inductor's autotune cache chose one of this many configs of a kernel: `chosen`, a triton.Config."""
        if path:
            values = {**chosen.kwargs, "num_warps": chosen.num_warps, "num_stages": chosen.num_stages}
            self._narrowed[_stem(path)] = configs, values

    @never_raises
    def generated(self, function: Any) -> Generated | None:
        """The output code and the origin of a kernel (a JITFunction); None if Inductor did not make it."""
        kernel = self.of_file(function.fn.__code__.co_filename)
        if kernel is None:
            if "triton_heuristics" not in function.fn.__globals__:  # not a kernel of Inductor
                return None
            kernel = GeneratedKernel("", None, Origin())
        return generated(kernel, source_function(function).text)

    def _origin(self, name: str, module: _Module) -> Origin:
        nodes = module.next(name)
        # A node of the backward graph may have the name of an unrelated one of the program's graph.
        forward = module.part != "backward" and self._state.stacks
        stacks = self._state.stacks[-1] if forward else {}
        return Origin(
            graph=f"{_compile_id()} {module.part}".strip(),
            nodes=nodes.nodes,
            operators=nodes.operators,
            lines=program_lines(nodes, stacks, _torch_folder()),
        )

    @never_raises
    def _stacks(self, module: Any) -> dict[str, str]:
        return {node.name: node.stack_trace for node in module.graph.nodes if node.stack_trace}


def generated(kernel: GeneratedKernel, source: str) -> Generated:
    """The output code of a kernel, and the values that its source and its graph add to its variants."""
    files = {OUTPUT_CODE: kernel.output_code} if kernel.output_code else {}
    return Generated(files=files, complete=lambda variant: completed(variant, kernel, source))


def completed(variant: NewVariant, kernel: GeneratedKernel, source: str) -> NewVariant:
    """A variant of a generated kernel with everything that its source and its graph say.

    The constants of a template become values of the config, the size hints an argument.
    """
    constants, hints = template_constants(source), size_hints(source)
    known = dict(variant.config.values)
    # Coordinate descent may go on from the config that the cache chose.
    is_chosen = all(known.get(name, value) == value for name, value in kernel.chosen.items())
    found = replace(kernel.origin, configs=kernel.configs) if kernel.chosen and is_chosen else kernel.origin
    origin = origin_to_json(found)
    config = Config((*((n, v) for n, v in constants.items() if n not in known), *known.items()))
    more = (Argument("size_hints", "constexpr", None, hints),) if hints else ()
    cache_key = {f"constant {name}": str(value) for name, value in constants.items()}
    if hints:
        cache_key["constant size_hints"] = hints
    return replace(
        variant,
        config=config,
        specialization=(*variant.specialization, *more),
        cache_key={**variant.cache_key, **cache_key},
        metadata={**variant.metadata, **({ORIGIN: origin} if origin else {})},
    )


def origin_of_nodes(nodes: Sequence[Any], trial: str) -> Origin:
    """The origin of a kernel that is measured for these nodes of the graph that Inductor lowers."""
    from torch._inductor.virtualized import V

    operators = (getattr(node.meta.get("original_aten"), "overloadpacket", None) for node in nodes)
    lines = (program_line(node.meta.get("stack_trace") or "", _torch_folder()) for node in nodes)
    return Origin(
        graph=f"{_compile_id()} {_part(V.graph)}".strip(),
        nodes=tuple(node.name for node in nodes),
        operators=tuple(dict.fromkeys(str(operator) for operator in operators if operator is not None)),
        lines=tuple(dict.fromkeys(filter(None, lines))),
        trial=trial,
    )


def _stem(path: str) -> str:
    return Path(path).stem


def _key(source: str) -> str:
    """The name of the file that Inductor writes this text to (codecache.write)."""
    from torch._inductor.codecache import code_hash

    return str(code_hash(source.strip()))


def _part(graph: Any) -> str:
    """The part of the program's graph that Inductor is lowering, as in the output code."""
    if getattr(graph, "is_backward", False):
        return "backward"
    return "inference" if getattr(graph, "is_inference", False) else "forward"


def _compile_id() -> str:
    """Dynamo's id of the current compilation ("0/0"); "" outside of Dynamo."""
    from torch._guards import CompileContext

    return str(CompileContext.current_compile_id() or "")


def _torch_folder() -> str:
    import torch

    return os.path.join(os.path.dirname(torch.__file__), "")  # noqa: PTH118, PTH120 - a prefix of other paths
