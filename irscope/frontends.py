"""The former name of `irscope.targets.frontends`, which plug-ins import. Deprecated; goes with 2.0."""

from __future__ import annotations

import sys
import warnings

from irscope.targets import frontends
from irscope.targets.frontends import *  # noqa: F403 - the same names as before

warnings.warn("irscope.frontends is now irscope.targets.frontends", DeprecationWarning, stacklevel=2)
sys.modules[f"{__name__}.frontend"] = frontends
