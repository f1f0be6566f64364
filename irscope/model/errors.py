"""The one exception that is meant for a person: the command line prints its line and exits with 2."""


class UserError(Exception):
    """Wrong use or unreadable input: one line that names the thing, what is wrong and what to do."""
