"""The library as a whole: complete, declared, and official where the official library can be asked."""

import pytest

from kcl.loader import SYSTEM_MODULES
from kcl.stdlib import MODULES
from kcl.stdlib.blake3 import blake3_hex
from kcl.stdlib.builtins import BUILTINS
from kcl.stdlib.declaration import parse_signature
from kcl.stdlib.strings import METHODS


def test_every_system_module_that_can_be_imported_exists() -> None:
    assert set(MODULES) == SYSTEM_MODULES


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("file", "read glob modpath workdir current exists abs append mkdir delete cp mv size write read_env"),
        ("json", "encode decode dump_to_file validate merge"),
        ("yaml", "encode encode_all decode decode_all dump_to_file dump_all_to_file validate"),
        ("math", "ceil factorial floor gcd isfinite isinf isnan modf exp expm1 log log1p log2 log10 pow sqrt"),
        ("regex", "replace match compile findall search split"),
        ("crypto", "md5 sha1 sha224 sha256 sha384 sha512 blake3 uuid filesha256"),
        ("datetime", "ticks date now today validate is_rfc3339 is_iso8601"),
    ],
)
def test_modules_are_whole(module: str, names: str) -> None:
    assert set(MODULES[module].functions) == set(names.split())


def test_signatures_read_back() -> None:
    for module in (BUILTINS, METHODS, *MODULES.values()):
        for function in module.functions.values():
            again = parse_signature(function.signature, function.implementation)
            assert again.parameters == function.parameters
            assert again.result == function.result


@pytest.mark.parametrize("text", ["f", "f(x: int)", "f(-) -> int"])
def test_text_that_is_no_signature(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_signature(text, len)


def test_blake3_over_several_chunks() -> None:
    """Lengths and results from the specification's test vectors: bytes counting from 0 to 250 over and over."""
    expected = {
        0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        1: "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
        1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
        1025: "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
        2049: "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030",
    }
    for length, digest in expected.items():
        assert blake3_hex(bytes(index % 251 for index in range(length))) == digest
