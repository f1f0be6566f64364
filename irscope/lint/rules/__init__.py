"""The rules: every module of this package defines one, as `RULE`. A new file here is a new rule."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from irscope.lint.diagnostic import CaptureRule, LaunchRule, Rule, SourceRule


def _discovered() -> tuple[Rule, ...]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    rules: list[Rule] = [module.RULE for module in modules]
    return tuple(sorted(rules, key=lambda rule: rule.code))


RULES = _discovered()
SOURCE_RULES = tuple(rule for rule in RULES if isinstance(rule, SourceRule))
CAPTURE_RULES = tuple(rule for rule in RULES if isinstance(rule, CaptureRule))
LAUNCH_RULES = tuple(rule for rule in RULES if isinstance(rule, LaunchRule))
