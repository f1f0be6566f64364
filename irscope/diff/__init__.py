"""Two parsed stages -> aligned rows with classified changes."""
