"""Follows what torch.compile generates: graphs of a program, the output code of each, the kernels in it.

Every kernel passes `AsyncCompile.triton` while its output code is executed, also if Inductor's caches are
warm; the choices of max-autotune pass the algorithm selector.

Reads Inductor's output code: what each of its Triton kernels computes.

    # AOT ID: ['0_forward']
    ...
    # Topologically Sorted Source Nodes: [add, relu], Original ATen: [aten.add, aten.relu]
    # Source node to ATen node mapping:
    ...
    triton_poi_fused_add_relu_0 = async_compile.triton('triton_poi_fused_add_relu_0', ...
    ...
            triton_poi_fused_add_relu_0.run(buf0, arg1_1, 4096, stream=stream0)

The comments are those of `get_kernel_metadata` in torch/_inductor/utils.py (2.11 to 2.13). The line map,
which Inductor also keeps in its cache, has the Python stack of the node that a line was generated for.

Reads the constants in the source of a kernel that Inductor generated.

A template of Inductor (matrix multiplication, convolution, attention) has no configs: each choice is a kernel
of its own, with its block sizes in its body:

    def triton_mm(arg_A, arg_B, out_ptr0):
        BLOCK_M : tl.constexpr = 64
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from irscope.compiling.kernels import source_function
from irscope.compiling.toolchain.patching import never_raises
from irscope.model import Argument, Config, Value, parse_value
from irscope.model.origin import Origin, ProgramLine, origin_to_json
from irscope.model.variant import ORIGIN
from irscope.recording.recorder import Generated
from irscope.store.new_variant import NewVariant

# The node of a graph that launches a kernel of the program itself.
USER_KERNEL = "triton_kernel_wrapper_mutation"
# Lines of the output code (from 1) and the Python stack that they and the lines after them came from.
LineMap = Sequence[tuple[int, str | None]]

_PART = re.compile(r"^# AOT ID: \['\d+_(\w+)'\]", re.MULTILINE)
_NODES = re.compile(r"#[ \w]* Source Nodes: \[([^\]\n]*)\], Original ATen: \[([^\]\n]*)\]")
_FRAGMENT = re.compile(r"#   %(\w+) : .*? = call_function\[")
_ORIGINAL = re.compile(r"# Original path: (.+):(\d{1,9})$")
_DEFINITION = re.compile(r"(\w+) = async_compile\.triton\('(\w+)'")
_CALL = re.compile(r"\s+(\w+)\.run\(")
# The text of a line is missing if Python cannot read the file.
_FRAME = re.compile(r'File "([^"\n]+)", line (\d{1,9}), in ([^\n]*)(?:\n(?!\s*File ")\s*([^\n]*))?')


@dataclass
class KernelNodes:
    """The origin of a kernel according to an output code.

    `name` is the name of its function. `nodes` are by their names in the program's graph if `traced`, else in
    the graph that Inductor compiled; `operators` are those that they became; `stacks` those of its calls.
    `original` is the place of a kernel that the program itself defines.
    """

    name: str = ""
    nodes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    traced: bool = False
    stacks: tuple[str, ...] = ()
    original: ProgramLine | None = None


def graph_part(text: str) -> str:
    """Return the part of the program's graph: "forward", "backward" or "inference".

    Returns "" if the code does not say.
    """
    match = _PART.search(text)
    return match[1] if match else ""


def kernels_of(text: str, line_map: LineMap) -> dict[str, KernelNodes]:
    """Return the Triton kernels that an output code defines, by its names for them, in its order."""
    kernels: dict[str, KernelNodes] = {}
    starts = [line for line, _ in line_map]
    nodes = KernelNodes()
    for number, line in enumerate(text.splitlines(), 1):
        if comment := _NODES.match(line):
            traced = _names(comment[1])
            nodes = KernelNodes("", traced, _names(comment[2]), bool(traced))
        elif original := _ORIGINAL.match(line):
            nodes = KernelNodes("", (USER_KERNEL,), original=_place(original[1], int(original[2])))
        elif (node := _FRAGMENT.match(line)) and not nodes.traced:
            nodes.nodes = (*nodes.nodes, node[1])
        elif definition := _DEFINITION.match(line):
            nodes.name = definition[2]
            kernels[definition[1]], nodes = nodes, KernelNodes()
        elif (call := _CALL.match(line)) and (kernel := kernels.get(call[1])):
            index = bisect_right(starts, number) - 1
            stack = line_map[index][1] if index >= 0 else None
            if stack and stack not in kernel.stacks:
                kernel.stacks = (*kernel.stacks, stack)
    return kernels


def program_line(stack: str, excluded: str) -> ProgramLine | None:
    """Return the innermost line of a Python stack that is not in the folder `excluded`.

    The stack is as `traceback` prints it. Without such a line return the innermost one, or None if
    there is no line.
    """
    frames = [
        ProgramLine(frame[1], int(frame[2]), frame[3].strip(), (frame[4] or "").strip())
        for frame in _FRAME.finditer(stack)
    ]
    program_frames = [frame for frame in frames if not frame.file.startswith(excluded)]
    return (program_frames or frames)[-1] if frames else None


def program_lines(kernel: KernelNodes, stacks: Mapping[str, str], excluded: str) -> tuple[ProgramLine, ...]:
    """Return the lines of the program that a kernel came from, in their order.

    `stacks` has the Python stack of each node of the program's graph.
    """
    lines = {program_line(stack, excluded) for stack in _stacks(kernel, stacks)} | {kernel.original}
    return tuple(sorted(filter(None, lines), key=lambda line: (line.file, line.line)))


def _stacks(kernel: KernelNodes, stacks: Mapping[str, str]) -> Iterator[str]:
    yield from kernel.stacks
    if kernel.traced:
        yield from (stacks[name] for name in kernel.nodes if name in stacks)


def _place(file: str, line: int) -> ProgramLine:
    return ProgramLine(file, line, "", linecache.getline(file, line).strip())


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_TEMPLATE = re.compile(r"^@triton_heuristics\.template\(", re.MULTILINE)
_MAX_SOURCE = 1 << 20


def template_constants(source: str) -> dict[str, Value]:
    """Return the constants in the body of a template's kernel by name; none for any other kernel."""
    if not _TEMPLATE.search(source):
        return {}
    kernel = _kernel(source)
    constants: dict[str, Value] = {}
    for node in kernel.body if kernel else ():
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                if ast.unparse(node.annotation) == "tl.constexpr":
                    constants |= _constant(name, value)
    return constants


def size_hints(source: str) -> str:
    """Return the sizes that Inductor chose the configs for ("x=4096:r0_=1024").

    Returns "" if the source does not say. The text has no commas and blanks, at which names of
    variants are split.
    """
    kernel = _kernel(source)
    for decorator in kernel.decorator_list if kernel else ():
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "size_hints" and isinstance(keyword.value, ast.Dict):
                hints = _literal(keyword.value)
                items = hints.items() if isinstance(hints, dict) else ()
                return ":".join(f"{name}={size}" for name, size in items)
    return ""


@lru_cache(maxsize=16)
def _kernel(source: str) -> ast.FunctionDef | None:
    """Return the function with a decorator of `triton_heuristics`."""
    if len(source) > _MAX_SOURCE:
        return None
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return next((f for f in functions if any(isinstance(d, ast.Call) for d in f.decorator_list)), None)


def _constant(name: str, value: ast.expr) -> dict[str, Value]:
    """Return a constant with a literal value or an element type (tl.float32), else {}."""
    if isinstance(value, ast.Attribute):
        return {name: parse_value(ast.unparse(value))}
    literal = _literal(value)
    return {name: literal} if isinstance(literal, int | float | str) else {}


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


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
class _OutputCode:
    """An output code that is being executed.

    `kernels` are those that it has not created yet, in order, `created` the others by name.
    """

    path: str
    line_map: LineMap
    part: str = ""
    kernels: list[KernelNodes] | None = None
    created: dict[str, GeneratedKernel] = field(default_factory=dict)

    def next(self, name: str) -> KernelNodes:
        """Return the nodes of the next kernel whose function is called `name`."""
        if self.kernels is None:
            text = Path(self.path).read_text("utf-8", "replace")
            self.part, self.kernels = graph_part(text), list(kernels_of(text, self.line_map).values())
        match = next((kernel for kernel in self.kernels if kernel.name == name), KernelNodes())
        self.kernels = [kernel for kernel in self.kernels if kernel is not match]
        return match


@dataclass
class _ThreadState(threading.local):
    """The compilations in this thread: the Python stacks of the program's graph by node, and output codes."""

    stacks: list[dict[str, str]] = field(default_factory=list)
    modules: list[_OutputCode] = field(default_factory=list)


class InductorGraphs:
    """The kernels that Inductor generated so far, by the name of their module's file without its suffix."""

    def __init__(self) -> None:
        self._state = _ThreadState()
        self._kernels: dict[str, GeneratedKernel] = {}
        self._narrowed: dict[str, tuple[int, Mapping[str, Any]]] = {}

    def of_autotuner(self, autotuner: Any) -> GeneratedKernel | None:
        """Return the kernel of an autotuner that the output code being executed creates.

        The autotuner of a template does not have the file of the kernel's module.
        """
        if (file := getattr(autotuner, "filename", None)) is not None:
            return self.of_file(file)
        name = str((getattr(autotuner, "inductor_meta", None) or {}).get("kernel_name"))
        return self._state.modules[-1].created.get(name) if self._state.modules else None

    def of_file(self, path: str | None) -> GeneratedKernel | None:
        """Return the kernel whose module is this file.

        It has what Inductor's autotune cache did to its configs.
        """
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
        self._state.modules.append(_OutputCode(path, line_map))
        try:
            yield
        finally:
            self._state.modules.pop()

    @never_raises
    def add_kernel(self, name: str, source: str) -> None:
        """Add a kernel that is about to be created from its source."""
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
        origins = (origin for scheduler_node in scheduled for origin in scheduler_node.node.get_origins())
        nodes = [node for node in dict.fromkeys(origins) if node.op == "call_function"]
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
        """Return the output code and the origin of a kernel (a JITFunction).

        Returns None if Inductor did not make it.
        """
        kernel = self.of_file(function.fn.__code__.co_filename)
        if kernel is None:
            if "triton_heuristics" not in function.fn.__globals__:  # not a kernel of Inductor
                return None
            kernel = GeneratedKernel("", None, Origin())
        return generated(kernel, source_function(function).text)

    def _origin(self, name: str, module: _OutputCode) -> Origin:
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
    """Return a kernel's output code, and the values that its source and graph add to its variants."""
    files = {OUTPUT_CODE: kernel.output_code} if kernel.output_code else {}
    return Generated(files=files, complete=lambda variant: completed(variant, kernel, source))


def completed(variant: NewVariant, kernel: GeneratedKernel, source: str) -> NewVariant:
    """Complete a variant of a generated kernel with everything that its source and its graph say.

    The constants of a template become values of the config, the size hints an argument.
    """
    constants, hints = template_constants(source), size_hints(source)
    config_values = dict(variant.config.values)
    # Coordinate descent may go on from the config that the cache chose.
    is_chosen = all(config_values.get(name, value) == value for name, value in kernel.chosen.items())
    origin_with_configs = (
        replace(kernel.origin, configs=kernel.configs) if kernel.chosen and is_chosen else kernel.origin
    )
    origin = origin_to_json(origin_with_configs)
    config = Config(
        (*((n, v) for n, v in constants.items() if n not in config_values), *config_values.items())
    )
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
    """Return the origin of a kernel that is measured for these nodes of the graph.

    It is the graph that Inductor lowers.
    """
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
    """Return the name of the file that Inductor writes this text to (codecache.write)."""
    from torch._inductor.codecache import code_hash

    return str(code_hash(source.strip()))


def _part(graph: Any) -> str:
    """Return the part of the program's graph that Inductor is lowering, as in the output code."""
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
