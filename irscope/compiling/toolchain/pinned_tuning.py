"""Autotuners that take their choice from pins: they compile only the winner, and measure nothing.

For each choice, the file is made that Triton reads if TRITON_CACHE_AUTOTUNING=1 or `cache_results=True` is
set (`Autotuner.check_disk_cache`, 3.6 to 3.9). Triton computes its name: from the compiler, the target, the
kernel's source, the environment, the tuning key, and the text of each config that is left after pruning.
Runs in processes that have Triton.
"""

from __future__ import annotations

import ast
import datetime
import functools
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irscope.compiling.constexpr_values import plain_value
from irscope.compiling.kernels import source_function
from irscope.compiling.toolchain.patching import patched
from irscope.model import Config, Tuning, UserError, format_value
from irscope.model.records import frozen
from irscope.model.text import pluralize
from irscope.model.tuning_pin import Pin, source_digest

# The values of a `triton.Config` that are the same as not set.
_UNSET = {("num_ctas", "1"), ("maxnreg", "None")}

_VERSION = re.compile(r"\b\d+(?:\.\d+)+")
_DRIVER_FILES = (("/proc/driver/nvidia/version", _VERSION), ("/sys/module/amdgpu/version", _VERSION))


@frozen
class AutotuneFile:
    """A file of Triton's cache: its folder and name in the cache, and its text."""

    folder: str
    name: str
    text: str


@dataclass
class PinnedTuning:
    """The pins of a program, what was made of them, and one line per pin or kernel that cannot be pinned.

    With `only_pinned`, a launch for whose key there is no pin raises NoPinError.
    """

    pins: Sequence[Pin]
    only_pinned: bool = False
    files: dict[str, AutotuneFile] = field(default_factory=dict)
    unpinned: dict[tuple[str, str], int] = field(default_factory=dict)
    problems: dict[str, None] = field(default_factory=dict)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Within the block, autotuners choose the pinned config without measuring."""
        from triton.runtime.autotuner import Autotuner

        prune = Autotuner.prune_configs

        @functools.wraps(prune)
        def prune_configs(tuner: Any, kwargs: dict[str, Any]) -> Any:
            configs = prune(tuner, kwargs)
            winner = self._choice(tuner, tuning_key(tuner, kwargs), configs)
            return configs if winner is None else [winner]

        with patched(Autotuner, "prune_configs", prune_configs):
            yield

    def unpinned_lines(self) -> Iterator[str]:
        """Yield a line per kernel that has pins, but none for some of its tuning keys."""
        pinned = {pin.kernel for pin in self.pins}
        for kernel in sorted({name for name, _ in self.unpinned} & pinned):
            unpinned_keys = {key: number for (name, key), number in self.unpinned.items() if name == kernel}
            first = next(iter(unpinned_keys)) + (", ..." if len(unpinned_keys) > 1 else "")
            yield (
                f"{kernel}: no pin for {pluralize(len(unpinned_keys), 'tuning key')} ({first}): "
                f"all {pluralize(sum(unpinned_keys.values()), 'config')} are compiled, "
                "and production measures them"
            )

    def _choice(self, tuner: Any, key: tuple[Any, ...], configs: Sequence[Any]) -> Any:
        """Return the pinned one of `configs`, or None if there is no pin that fits."""
        function = _jit_function(tuner)
        name, target = function.fn.__name__, _target_text()
        pin = next((p for p in self.pins if (p.kernel, p.target) == (name, target) and _fits(p, key)), None)
        if pin is None and self.only_pinned:
            raise NoPinError
        if pin is None:
            self.unpinned[name, str(key)] = len(configs)
            return None
        where = f"{name}, key {pin.tuning.key}"
        winner = max(
            (config for config in configs if _matches(config, pin.config)),
            key=lambda config: len(config.kwargs),
            default=None,
        )
        if winner is None:
            self._problem(f"{where}: no config is {pin.config} any more, so all {len(configs)} are compiled")
            return None
        if pin.source not in ("", source_digest(source_function(function).text)):
            self._problem(f"{where}: the kernel has changed since this was measured")
        if pin.tuning.configs not in (0, len(configs)):
            now, then = pluralize(len(configs), "config"), pin.tuning.configs
            self._problem(f"{where}: pruning leaves {now} here and left {then} when it was measured")
        try:
            file = autotune_file(tuner, pin.tuning.key, configs, winner, pin.milliseconds or 0.0)
        except UncachedError as error:
            self._problem(
                f"{name}: Triton keeps no autotune results of it ({error}): "
                f"all {pluralize(len(configs), 'config')} are compiled, and production measures them"
            )
            return None
        self.files[f"{file.folder}/{file.name}"] = file
        return winner

    def _problem(self, line: str) -> None:
        self.problems.setdefault(line)


class UncachedError(Exception):
    """Triton never reads the autotune results of this kernel from its cache; the text says why."""


class NoPinError(UserError):
    """There is no pin for a tuning key."""


class _StopError(Exception):
    """Triton has computed the name of the file."""


class _TuningKey(tuple[str, ...]):
    """A tuning key of which only the text is known."""

    __slots__ = ()

    def __str__(self) -> str:
        return self[0]


@dataclass
class _Manager:
    """Replaces Triton's cache manager: keeps the names, has no file."""

    key: str
    name: str = ""

    def get_file(self, name: str) -> None:
        """None: there is no such file."""
        self.name = name


def autotune_file(
    tuner: Any, key: str, configs: Sequence[Any], winner: Any, milliseconds: float
) -> AutotuneFile:
    """Return the file by which Triton chooses `winner` among `configs` for a tuning key.

    The key is given as text. Raises UncachedError if Triton would not read the file.
    """
    from triton.runtime import autotuner, cache

    managers: list[_Manager] = []

    def manager(of: str) -> _Manager:
        managers.append(_Manager(of))
        return managers[-1]

    with patched(autotuner, "get_cache_manager", manager), suppress(_StopError):
        # Where nothing can be measured, Triton's own function is replaced by one that wraps it.
        check = inspect.unwrap(autotuner.Autotuner.check_disk_cache)
        check(tuner, () if key == "()" else _TuningKey([key]), configs, _stop)
    if not managers:
        reason = "a config has a pre_hook" if any(c.pre_hook for c in configs) else "its key is empty"
        raise UncachedError(reason)
    try:
        times = [milliseconds] * 3
        text = json.dumps({"key": _key_values(key), "configs_timings": [[vars(winner), times]]})
    except TypeError as error:
        raise UncachedError(f"JSON cannot hold its config ({error})") from error
    return AutotuneFile(cache._base32(managers[0].key), managers[0].name, text)


def _stop() -> None:
    raise _StopError


def write_autotune_files(files: Iterable[AutotuneFile]) -> None:
    """Write the files into the cache of this process. Raises OSError."""
    from triton import knobs

    for file in files:
        folder = Path(knobs.cache.dir) / file.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file.name).write_text(file.text)


def tuning_key(tuner: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key for which an autotuner chooses a config (`Autotuner.run` of 3.6 to 3.9)."""
    arguments = {name: value for name, value in {**tuner.nargs, **kwargs}.items() if name in tuner.arg_names}
    values = [arguments[name] for name in tuner.keys if name in arguments]
    return (*values, *(str(value.dtype) for value in arguments.values() if hasattr(value, "dtype")))


def tuning_run(tuner: Any, kwargs: dict[str, Any], configs: int) -> Tuning:
    """Return the run of an autotuner that begins now, with the device and driver that it measures on."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Tuning(str(tuning_key(tuner, kwargs)), configs, _device_name(), _driver_version(), now)


def _device_name() -> str:
    torch = sys.modules.get("torch")
    try:
        return str(torch.cuda.get_device_name()) if torch is not None else ""
    except Exception:  # noqa: BLE001 - the name is only for the reader
        return ""


@functools.cache
def _driver_version() -> str:
    """Return the version of the kernel module, or "" if it is unknown.

    NVIDIA's and AMD's drivers publish it on Linux, and nowhere else.
    """
    for path, pattern in _DRIVER_FILES:
        with suppress(OSError):
            if match := pattern.search(Path(path).read_text(encoding="utf-8", errors="replace")):
                return match[0]
    return ""


def _key_values(key: str) -> list[Any]:
    try:
        return list(ast.literal_eval(key))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return [key]


def _fits(pin: Pin, key: tuple[Any, ...]) -> bool:
    """Return True if a pin is for this key, with the types of the tensors in any order.

    Triton takes them in the order of the call, and keyword arguments of a launch may have any.
    """
    if pin.tuning.key == str(key):
        return True
    try:
        return sorted(map(repr, ast.literal_eval(pin.tuning.key))) == sorted(map(repr, key)) and all(
            a == b for a, b in zip(ast.literal_eval(pin.tuning.key), key, strict=True) if not _is_dtype(b)
        )
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def _is_dtype(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("torch.")


def _matches(config: Any, pinned: Config) -> bool:
    """Return True if the pinned values contain all those of a triton.Config.

    The pinned values may also contain those of heuristics.
    """
    config_values = {(name, format_value(plain_value(value))) for name, value in config.all_kwargs().items()}
    return config_values - _UNSET <= {(name, format_value(value)) for name, value in pinned.values}


def _jit_function(tuner: Any) -> Any:
    from triton.runtime.jit import JITFunction

    function = tuner.fn
    while not isinstance(function, JITFunction):
        function = function.fn
    return function


def _target_text() -> str:
    from triton.runtime import driver

    target = driver.active.get_current_target()
    return f"{target.backend}:{target.arch}"
