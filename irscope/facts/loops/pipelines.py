"""The software pipelines of TTGIR: how many iterations of a loop are in flight at once.

Triton's pipeliner moves the loads of a loop to earlier iterations. With `num_stages=3`:

    for k:              x0 = load; x1 = load
      x = load          for k:
      dot(x)     ->       x2 = load
                          dot(x0); x0 = x1; x1 = x2

The depth is the number of iterations whose tiles are in use or being loaded: the load is two iterations ahead
of its use, so the depth is 3. It follows from the loop: the loads that were copied before it keep
their location, and their number per load in the loop is the distance. The number of buffers is another
figure: `mma.sync` and LDS copies through registers need one buffer less than the depth.

A matrix instruction that was copied before the loop too (`tcgen05.mma`, which the next iteration waits for)
is that much closer to the loads of the tiles that it reads.

If the loads are not copied before the loop (warp specialization, where a group of warps only loads, or
pipelines written by hand in Gluon), the depth is the number of buffers that asynchronous copies fill in turn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from irscope.languages.mlir.parser import opcode_of
from irscope.model.records import frozen

# The operations that load a tile from global memory, with how they do it.
_LOADS = {
    "ttg.async_copy_global_to_local": "cp.async",
    "ttng.async_tma_copy_global_to_local": "TMA",
    "ttng.async_tma_gather": "TMA",
    "amdg.buffer_load_to_local": "load to LDS",
    "amdgpu.buffer_load_to_local": "load to LDS",
    "amdg.async_tdm_copy_global_to_local": "TDM",
    "tt.load": "registers",
    "amdg.buffer_load": "registers",
    "amdgpu.buffer_load": "registers",
    "tt.descriptor_load": "registers",
}
_ASYNC = frozenset(["cp.async", "TMA", "load to LDS", "TDM"])
_DOTS = frozenset(
    [
        "tt.dot",
        "tt.dot_scaled",
        "ttng.warp_group_dot",
        "ttng.tc_gen5_mma",
        "ttng.tc_gen5_mma_scaled",
    ]
)
# Operations whose result is the tile that they read.
_VIEWS = frozenset(
    [
        "ttg.local_load",
        "ttg.memdesc_trans",
        "ttg.memdesc_reshape",
        "ttg.memdesc_subslice",
        "ttg.memdesc_reinterpret",
    ]
)

_LOCATION = re.compile(r" loc\((#loc\d*|\"[^\n]{0,999})\)\s*$")
_VALUE = re.compile(r"%[\w]{1,99}(?:#\d{1,9})?")
# Selects one of several buffers of shared memory; the leading dimension is their number.
_BUFFER = re.compile(
    r"\s*(?P<name>%\w{1,99}) = ttg\.memdesc_index (?P<tile>%\w{1,99})[^\n]{0,999}? : !ttg\.memdesc<"
    r"(?P<copies>\d{1,9})x[\dx]{1,99}x(?P<element>\w{1,99}), (?P<encoding>[^\n]{0,999}?) ->"
)


@frozen
class Pipeline:
    """A loop of TTGIR that loads tiles.

    `line` is the index (from 0) of its `scf.for` or `scf.while`. `depth` is the number of iterations in
    flight at once; 1 if the loop is not pipelined. `buffers` is the number of copies of a tile in shared
    memory that it fills in turn; 0 if it fills none. `how` names how its loads are made: "cp.async",
    "TMA", "load to LDS", "TDM" or "registers". `loads` are the lines of its loads.
    """

    line: int
    depth: int
    buffers: int
    how: tuple[str, ...]
    loads: tuple[int, ...]
    buffer_lines: tuple[int, ...]


class _Buffer(NamedTuple):
    """A value that is one of `copies` copies of the tile `tile`, selected in `line`."""

    tile: str
    copies: int
    line: int


class _TileUse(NamedTuple):
    """A load that fills the tiles `tiles`, or a matrix instruction that reads them. `how` is of a load."""

    identity: str
    line: int
    tiles: frozenset[str]
    how: str = ""


@dataclass(slots=True)
class _Region:
    """A region of the text: a loop if `line` is not negative.

    `before` counts loads and matrix instructions before the current line, since the last loop that repeats
    them. `copied` and `stored` are the buffers that asynchronous copies and stores fill. `reads` counts
    reads of shared memory.
    """

    line: int
    loads: list[_TileUse] = field(default_factory=list)
    dots: list[_TileUse] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)
    copied: list[_Buffer] = field(default_factory=list)
    stored: list[_Buffer] = field(default_factory=list)
    reads: int = 0

    def add(self, other: _Region) -> None:
        """Add the operations of a region within this one."""
        self.loads += other.loads
        self.dots += other.dots
        self.copied += other.copied
        self.stored += other.stored
        self.reads += other.reads


def pipelines(text: str) -> list[Pipeline]:
    """Return the loops of the TTGIR `text` that load tiles, in the order in which they end.

    Takes time linear in the text, and never fails.
    """
    found_pipelines: list[Pipeline] = []
    regions = [_Region(-1)]
    buffers: dict[str, _Buffer] = {}
    for index, line in enumerate(text.split("\n")):
        code = line.strip()
        ended = -1
        if code.startswith("}") and len(regions) > 1:
            ended = regions[-1].line
            found_pipelines += _closed(regions.pop(), regions[-1])
        _read(regions[-1], line, index, buffers)
        if code.endswith("{"):
            loop = index if opcode_of(line) in ("scf.for", "scf.while") else -1
            regions.append(_Region(ended if code.startswith("} do {") else loop))
    return found_pipelines


def _read(region: _Region, line: str, index: int, buffers: dict[str, _Buffer]) -> None:
    """Read a line of a region. `buffers` are the values that are one of several copies of a tile."""
    opcode = opcode_of(line)
    if opcode == "ttg.memdesc_index":
        _remember(buffers, line, index)
    elif opcode in _VIEWS:
        region.reads += opcode == "ttg.local_load"
        _view(buffers, line)
    elif opcode == "ttg.local_store":
        region.stored += _operands(line, buffers)
    elif opcode in _DOTS:
        tiles = frozenset(buffer.tile for buffer in _operands(line, buffers))
        region.dots.append(_TileUse(_identity(opcode, line), index, tiles))
        region.before[region.dots[-1].identity] += 1
    elif (how := _LOADS.get(opcode)) and (how in _ASYNC or "tensor<" in line):  # not a scalar
        filled = (_operands(line, buffers) or [_Buffer("", 1, index)]) if how in _ASYNC else []
        tiles = frozenset(buffer.tile for buffer in filled)
        region.loads.append(_TileUse(_identity(opcode, line), index, tiles, how))
        region.before[region.loads[-1].identity] += 1
        region.copied += filled


def _identity(opcode: str, line: str) -> str:
    """Return a text that is equal for copies of one operation, which keep its location.

    Without locations, operations with the same opcode and types are taken for copies of one.
    """
    location = _LOCATION.search(line)
    return f"{opcode} {location[1] if location else line.rpartition(' : ')[2]}"


def _operands(line: str, buffers: dict[str, _Buffer]) -> list[_Buffer]:
    return [buffers[name] for name in _VALUE.findall(line) if name in buffers]


def _remember(buffers: dict[str, _Buffer], line: str, index: int) -> None:
    """Remember a buffer that holds a loaded tile.

    Arrays of mbarriers (i64) and tiles in tensor memory are indexed too, but hold no loaded tile.
    """
    match = _BUFFER.match(line)
    if match is None:
        return
    shared = "#smem" in match["encoding"] or "shared_memory" in match["encoding"]
    if shared and match["element"] != "i64":
        buffers[match["name"]] = _Buffer(match["tile"], int(match["copies"]), index)
    else:
        buffers.pop(match["name"], None)


def _view(buffers: dict[str, _Buffer], line: str) -> None:
    """Remember that a transposed or read tile is still a copy of the tile."""
    names = _VALUE.findall(line)
    if len(names) > 1 and names[1] in buffers:
        buffers[names[0]] = buffers[names[1]]
    elif names:
        buffers.pop(names[0], None)


def _closed(region: _Region, parent: _Region) -> Iterator[Pipeline]:
    """Yield the pipeline of a region that ends, if it is a loop with loads.

    Others belong to their parent.
    """
    if region.line < 0:
        parent.add(region)
    elif region.loads:
        filled = sorted({(buffer.copies, buffer.line) for buffer in (*region.copied, *region.stored)})
        buffers = filled[-1][0] if filled else 0
        yield Pipeline(
            region.line,
            _depth(region, parent.before),
            buffers,
            tuple(dict.fromkeys(load.how for load in region.loads)),
            tuple(load.line for load in region.loads),
            tuple(line for copies, line in filled if copies == buffers),
        )
        for use in (*region.loads, *region.dots):
            parent.before.pop(use.identity, None)


def _depth(region: _Region, before: Counter[str]) -> int:
    """Return the number of iterations in flight of a loop, after the operations `before` it."""
    copied = max((buffer.copies for buffer in region.copied), default=0)
    if copied and not region.dots and not region.reads:
        return copied  # other warps read the tiles
    number = Counter(use.identity for use in (*region.loads, *region.dots))
    started: dict[str, int] = {}  # by tile; "" for any
    for dot in region.dots:
        ahead = before[dot.identity] // number[dot.identity]
        for tile in (*dot.tiles, ""):
            started[tile] = min(started.get(tile, ahead), ahead)
    distances = [
        -(-before[load.identity] // number[load.identity])
        - min((started[tile] for tile in load.tiles if tile in started), default=started.get("", 0))
        for load in region.loads
    ]
    return max(1 + max(distances), copied, 1)
