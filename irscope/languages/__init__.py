"""Text -> parsed document, one module a language, and the Pygments lexers to show it with."""
