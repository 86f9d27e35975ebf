"""Screens of the terminal face, one a file."""
