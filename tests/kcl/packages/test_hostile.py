"""Whatever an archive or a manifest holds, it ends in a message, and nothing is written elsewhere."""

import io
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcl.diagnostics import KclError
from kcl.loader.lock import read_lock
from kcl.loader.manifest import read_manifest
from kcl.packages import archive
from kcl.packages.failure import PackageFailure
from kcl.source import InMemoryFileSystem
from tests.sizes import size

_MANIFEST = (
    '[package]\nname = "a"\ninclude = ["*.k"]\n[dependencies]\nk = "1"\ng = { git = "https://h/x", tag = "1" }\n'
    'o = { oci = "oci://h/p", tag = "2" }\np.path = "../z"\n[profile]\nentries = ["a.k"]\nsort_keys = true\n'
)
_LOCK = '[dependencies]\n[dependencies.k]\nname = "k"\nfull_name = "k_1"\nversion = "1"\nsum = "x"\noci_tag = "1"\n'
_names = st.one_of(
    st.text(min_size=1, max_size=12),
    st.lists(st.sampled_from(["..", ".", "a", "b.k", "", "/", "\\", "C:"]), min_size=1, max_size=5).map("/".join),
)


@st.composite
def _archives(draw: st.DrawFn) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name in draw(st.lists(_names, max_size=4)):
            entry = tarfile.TarInfo(name.replace("\0", "").encode("utf-8", "replace").decode() or "x")
            entry.type = draw(st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE]))
            entry.linkname = draw(st.sampled_from(["..", "/etc/passwd", "a"]))
            content = b"abc" if entry.type == tarfile.REGTYPE else b""
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
    data = bytearray(buffer.getvalue()[:8192])
    for place, value in draw(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), max_size=4)):
        data[place] = value
    return bytes(data)


def _changed(text: str) -> st.SearchStrategy[str]:
    """`text` with some pieces replaced."""
    piece = st.tuples(st.integers(0, len(text)), st.integers(0, 6), st.text(alphabet="[]{}\"'=.,#\\\n x1é", max_size=4))

    def apply(pieces: list[tuple[int, int, str]]) -> str:
        result = text
        for start, length, instead in pieces:
            result = result[:start] + instead + result[start + length :]
        return result

    return st.lists(piece, min_size=1, max_size=4).map(apply)


@settings(deadline=None, max_examples=size(60, 400), suppress_health_check=list(HealthCheck))
@given(_archives())
def test_archive_stays_in_its_folder(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as around:
        target = Path(around, "in")
        target.mkdir()
        with suppress(PackageFailure):
            archive.unpack(data, target)
        assert [path.name for path in Path(around).iterdir()] == ["in"]
        assert not any(path.is_symlink() for path in target.rglob("*"))


@settings(deadline=None, max_examples=size(100, 600))
@given(_changed(_MANIFEST))
def test_manifest_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        read_manifest("/w", InMemoryFileSystem({"/w/kcl.mod": text}))
    except KclError as problem:
        assert all(item.primary is not None and item.primary.path == "/w/kcl.mod" for item in problem.diagnostics)


@settings(deadline=None, max_examples=size(100, 600))
@given(_changed(_LOCK))
def test_lock_is_read_or_refused(text: str) -> None:
    try:
        found = read_lock("/w", InMemoryFileSystem({"/w/kcl.mod.lock": text}))
    except KclError:
        return
    assert not any("/" in item.full_name or item.full_name in ("", ".", "..") for item in found.values())
