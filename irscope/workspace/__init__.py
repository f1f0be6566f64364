"""The API boundary: an open capture answers every question once, for every view."""
