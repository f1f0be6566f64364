"""The compiler environment of a variant: the environment variables, and options that no config sets.

Triton compiles anew if one of these changes, so two variants that differ only here are two variants:

    DISABLE_LLVM_OPT=1 irscope compile add.py ...     BLOCK=64,num_warps=4,DISABLE_LLVM_OPT=1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# The start of the names that `Variant.cache_key` has for environment variables and options.
ENVIRONMENT, OPTION = "environment ", "option "
# Options that the environment, a decorator or a launch sets, and their defaults as text (CUDAOptions and
# HIPOptions in triton/backends/*/compiler.py of 3.6 to 3.9).
CHECKS = {"debug": "False", "sanitize_overflow": "True", "fpsan_homomorphic_casts": "False"}
# Options that only an environment variable sets, unless a launch does: the variable and the default.
OPTION_VARIABLES = {
    "ptx_options": ("PTXAS_OPTIONS", "None"),
    "instrumentation_mode": ("TRITON_INSTRUMENTATION_MODE", ""),
}
_OPTIONS = frozenset(OPTION + name for name in (*CHECKS, *OPTION_VARIABLES))
# Each of these options, its component of Triton's key, the name that users set, and the default.
_DEFAULTS = tuple(
    (option, OPTION + option, name, default)
    for option, (name, default) in (
        {name: (name, default) for name, default in CHECKS.items()} | OPTION_VARIABLES
    ).items()
)
# Triton's key has the meaning of a variable that is a switch; as users set it.
_SWITCHES = {"true": "1", "false": "0"}


def variable_value(text: str) -> str:
    """The value of an environment variable in Triton's key as users write it: "true" -> "1"."""
    return _SWITCHES.get(text, text)


def environment_components(cache_key: Mapping[str, str]) -> dict[str, str]:
    """The components of Triton's key that `environment_of` reads."""
    return {
        name: value
        for name, value in cache_key.items()
        if (name.startswith(ENVIRONMENT) and value) or name in _OPTIONS
    }


def environment_of(cache_key: Mapping[str, str], configured: Iterable[str]) -> dict[str, str]:
    """The compiler environment by name, without what is unset or a default, sorted by name.

    `cache_key` are the components of Triton's key by name; `configured` are the names that the config sets.
    """
    names = tuple(configured)
    found = {
        name.removeprefix(ENVIRONMENT): variable_value(value)
        for name, value in cache_key.items()
        if value and name.startswith(ENVIRONMENT)
    }
    for option, component, name, default in _DEFAULTS:
        value = cache_key.get(component, default)
        if value not in (default, "None", "") and option not in names:
            found[name] = value
    return dict(sorted(found.items()))
