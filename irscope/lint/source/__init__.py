"""What Python source tells, read with `ast`: nothing is imported and nothing is executed."""
