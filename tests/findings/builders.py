"""Variants and stages for the tests of analysis."""

from pathlib import Path

from irscope.model import Artifact, Config, Kernel, SourceFunction, Toolchain, Variant
from irscope.targets import parse_target, stage_named

DATA = Path(__file__).parent.parent / "data"
STAGES = DATA / "stages"
FACTS = DATA / "facts"


def variant(target="cuda:90", name="matmul_kernel", id_=1, source=None, stages=None, **fields):
    """A variant of the kernel `name`; `metadata` gets what a small launchable kernel has."""
    metadata = {"name": name, "num_warps": 4, "shared": 0, "tmem_size": 0, "num_ctas": 1}
    metadata |= fields.pop("metadata", {})
    return Variant(
        id=id_,
        kernel=Kernel(1, name, source or SourceFunction(name, "kernels.py", 1, ""), (), ()),
        target=parse_target(target),
        specialization=(),
        config=fields.pop("config", Config()),
        toolchain=Toolchain(1, {}, ""),
        metadata=metadata,
        artifacts={stage: Artifact(stage, "", len(content)) for stage, content in (stages or {}).items()},
        **fields,
    )


def stored(name, stage):
    """The text of a committed stage, by the middle of its name ("add_kernel.cuda-90.BLOCK_SIZE=256")."""
    (path,) = (path for path in STAGES.glob(f"*{stage}") if path.name.startswith(name))
    return path.read_text()


def stage_diff(stage, left, right):
    from irscope.diff.stage_diff import diff_stage
    from irscope.languages.language import parse

    language = stage_named(stage).language
    return diff_stage(stage, parse(left, language), parse(right, language))
