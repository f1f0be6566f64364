"""The same facts and diffs as text, Markdown, CSV and JSON."""
