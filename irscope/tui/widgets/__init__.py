"""The widgets, one panel per file. They draw their data and post messages about the user's actions."""
