"""The three ways to patch an object besides server-side apply.

`patched` does all that a request needs. The three below it take the object as it is written out and give a new one,
not yet decoded: JSON and merge patches are decoded with `decode.check`, strategic ones with `decode.restore`, which
differ in what they say about wrong types. Patch bodies are what `decode.parse_json` gives.
"""

from runtimes.sandbox.patch.errors import PatchError
from runtimes.sandbox.patch.json_patch import json_patch
from runtimes.sandbox.patch.merge_patch import duplicates, merge_patch
from runtimes.sandbox.patch.patched import PatchType, patched, unreadable
from runtimes.sandbox.patch.strategic_merge import strategic

__all__ = ["PatchError", "PatchType", "duplicates", "json_patch", "merge_patch", "patched", "strategic", "unreadable"]
