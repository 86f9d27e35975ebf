"""What answers rest on, and whether they still hold.

    inputs.py     stamps of files and folders, and the one rule of when a stamp tells anything; the clock is handed in
    contents.py   what a path held, by its stamp and by a digest of its content
    queries.py    answers worked out again only when what they rest on has changed

Imports next to nothing: the command line asks `inputs` before it loads the language.
"""
