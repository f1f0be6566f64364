"""The screens: which widgets stand where, and what happens when the user asks for something."""
