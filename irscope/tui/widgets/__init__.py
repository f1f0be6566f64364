"""One small widget a file. They draw what they are given and tell the screen what the user asks for."""
