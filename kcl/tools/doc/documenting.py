"""Pages of packages, for other programs as well as for the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from kcl.records import dataclass
from kcl.tools.doc import html, markdown, openapi
from kcl.tools.doc.masking import Masking
from kcl.tools.doc.model import Library, Problem
from kcl.tools.doc.pages import Book, Page, book
from kcl.tools.doc.reading import library
from kcl.tools.doc.sources import Sources

_WRITERS: Final[Mapping[str, tuple[Callable[[Book], list[Page]], tuple[str, ...]]]] = {
    "md": (markdown.pages, (".md",)),
    "html": (html.pages, (".html", ".css", ".js")),
    "openapi": (openapi.pages, (openapi.NAME,)),
}
FORMATS: Final = tuple(_WRITERS)


@dataclass(frozen=True, slots=True)
class Documentation:
    """Pages, with what they were made from; the first is the index. `suffixes` are what names of pages end in.

    `masking` knows the secrets that the sources hold and the pages do not.
    """

    pages: tuple[Page, ...]
    library: Library
    suffixes: tuple[str, ...]
    masking: Masking

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read, and is missing from the pages."""
        return self.library.problems


def documentation(
    paths: Sequence[str] = ("./...",),
    *,
    cwd: str | Path = ".",
    form: str = "md",
    with_deprecated: bool = True,
    packages: Mapping[str, str] | None = None,
    downloaded: str | None = None,
) -> Documentation:
    """Reads packages and makes their pages; writes nothing. Raises NoFiles where the paths name no package.

    A path is a file, a folder, or `FOLDER/...` for all below it, relative to `cwd`. `form` is one of `FORMATS`.
    `packages` says in which folders packages lie that kcl.mod does not tell of, `downloaded` where `kcl mod` puts them:
    bases are followed and names are linked to where such a package is among the paths.
    """
    write, suffixes = _WRITERS[form]
    sources = Sources(downloaded=downloaded, packages=packages)
    folders = sources.folders(paths, os.path.abspath(cwd))
    masking = Masking()
    found = library(folders, sources.roots, masking, with_deprecated=with_deprecated)
    return Documentation(tuple(write(book(found))), found, suffixes, masking)
