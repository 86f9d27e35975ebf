"""Packages from elsewhere: found, fetched, checked, kept, published. Only what the user asks for by name runs here.

failure.py   what goes wrong
archive.py   a package as a tar file, and back, with limits
git.py       packages in git repositories; the only place that starts a process
oci.py       packages in OCI registries, through oras
store.py     the folder of downloaded packages
versions.py  which of two versions is newer
resolving.py what a package needs, and what that needs
editing.py   lines of kcl.mod
commands.py  `kcl mod`
"""
