"""`python -m irscope` is `irscope`."""

from irscope.cli.main import main

raise SystemExit(main())
