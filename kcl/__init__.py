"""The KCL language: see README.md."""
