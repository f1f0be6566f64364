"""Launches every config of the spaces once: the program that `compile.py` captures without a GPU.

irscope run --target cuda:90 -o bits.irscope -m tests.truth.bits.launches [GLOB ...]
"""

from __future__ import annotations

import argparse

from tests.truth.bits.launching import use_scratch_memory
from tests.truth.bits.spaces import spaces


def main() -> None:
    """Launch the configs of the spaces that are asked for, and report those that fail."""
    parser = argparse.ArgumentParser("python -m tests.truth.bits.launches")
    parser.add_argument("names", nargs="*", default=["*"], metavar="GLOB", help="only these spaces")
    parser.add_argument("--configs", type=int, help="only every config up to CONFIGS of each space")
    options = parser.parse_args()
    use_scratch_memory("cuda")
    for space in spaces(options.names):
        arguments = space.tensors("cuda")
        step = max(1, len(space.configs) // options.configs) if options.configs else 1
        for config in space.configs[::step]:
            try:
                space.kernel[space.grid(config)](*space.arguments(arguments, config), **config)
            except Exception as error:  # noqa: BLE001, PERF203 - whatever Triton raises
                print(f"{space.name} {config}: {type(error).__name__}: {str(error)[:200]}", flush=True)


if __name__ == "__main__":
    main()
