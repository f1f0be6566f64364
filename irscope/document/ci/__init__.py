"""Reports for continuous integration: problems of `check`, `lint` and `diff --fail-on` in four formats."""
