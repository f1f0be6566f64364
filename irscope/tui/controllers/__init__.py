"""What the main screen can do, one subject a file; each is a part that CompareScreen is made of."""
