"""Where program text comes from: files with a line index, and the file systems that hold them."""

from kcl.source.file import SourceFile
from kcl.source.file_system import (
    FileSystem,
    InMemoryFileSystem,
    OsFileSystem,
    OverlayFileSystem,
    RecordingFileSystem,
    StampingFileSystem,
    decode,
    is_disk,
    is_normal,
)

__all__ = [
    "FileSystem",
    "InMemoryFileSystem",
    "OsFileSystem",
    "OverlayFileSystem",
    "RecordingFileSystem",
    "SourceFile",
    "StampingFileSystem",
    "decode",
    "is_disk",
    "is_normal",
]
