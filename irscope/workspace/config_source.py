"""A variant's config as the Python that makes it."""

from __future__ import annotations

from irscope.model import OPTION_NAMES, Dtype, Value, Variant
from irscope.model.object_values import literal


def config_code(variant: Variant) -> str:
    """`triton.Config({"BLOCK_M": 64}, num_warps=4)`, to paste into a list for `@triton.autotune`.

    Options of a backend (`waves_per_eu`) are among the meta-parameters, as Triton takes them.
    """
    config = variant.config
    meta = ", ".join(f'"{name}": {_code(value)}' for name, value in config.meta.items())
    options = [f"{name}={_code(config.options[name])}" for name in OPTION_NAMES if name in config.options]
    return f"triton.Config({', '.join(['{' + meta + '}', *options])})"


def _code(value: Value) -> str:
    return str(value) if isinstance(value, Dtype) else literal(value)
