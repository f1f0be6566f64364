import random

import pytest

from irscope.targets.cuda import KernelInfo, kernel_info
from irscope.targets.elf import sections
from tests.findings.builders import FACTS


# Printed by `cuobjdump -res-usage` and `-elf` for these cubins.
@pytest.mark.parametrize(
    ("file", "registers", "stack", "barriers"),
    [
        ("add_kernel.cuda-80", 26, 0, 0),
        ("add_kernel.cuda-90", 26, 0, 0),
        ("add_kernel.cuda-100", 26, 0, 0),
        ("softmax_kernel.cuda-80", 23, 0, 1),
        ("softmax_kernel.cuda-90", 22, 0, 1),
        ("softmax_kernel.cuda-100", 23, 0, 1),
        ("softmax_kernel.spills.cuda-90", 24, 224, 1),
    ],
)
def test_kernel_info_equals_cuobjdumps(file, registers, stack, barriers):
    content = (FACTS / f"{file}.cubin").read_bytes()
    assert kernel_info(content, file.partition(".")[0]) == KernelInfo(registers, stack, barriers)


def test_a_missing_kernel_has_unknown_resources():
    content = (FACTS / "add_kernel.cuda-90.cubin").read_bytes()
    assert kernel_info(content, "other_kernel") == KernelInfo(None, None, None)


def test_sections_hold_the_code():
    by_name = {
        section.name: section for section in sections((FACTS / "add_kernel.cuda-90.cubin").read_bytes())
    }
    code = by_name[".text.add_kernel"]
    assert len(code.data) == code.size > 0
    assert code.size % 128 == 0


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x01\x01" + bytes(80), b"no ELF" * 30])
def test_invalid_elf_files_raise_value_error(content):
    with pytest.raises(ValueError, match="ELF"):
        sections(content)


def test_a_damaged_cubin_gives_an_answer_or_a_value_error():
    content = (FACTS / "softmax_kernel.spills.cuda-90.cubin").read_bytes()
    numbers = random.Random(7)
    for _ in range(500):
        damaged = bytearray(content[: numbers.randrange(len(content))])
        for _ in range(numbers.randrange(40)):
            if damaged:
                damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        try:
            kernel_info(bytes(damaged), "softmax_kernel")
        except ValueError:
            continue
    headers_hit = bytearray(content)
    for offset in range(64):
        headers_hit[offset] ^= 0xFF
        try:
            kernel_info(bytes(headers_hit), "softmax_kernel")
        except ValueError:
            continue
