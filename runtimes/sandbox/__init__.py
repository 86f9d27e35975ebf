"""runtimes/sandbox."""
