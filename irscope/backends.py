"""The former name of `irscope.targets`, which plug-ins import. Deprecated; goes with 2.0."""

from __future__ import annotations

import sys
import warnings

from irscope.targets import *  # noqa: F403 - the same names as before
from irscope.targets import backend, instructions

warnings.warn("irscope.backends is now irscope.targets", DeprecationWarning, stacklevel=2)
sys.modules |= {f"{__name__}.backend": backend, f"{__name__}.instructions": instructions}
