"""Konfig Workbench: see README.md."""
