"""The names of the official Python client, over this implementation.

`import kcl.compat.api as api` instead of `import kcl_lib.api as api`. docs/compat.md lists what is there.
"""
