"""Reports for a person at a terminal."""
