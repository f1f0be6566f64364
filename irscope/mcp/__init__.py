"""irscope for agents: a Model Context Protocol server with a warm compiler and short answers.

Architecture Invariant: the server computes nothing; its tools ask `workspace` and lay out what it says. User
code runs only in worker processes (`warm_compiler.py`), never in the server.
"""
