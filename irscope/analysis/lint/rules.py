"""Every rule there is."""

from __future__ import annotations

from irscope.analysis.lint.capture.checks import CHECKS as OF_CAPTURES
from irscope.analysis.lint.problem import Rule
from irscope.analysis.lint.source.checks import CHECKS as OF_SOURCE

RULES: tuple[Rule, ...] = (*OF_SOURCE, *OF_CAPTURES)
