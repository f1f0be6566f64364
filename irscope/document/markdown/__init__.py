"""Reports as Markdown, for an issue or a pull request."""
