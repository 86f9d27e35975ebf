"""What is kept on disk between processes.

    store.py     a private folder of entries: owner and checksum checked, size-bounded, safe with many processes
    sealing.py   output with secrets, which takes the files it was made of to open
    runs.py      what a run printed, taken again while every file it looked at is the same
    entries.py   entries of this compiler, written when the run is over
    objects.py   trees and types as bytes, for those who keep them
    packages.py, checks.py, code.py, by_text.py   what other processes loaded, checked and generated
    compiled.py  regular expressions and constructors, compiled once for all processes

The first three import little: the command line looks here before it loads the rest of the language.
"""
