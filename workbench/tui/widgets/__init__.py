"""Widgets of the terminal face."""
