"""Pygments lexers for the stage languages that Pygments lacks."""
