"""The command line face: one command a file."""
