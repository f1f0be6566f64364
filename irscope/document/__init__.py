"""Reports as text, JSON, Markdown, HTML and CSV. They lay out what the workspace computed."""
