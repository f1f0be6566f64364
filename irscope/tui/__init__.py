"""The Textual app. It draws what analysis and diff return, and parses nothing."""
