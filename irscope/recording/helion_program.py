"""The program that `irscope compile` captures for a Helion kernel: it launches the kernel under each config.

Helion generates another Triton kernel per config, so the kernels are captured as those of a program are.
Started as `python -m irscope.recording.helion_program REQUEST`; see `compile/helion.py`.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irscope.compiling.kernels import combined_configs, example_arguments
from irscope.compiling.python_files import import_file, load_file
from irscope.compiling.worker import FP_FUSION_WARNING
from irscope.model import UserError
from irscope.model.errors import print_note
from irscope.recording.helion_search import first_configs


def main(text: str) -> int:
    """Launch the kernel of the request, and print a line per problem.

    Returns 1 if Helion rejected a config, 2 if the request does not fit the kernel.
    """
    warnings.filterwarnings("ignore", message=FP_FUSION_WARNING)
    request = json.loads(text)
    try:
        kernel = _kernel(Path(request["file"]), request["kernel"])
        args = example_arguments(kernel, request["signature"], request["constants"])
        bound = _bind(kernel, args)
        configs = combined_configs(_configs(bound, args, request["configs"]), request["axes"])
    except UserError as error:
        print_note(error)
        return 2
    return max([_launch(bound, args, config, request["axes"]) for config in configs], default=0)


def _kernel(file: Path, name: str) -> Any:
    kernel = load_file(file).get(name)
    if kernel is None:
        raise import_file(file).error or UserError(f"{file}: no kernel '{name}'")
    return kernel


def _bind(kernel: Any, args: Sequence[Any]) -> Any:
    try:
        return kernel.bind(args)
    except Exception as error:
        raise UserError(f"{kernel.name}: Helion rejects these arguments: {_one_line(error)}") from error


def _configs(bound: Any, args: Sequence[Any], most: int | None) -> list[Any]:
    """Return the kernel's own configs, else the default one.

    With `most`, return that many of those that the autotuner would try first.
    """
    if most is not None:
        try:
            search = bound.settings.autotuner_fn(bound, args)
        except Exception as error:
            raise UserError(f"--configs: Helion's autotuner cannot start: {_one_line(error)}") from error
        return first_configs(getattr(search, "autotuner", search), most)[0]
    return list(bound.configs) or [bound.config_spec.default_config()]


def _launch(bound: Any, args: Sequence[Any], config: Any, axes: Sequence[str]) -> int:
    try:
        bound.compile_config(config, allow_print=False)(*args)
    except Exception as error:  # noqa: BLE001 - Helion and the host function may raise anything
        named = ", ".join(f"{name}={config.config[name]}" for name in axes) or str(config)
        print_note(f"rejected by Helion: {named}: {_one_line(error)}")
        return 1
    return 0


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
