"""Where program text comes from: files with a line index, and the file systems that hold them."""

from kcl.reach import Bounds, is_normal
from kcl.source.file import SourceFile
from kcl.source.file_system import (
    BoundedFileSystem,
    FileSystem,
    InMemoryFileSystem,
    OsFileSystem,
    OutsideBounds,
    OverlayFileSystem,
    RecordingFileSystem,
    StampingFileSystem,
    bounds_of,
    decode,
    is_disk,
)

__all__ = [
    "BoundedFileSystem",
    "Bounds",
    "FileSystem",
    "InMemoryFileSystem",
    "OsFileSystem",
    "OutsideBounds",
    "OverlayFileSystem",
    "RecordingFileSystem",
    "SourceFile",
    "StampingFileSystem",
    "bounds_of",
    "decode",
    "is_disk",
    "is_normal",
]
