"""One module a command: arguments in, one call, exit code out."""
