"""Every rule there is."""

from __future__ import annotations

from irscope.lint.capture.checks import CHECKS as OF_CAPTURES
from irscope.lint.diagnostic import Rule
from irscope.lint.source.checks import CHECKS as OF_SOURCE

RULES: tuple[Rule, ...] = (*OF_SOURCE, *OF_CAPTURES)
