"""`python -m irscope` is `irscope`."""

import sys

# Python looks for modules in the working directory first, where glob.py may be somebody else's.
_ROOT = __file__.rpartition("/irscope/")[0]
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]
    if _ROOT not in sys.path:
        sys.path.append(_ROOT)

from irscope.cli.main import main  # noqa: E402

raise SystemExit(main())
