"""Controllers of the main screen, one subject per file.

A controller gets the screen in its constructor. Its methods called `action_...` are actions of the screen.
"""
