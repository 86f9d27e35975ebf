"""runtimes/kubernetes."""
