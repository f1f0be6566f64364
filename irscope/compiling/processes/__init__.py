"""Starting and ending other programs: new Pythons, tools, temporary folders."""
