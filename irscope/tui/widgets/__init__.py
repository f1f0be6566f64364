"""The widgets, one panel per file. They draw what they get and post messages about what the user did."""
