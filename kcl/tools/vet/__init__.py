"""`kcl vet`: holds documents of YAML and JSON against a schema.

command     the command line
data        documents, and where in their text each key and item stands
validation  a document as a program, and what the language finds in it
"""

from kcl.tools.vet.command import main

__all__ = ["main"]
