"""Edits that are tried before they are made: over the files, never in them.

A `WhatIf` is a value: each edit gives another one, so undo is keeping the old one. Its `inputs` are handed to compile,
diff and plan; the patch is what a commit would hold; only `write` touches the working tree.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kcl import whole_file
from kcl.records import dataclass, field, replace
from kcl.regular import read_regular
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EditFailed
from workbench.engine.spec import SourceSite
from workbench.project import is_git


@dataclass(frozen=True, slots=True)
class WhatIf:
    """`edits` hold the whole new text of each edited file, `originals` what it was when it was first edited.

    A file that did not exist has None as its original.
    """

    root: Path
    base: CompileInputs = field(default_factory=CompileInputs)
    edits: Mapping[Path, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    originals: Mapping[Path, str | None] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @property
    def inputs(self) -> CompileInputs:
        """What to compile, diff or plan with, to see the effect of the edits."""
        return replace(self.base, overlay={**self.base.overlay, **self.edits})

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(self.edits)

    def text(self, file: Path | str) -> str:
        """Returns the file's present text in this what-if; raises `EditFailed` if there is none."""
        path = self._inside(file)
        if path in self.edits:
            return self.edits[path]
        text = _read(path)
        if text is None:
            raise EditFailed("there is no such file", where=str(path))
        return text

    def edit(self, file: Path | str, text: str) -> WhatIf:
        """Gives a file another text; with its original text the edit is gone. Raises `EditFailed` outside the root."""
        path = self._inside(file)
        original = self.originals[path] if path in self.originals else _read(path)
        edits = {each: content for each, content in self.edits.items() if each != path}
        originals = {each: content for each, content in self.originals.items() if each != path}
        if text != original:
            edits[path], originals[path] = text, original
        return replace(self, edits=edits, originals=originals)

    def set_value(self, site: SourceSite, value: Any) -> WhatIf:
        """Replaces the value that is written at a site of a provenance chain, keeping everything around it.

        Raises `EditFailed` where the text there is no value that can be replaced.
        """
        from kcl.api import replace_at

        try:
            text = replace_at(self.text(site.file), site.line, site.column, value)
        except (TypeError, ValueError) as error:
            raise EditFailed(str(error), where=f"{site.file}:{site.line}", hint="edit the file instead") from error
        return self.edit(site.file, text)

    def revert(self, file: Path | str) -> WhatIf:
        path = self._inside(file)
        return self.edit(path, self.originals[path] or "") if path in self.edits else self

    def patch(self) -> str:
        """Returns a unified diff with paths from the root (`git apply` takes it), empty without edits."""
        return "".join(self._patch(path) for path in sorted(self.edits))

    def write(self) -> tuple[Path, ...]:
        """Writes the edited files, each as a whole or not at all; returns them.

        Raises `EditFailed` before the first write if one was changed on disk since it was edited here, or if its
        folder is a link now.
        """
        for path in self.edits:
            if self._inside(path) != path:
                raise EditFailed("is reached by a link meanwhile", where=str(path), hint="start the what-if again")
            if _read(path) != self.originals[path]:
                raise EditFailed("changed on disk meanwhile", where=str(path), hint="start the what-if again")
        for path, text in self.edits.items():
            _write(path, text)
        return self.files

    def restore(self) -> None:
        """Gives files that `write` wrote the texts they had, where nobody wrote them since."""
        for path, text in self.originals.items():
            if _read(path) != self.edits[path]:
                continue
            if text is None:
                path.unlink()
            else:
                _write(path, text)

    def _patch(self, path: Path) -> str:
        name = path.relative_to(self.root).as_posix()
        original = self.originals[path]
        lines = difflib.unified_diff(
            (original or "").splitlines(keepends=True),
            self.edits[path].splitlines(keepends=True),
            "/dev/null" if original is None else f"a/{name}",
            f"b/{name}",
        )
        return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)

    def _inside(self, file: Path | str) -> Path:
        path = (self.root / file).resolve()
        if not path.is_relative_to(self.root):
            raise EditFailed(
                "lies outside of the repository", where=str(path), hint="a what-if edits files of the repository only"
            )
        if is_git(path, self.root):
            raise EditFailed("lies in .git", where=str(path), hint="a what-if edits files of the repository only")
        return path


def _read(path: Path) -> str | None:
    """Returns None where there is no file. Line ends stay as they are: an edit must not change them all."""
    try:
        return read_regular(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise EditFailed("cannot be read as text", where=str(path)) from error


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        whole_file.write(path, text.encode("utf-8"), mode=mode)
    except OSError as error:
        raise EditFailed(f"cannot be written: {error.strerror}", where=str(path)) from error
