"""Which images may be updated to what: `images.yaml` at the root of the repository.

    images:                                    # the first that fits an image of a stack decides
      - image: registry.example.org/shop/*     # glob over an image without its tag
        policy: ^2.4                           # a range of versions, or `digest`
        stacks: ["*/dev"]                      # globs over project/stack; all by default

It names registries, and nothing is asked of one by that: who runs the command says which may be.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from kcl.records import dataclass
from workbench.project.bounds import refuse_foreign
from workbench.project.errors import BrokenFile
from workbench.project.names import StackPath
from workbench.project.yaml_file import only_keys, read_mapping, text_at, texts_at

IMAGES_FILE: Final = "images.yaml"
DIGEST: Final = "digest"


@dataclass(frozen=True, slots=True)
class ImagePolicy:
    """`policy` is a range of versions as it is written, or `digest`."""

    image: str
    policy: str
    stacks: tuple[str, ...] = ("*",)

    def covers(self, stack: StackPath, image: str) -> bool:
        return fnmatchcase(image, self.image) and any(stack.matches(glob) for glob in self.stacks)


def read_images(root: Path) -> tuple[ImagePolicy, ...]:
    """Reads `images.yaml`; raises `BrokenFile` where it is not there or not understood, `OutsideRepository`."""
    path = root / IMAGES_FILE
    refuse_foreign(path, root)
    if not path.is_file():
        raise BrokenFile("is not there: nobody said which images may be updated", where=str(path), hint="write one")
    content = read_mapping(path)
    only_keys(content, ("images",), str(path))
    entries = content.get("images")
    if not isinstance(entries, list) or not entries:
        raise BrokenFile("needs a list of images", where=str(path))
    return tuple(_policy(each, path) for each in entries)


def _policy(entry: object, path: Path) -> ImagePolicy:
    if not isinstance(entry, dict):
        raise BrokenFile("an entry needs to be a mapping with image and policy", where=str(path))
    only_keys(entry, ("image", "policy", "stacks"), str(path))
    image, policy = text_at(entry, "image", path), text_at(entry, "policy", path)
    if not image or not policy:
        raise BrokenFile("an entry needs image and policy", where=str(path))
    stacks = texts_at(entry, "stacks", path) if "stacks" in entry else ("*",)
    return ImagePolicy(image, policy, tuple(stacks))
