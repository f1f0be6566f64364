import dataclasses

import pytest

from irscope.facts.duplicates import are_duplicates, duplicate_groups
from irscope.facts.measure import measure
from irscope.targets.elf import code_digest, sections
from tests.findings.builders import FACTS, variant


def cubin(name):
    return (FACTS / f"{name}.cubin").read_bytes()


def facts_of(made, content):
    return measure(made, {"cubin": content}.get)


def test_debug_information_does_not_count():
    ours, moved = cubin("add_kernel.cuda-90"), cubin("add_kernel.moved.cuda-90")
    assert ours != moved
    assert code_digest(ours) == code_digest(moved)


def test_other_code_has_another_digest():
    names = [
        "add_kernel.cuda-90",
        "add_kernel.cuda-80",
        "softmax_kernel.cuda-90",
        "softmax_kernel.spills.cuda-90",
    ]
    assert len({code_digest(cubin(name)) for name in names}) == 4


def test_the_distance_to_the_code_does_not_count_because_it_depends_on_the_length_of_names():
    content = (FACTS / "add_kernel.hip-gfx942.hsaco").read_bytes()
    (rodata,) = (section for section in sections(content) if section.name == ".rodata")
    place = content.index(bytes(rodata.data))
    for byte, counts in ((16, False), (23, False), (0, True), (48, True)):
        changed = bytearray(content)
        changed[place + byte] ^= 1
        assert (code_digest(bytes(changed)) != code_digest(content)) == counts, byte


def test_every_byte_of_the_code_counts():
    content = bytearray(cubin("add_kernel.cuda-90"))
    before = code_digest(bytes(content))
    code = next(section for section in sections(bytes(content)) if section.name == ".text.add_kernel")
    place = bytes(content).index(bytes(code.data))
    content[place + 8] ^= 1
    assert code_digest(bytes(content)) != before


def test_a_code_object_has_a_digest_and_damage_has_none():
    assert len(code_digest((FACTS / "add_kernel.hip-gfx942.hsaco").read_bytes())) == 64
    with pytest.raises(ValueError, match="ELF"):
        code_digest(b"not an object")


def test_duplicates_have_identical_code_and_launch_parameters():
    content = cubin("add_kernel.cuda-90")
    contents = [
        content,
        cubin("add_kernel.moved.cuda-90"),
        cubin("softmax_kernel.cuda-90"),
        content,
        content,
        None,
    ]
    metadata = [{}, {"num_stages": 4}, {}, {"shared": 1024}, {}, {}]
    variants = [
        variant(name="add_kernel", id_=number, metadata=extra)
        for number, extra in enumerate(metadata, start=1)
    ]
    facts = {made.id: facts_of(made, code) for made, code in zip(variants, contents, strict=True)}
    assert [[made.id for made in group] for group in duplicate_groups(variants, facts)] == [[1, 2, 5]]


def test_variants_of_two_captures_are_compared_by_code_not_by_id():
    a = variant(name="add_kernel")
    other = dataclasses.replace(a, target=variant("cuda:80").target)
    facts = facts_of(a, cubin("add_kernel.cuda-90"))
    assert are_duplicates(a, a, facts, facts)
    assert not are_duplicates(a, other, facts, facts)
    assert not are_duplicates(a, a, facts, {})
