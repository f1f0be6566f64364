"""The rules, by subject: what a module of this package defines of type Rule is one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from irscope.lint.diagnostic import CaptureRule, LaunchRule, Rule, SourceRule


def _discovered() -> tuple[Rule, ...]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    rules = {value for module in modules for value in vars(module).values() if isinstance(value, Rule)}
    return tuple(sorted(rules, key=lambda rule: rule.code))


RULES = _discovered()
SOURCE_RULES = tuple(rule for rule in RULES if isinstance(rule, SourceRule))
CAPTURE_RULES = tuple(rule for rule in RULES if isinstance(rule, CaptureRule))
LAUNCH_RULES = tuple(rule for rule in RULES if isinstance(rule, LaunchRule))
