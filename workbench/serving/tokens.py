"""The token that a client of the server has to have: random, in a file that only its owner can read."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kcl import whole_file
from kcl.regular import open_regular
from workbench.project import WorkbenchError

_TOKEN: Final = re.compile(r"[\x21-\x7e]{16,512}")


class BadToken(WorkbenchError):
    """The file of a token cannot be used."""


@contextmanager
def token_to_serve_with(file: Path | None, state_dir: Path) -> Iterator[tuple[str, Path]]:
    """Gives the token and where it is: in the file of the user, else in one of this process, which goes at the end."""
    own = state_dir / "serve" / f"{os.getpid()}.token"
    if file is not None:
        yield token_of(file), file
        return
    try:
        yield new_token(own), own
    finally:
        own.unlink(missing_ok=True)


def token_of(file: Path) -> str:
    """The token in a file; one that is not there gets a new one. Raises `BadToken`."""
    try:
        with os.fdopen(open_regular(file), "rb") as stream:
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            text = stream.read(1024).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return new_token(file)
    except OSError as error:
        raise BadToken(f"cannot be read: {error.strerror}", where=str(file)) from None
    if mode & 0o077:
        raise BadToken("can be read by others", where=str(file), hint=f"chmod 600 {file}")
    if not _TOKEN.fullmatch(text):
        raise BadToken(
            "has no token: a token is 16 to 512 characters of ASCII, without spaces",
            where=str(file),
            hint="remove it, and a new one is written",
        )
    return text


def new_token(file: Path) -> str:
    """Writes a new token; raises `BadToken`."""
    token = secrets.token_urlsafe(32)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_file.write(file, f"{token}\n".encode())
    except OSError as error:
        raise BadToken(f"cannot be written: {error.strerror}", where=str(file)) from None
    return token
