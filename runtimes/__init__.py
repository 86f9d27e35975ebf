"""Infrastructures that can hold resources: see README.md."""
