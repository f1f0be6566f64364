"""Whether tests try every example (in CI) or a representative few (by default)."""

import os

EXHAUSTIVE = bool(os.environ.get("CI"))
