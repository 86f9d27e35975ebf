"""What is secret by rule: by the name of what holds a value, and by the look of the value itself.

names    telling names of options, environment variables, settings and attributes
shapes   texts that tell by their look that they are, or hold, a secret
rules    both, with what a repository adds
environments  what programs that are started get of the environment

The one place for this: the language asks for its cache, the runtimes and the workbench for what they show and write
down. It imports nothing of ours, and `names` nothing at all, as the quickest start of `kcl run` asks it.
"""
