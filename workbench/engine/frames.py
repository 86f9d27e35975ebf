"""What goes between this process and those that evaluate: pickled messages, each with its length before it."""

from __future__ import annotations

import copyreg
import struct
from collections.abc import Callable
from importlib import import_module
from types import MappingProxyType
from typing import IO, Any, Final

from kcl.bounded import Allowance
from kcl.records import dataclass, field

MOST_BYTES: Final = 128 << 20
"""Of one message. What is larger is no configuration, and would have to be held by whoever asked."""
_LENGTH: Final = struct.Struct(">Q")


def _view(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


copyreg.pickle(
    MappingProxyType, lambda mapping: (_view, (dict(mapping),))
)  # what is empty by default is such a view, in resources and in inputs


class FrameTooLarge(Exception):
    """A message is longer than `MOST_BYTES`."""


@dataclass(frozen=True, slots=True)
class Work:
    """A function by its name, imported where it is called: whoever asks for it need not load what it needs."""

    module: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        return getattr(import_module(self.module), self.name)(*arguments)


@dataclass(frozen=True, slots=True)
class Ask:
    """`work(*arguments)`, where `work` is a function that the other process can import, or the name of one.

    `environment` is a dictionary as `marshal` writes it: most often the same text as before, so it need not be read.
    """

    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    allowance: Allowance
    environment: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Begun:
    """The process is there and begins: from now on the clock runs. Said once, as starting Python may take long."""


@dataclass(frozen=True, slots=True)
class Item:
    """One of several values, pickled by itself: who asked knows the time it came before it is unpacked."""

    value: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Value:
    """The value, pickled. Nothing follows."""

    value: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Finished:
    """There are no more items."""


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception, pickled. Nothing follows."""

    error: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Leaving:
    """The process ends after what follows: what it keeps has grown too large. Another is to be asked next."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A limit was exceeded (`kcl.bounded.watchdog.Exceeded`) at that place of the program; the process ends."""

    what: str
    where: str


def write(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def read(stream: IO[bytes]) -> bytes:
    """Raises EOFError where the other side is gone, and FrameTooLarge."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    if length > MOST_BYTES:
        raise FrameTooLarge
    message = stream.read(length)
    if len(message) < length:
        raise EOFError
    return message
