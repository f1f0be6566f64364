"""Plants errors in the stages of real pipelined and specialized kernels, and says which are found.

    python -m tests.truth.events.planted

Prints one line per error: what was changed, what is reported first, and whether a report has the right kind,
buffer and line; then how many were found, and how many reports the unchanged stages have. `thread` names the
public thread that the mistake is written after.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from irscope.interpreting.events.hazards import (
    COUNT,
    DEADLOCK,
    EARLY_READ,
    FENCE,
    IN_FLIGHT,
    NO_BARRIER,
    OVERWRITTEN,
    PHASE,
    Hazard,
    line_of,
)
from irscope.interpreting.events.lowered import check_barriers
from irscope.interpreting.events.machine import check_order
from irscope.languages.language import parse

STAGES = Path(__file__).with_name("stages.jsonl.xz")
_LANGUAGES = {"ttgir": "mlir", "ptx": "ptx", "llir": "llvm"}
_TRITON = (3, 9)


@dataclass(frozen=True)
class Planted:
    """An error in a stage: the `number`-th line (from 0) that matches `pattern` becomes `replacement`.

    Without a pattern, the stage is that of a wrong kernel. It is found if a report is of one of `kinds`, is
    about a buffer whose name matches `buffer`, and is at one of `lines` of the kernel, or names one.
    """

    stage: str
    what: str
    kinds: tuple[str, ...]
    buffer: str
    lines: tuple[int, ...]
    pattern: str = ""
    replacement: str = ""
    number: int = 0
    thread: str = ""


def stages() -> dict[str, str]:
    """Return the text of each stage by kernel, target and stage."""
    lines = lzma.decompress(STAGES.read_bytes()).decode().splitlines()
    loaded = [json.loads(line) for line in lines]
    return {f"{item['name']} {item['stage']}": item["text"] for item in loaded}


def hazards(name: str, text: str) -> tuple[Hazard, ...]:
    """Return the reports about a stage. Raise ValueError if it could not be executed."""
    stage = name.rpartition(" ")[2]
    document = parse(text, _LANGUAGES[stage])
    if stage != "ttgir":
        return check_barriers(document, _LANGUAGES[stage])
    check = check_order(document, _TRITON)
    if check.unanswered:
        raise ValueError(f"{name}: {check.unanswered}")
    return check.hazards


def edited(text: str, planted: Planted) -> str:
    """Return a stage with a planted error. Raise ValueError if no line matches."""
    if not planted.pattern:
        return text
    lines = text.split("\n")
    matches = [number for number, line in enumerate(lines) if re.search(planted.pattern, line)]
    if len(matches) <= planted.number:
        raise ValueError(f"{planted.stage}: nothing matches {planted.pattern}")
    place = matches[planted.number]
    changed = re.sub(planted.pattern, planted.replacement, lines[place]) if planted.replacement else ""
    return "\n".join([*lines[:place], changed, *lines[place + 1 :]])


def is_found(planted: Planted, reports: tuple[Hazard, ...]) -> bool:
    """Return True if a report names the right kind, buffer and line."""
    for report in reports:
        named = {line_of(step) for step in (report.step, report.other) if step}
        if (
            report.kind in planted.kinds
            and re.search(planted.buffer, report.buffer)
            and named & set(planted.lines)
        ):
            return True
    return False


def results() -> Iterator[tuple[Planted, tuple[Hazard, ...]]]:
    """Yield each planted error with the reports about it."""
    texts = stages()
    for planted in PLANTED:
        yield planted, hazards(planted.stage, edited(texts[planted.stage], planted))


def false_alarms() -> dict[str, tuple[Hazard, ...]]:
    """Return the reports about the stages in which nothing is wrong."""
    wrong = {planted.stage for planted in PLANTED if not planted.pattern}
    return {name: hazards(name, text) for name, text in stages().items() if name not in wrong}


def main() -> None:
    """Print what is found."""
    found = 0
    for planted, reports in results():
        right = is_found(planted, reports)
        found += right
        first = (
            f"{reports[0].kind} line {line_of(reports[0].step)}, {reports[0].buffer}"
            if reports
            else "nothing"
        )
        print(f"{'found' if right else 'MISSED':7}{planted.stage:38} {planted.what}: {first}")
    threads = {planted.thread for planted in PLANTED if planted.thread}
    after = sum(bool(planted.thread) for planted in PLANTED)
    alarms = false_alarms()
    print(
        f"{found} of {len(PLANTED)} planted errors found, {after} of them written after "
        f"{len(threads)} public threads"
    )
    print(f"{sum(map(len, alarms.values()))} reports on {len(alarms)} stages without an error")


def _gluon(
    number: int, what: str, kinds: tuple[str, ...], buffer: str, *lines: int, thread: str = ""
) -> Planted:
    return Planted(f"specialized_kernel sm_90 {number} ttgir", what, kinds, buffer, lines, thread=thread)


def _tensor(
    number: int, what: str, kinds: tuple[str, ...], buffer: str, *lines: int, thread: str = ""
) -> Planted:
    return Planted(f"tensor_memory_kernel sm_100 {number} ttgir", what, kinds, buffer, lines, thread=thread)


def _rows(number: int, what: str, kinds: tuple[str, ...], *lines: int, thread: str = "") -> Planted:
    return Planted(f"copied_rows sm_80 {number} ttgir", what, kinds, "tiles", lines, thread=thread)


def _edit(
    stage: str, what: str, kinds: tuple[str, ...], buffer: str, lines: tuple[int, ...], pattern: str,
    replacement: str = "", number: int = 0, thread: str = "",
) -> Planted:  # fmt: skip
    return Planted(stage, what, kinds, buffer, lines, pattern, replacement, number, thread)


def _lowered(
    stage: str, what: str, lines: tuple[int, ...], pattern: str, number: int, thread: str = ""
) -> Planted:
    replacement = r"\g<1>7" if "(" in pattern else ""
    return Planted(stage, what, (NO_BARRIER,), "shared memory", lines, pattern, replacement, number, thread)


_TRITON_PULL = "https://github.com/triton-lang/triton/pull/"
_SM80, _SM90, _SM100 = "matmul sm_80", "host_descriptors sm_90", "host_descriptors sm_100"
_WS90, _WS100 = "specialized_gemm sm_90 ttgir", "specialized_gemm sm_100 ttgir"
PLANTED = (
    # Gluon, Hopper.
    _gluon(1, "the producer begins with the other phase", (DEADLOCK,), "ready|free", 34, 66),
    _gluon(
        2,
        "the producer does not wait for free buffers",
        (OVERWRITTEN,),
        "tiles",
        42,
        thread=f"{_TRITON_PULL}11626",
    ),
    _gluon(3, "expects the bytes of one copy of two", (COUNT,), "ready", 48, thread=f"{_TRITON_PULL}9046"),
    _gluon(4, "expects more bytes than come", (COUNT,), "ready", 66, thread=f"{_TRITON_PULL}9046"),
    _gluon(5, "expects nothing", (COUNT,), "ready", 48, 66, thread=f"{_TRITON_PULL}9046"),
    _gluon(
        6, "a copy arrives at the next barrier", (EARLY_READ,), "b_tiles", 70, thread=f"{_TRITON_PULL}11626"
    ),
    _gluon(7, "the phase changes with each step", (PHASE,), "ready", 66),
    _gluon(8, "the consumer waits for the phase before", (EARLY_READ, PHASE), "a_tiles|ready", 70, 66),
    _gluon(9, "the consumer does not wait", (EARLY_READ,), "a_tiles", 70, thread=f"{_TRITON_PULL}11626"),
    _gluon(10, "waits for one buffer and reads the next", (EARLY_READ,), "tiles", 70),
    _gluon(11, "one product too many in flight", (OVERWRITTEN,), "a_tiles", 42, thread=f"{_TRITON_PULL}2478"),
    _gluon(
        12, "frees what the product still reads", (OVERWRITTEN,), "a_tiles", 42, thread=f"{_TRITON_PULL}2478"
    ),
    _gluon(13, "frees no buffer", (DEADLOCK,), "free", 34),
    _gluon(14, "uses the sum in flight", (IN_FLIGHT,), "acc", 82, thread=f"{_TRITON_PULL}2478"),
    _gluon(15, "no fence before the store by TMA", (FENCE,), "c_tile", 85, thread=f"{_TRITON_PULL}7152"),
    _gluon(16, "writes to what is being stored", (OVERWRITTEN,), "c_tile", 87, thread=f"{_TRITON_PULL}11626"),
    _gluon(17, "ends while a tile is being stored", (OVERWRITTEN,), "c_tile", 85),
    _gluon(18, "a barrier is not initialized", (DEADLOCK,), "ready", 41, thread=f"{_TRITON_PULL}6997"),
    _gluon(
        19, "initialized for two arrivals of one", (COUNT,), "free", 34, 106, thread=f"{_TRITON_PULL}8969"
    ),
    # Gluon, Blackwell and Ampere.
    _tensor(1, "does not wait for the copies", (EARLY_READ,), "a_tile", 140, thread=f"{_TRITON_PULL}11626"),
    _tensor(2, "does not commit the product", (DEADLOCK,), "multiplied", 146),
    _tensor(3, "waits for the phase before", (PHASE,), "multiplied", 144),
    _tensor(4, "does not wait for the product", (IN_FLIGHT,), "a_tile", 136, thread=f"{_TRITON_PULL}10043"),
    _tensor(5, "always waits for the first phase", (PHASE,), "copied|multiplied", 139, 146),
    _rows(1, "copies to the block that is read next", (OVERWRITTEN,), 174),
    _rows(2, "one group too many in flight", (EARLY_READ,), 180, thread=f"{_TRITON_PULL}124"),
    _rows(3, "does not wait for copies", (EARLY_READ,), 180, thread=f"{_TRITON_PULL}124"),
    # TTGIR of the compiler's own pipelines.
    _edit(
        f"{_SM80} ttgir",
        "more groups in flight",
        (EARLY_READ,),
        "x|y",
        (11, 12),
        "num = 2",
        "num = 4",
        0,
        thread=f"{_TRITON_PULL}124",
    ),
    _edit(
        f"{_SM80} ttgir",
        "no wait before the buffers are freed",
        (OVERWRITTEN,),
        "x|y",
        (11, 12),
        "num = 0",
        thread=f"{_TRITON_PULL}124",
    ),
    _edit(
        "matmul gfx950 ttgir",
        "more groups in flight",
        (EARLY_READ,),
        "x|y",
        (11, 12),
        "num = 2",
        "num = 4",
        1,
    ),
    _edit(
        "matmul gfx1250 ttgir",
        "waits for older tokens",
        (EARLY_READ,),
        "x|y",
        (11, 12),
        r"async_wait (%acc_\d+)#5, %acc_\d+#7",
        r"async_wait \1#4, \1#6",
    ),
    _edit(
        f"{_SM90} ttgir",
        "one more product in flight",
        (IN_FLIGHT,),
        "total",
        (38,),
        "pendings = 1",
        "pendings = 2",
    ),
    _edit(
        f"{_SM90} ttgir",
        "expects too few bytes",
        (COUNT,),
        "total",
        (38,),
        "49152, %total_19",
        "32768, %total_19",
    ),
    _edit(f"{_SM90} ttgir", "does not wait for the copies", (EARLY_READ,), "total", (38,), "wait_barrier"),
    _edit(
        _WS90,
        "a consumer does not arrive",
        (DEADLOCK,),
        "%4|%10",
        (25,),
        "arrive_barrier",
        thread=f"{_TRITON_PULL}10035",
    ),
    _edit(
        _WS90,
        "half of the arrivals",
        (COUNT,),
        "%4|%10",
        (25,),
        r"arrive_barrier (%\d+), 128",
        r"arrive_barrier \1, 64",
        thread=f"{_TRITON_PULL}8969",
    ),
    _edit(_WS90, "a consumer does not wait", (EARLY_READ,), "%15|%16", (25,), "wait_barrier", "", 2),
    _edit(_WS100, "the products are not committed", (DEADLOCK,), "total", (25,), "tc_gen5_commit"),
    _edit(
        _WS100,
        "the sum is read before it is complete",
        (IN_FLIGHT, EARLY_READ),
        "total",
        (25,),
        r"wait_barrier %total_9",
    ),
    _edit(f"{_SM100} ttgir", "does not wait for the copies", (EARLY_READ,), "total", (38,), "wait_barrier"),
    # PTX and LLVM IR.
    _lowered(
        f"{_SM80} ptx",
        "no barrier after the copies in the loop",
        (11, 12),
        "bar.sync",
        2,
        thread=f"{_TRITON_PULL}124",
    ),
    _lowered(
        f"{_SM80} ptx", "no wait for copies", (11, 12), "cp.async.wait_group", 0, thread=f"{_TRITON_PULL}124"
    ),
    _lowered("attention_forward sm_90 ptx", "no barrier in a reduction", (35,), "bar.sync", 1),
    _lowered("gemm_chain sm_90 ptx", "no barrier in a change of layout", (154,), "bar.sync", 7),
    _lowered(
        "matmul gfx942 llir", "no barrier before the loads", (11, 12), "call void @llvm.amdgcn.s.barrier", 0
    ),
    _lowered(
        "matmul gfx942 llir", "no barrier before the stores", (11, 12), "call void @llvm.amdgcn.s.barrier", 1
    ),
    _lowered(
        "matmul gfx950 llir", "no barrier after the copies", (11, 12), "call void @llvm.amdgcn.s.barrier", 1
    ),
    _lowered("matmul gfx1250 llir", "more copies in flight", (11, 12), r"(asynccnt\(i16 )\d+", 0),
)

if __name__ == "__main__":
    main()
