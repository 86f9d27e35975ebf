"""Warm equals cold: what a cache answers is what a compilation comes to that has none, after whatever was edited.

repositories.py   what is compiled: copies of konfig-2023 and of the sample, and one that is generated
edits.py          what happens to files on disk, so that a careless cache would overlook it
faces.py          the ways to compile, each with its caches and without them
observation.py    all that can be seen of what a compilation comes to
"""
