"""`kcl query` and `kcl set`: what a file says, read and written without running it.

reading     the files that are asked about
variables   variables with what is written for them, by path
schemas     schemas with attributes, types, defaults, docs and decorators
arguments   calls of `option`
command     `kcl query`
"""
