"""Images, versions and ranges: which tag is the newest that a policy allows."""

from __future__ import annotations

import pytest

from workbench.engine.images import BadRange, Image, newest, parse_image, parse_range, parse_version

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "host", "repository", "tag", "digest"),
    [
        ("reg.example/shop/web:2.4.1", "reg.example", "shop/web", "2.4.1", ""),
        ("127.0.0.1:5000/web:1", "127.0.0.1:5000", "web", "1", ""),
        ("localhost/web", "localhost", "web", "", ""),
        ("redis:7", "registry-1.docker.io", "library/redis", "7", ""),
        ("docker.io/library/redis:7", "registry-1.docker.io", "library/redis", "7", ""),
        ("bitnami/redis", "registry-1.docker.io", "bitnami/redis", "", ""),
        (f"reg.example/web:1@{DIGEST}", "reg.example", "web", "1", DIGEST),
    ],
)
def test_an_image_says_where_it_is(text: str, host: str, repository: str, tag: str, digest: str) -> None:
    image = parse_image(text)
    assert image is not None and str(image) == text
    assert (image.host, image.repository, image.tag, image.digest) == (host, repository, tag, digest)


@pytest.mark.parametrize("text", ["", "UPPER/case:1", "a b", "$kusion_path.x", "http://reg.example/x", "web@sha256:1"])
def test_what_is_no_image_is_none(text: str) -> None:
    assert parse_image(text) is None


@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    [
        ("^1.2", ["1.2.0", "1.9.9"], ["1.1.9", "2.0.0"]),
        ("^0.2.3", ["0.2.3", "0.2.9"], ["0.2.2", "0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.2", "0.0.4"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.2.2", "1.3.0"]),
        ("~1", ["1.0.0", "1.9.0"], ["2.0.0"]),
        ("1.x", ["1.0.0", "1.7.0"], ["0.9.0", "2.0.0"]),
        ("1.2.*", ["1.2.0"], ["1.3.0"]),
        ("=1.2.3", ["1.2.3"], ["1.2.4"]),
        (">=1.2 <3", ["1.2.0", "2.9.9"], ["1.1.0", "3.0.0"]),
        (">1.2, <=2", ["1.3.0", "2.0.0", "2.9.0"], ["1.2.5", "3.0.0"]),
        ("*", ["0.0.0", "99.1.2"], []),
    ],
)
def test_ranges(wanted: str, inside: list[str], outside: list[str]) -> None:
    def holds(text: str) -> bool:
        version = parse_version(text)
        assert version is not None
        return all(low <= version.numbers < high for low, high in parse_range(wanted))

    assert [each for each in inside + outside if holds(each)] == inside


@pytest.mark.parametrize("text", ["", "latest", "^", "1.2.3.4", ">= 1 || 2", "^1.2beta", "1..2"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(BadRange, match="is no range of versions"):
        parse_range(text)


TAGS = ("latest", "2.4.1", "2.4.2", "2.10.0", "2.9.0", "3.0.0", "2.11.0-rc.1", "2.12.0-alpine", "v2.13.0", "1.0.0")


@pytest.mark.parametrize(
    ("current", "wanted", "found"),
    [
        ("2.4.1", "^2", "2.10.0"),
        ("2.4.1", "~2.4", "2.4.2"),
        ("2.4.1", "*", "3.0.0"),
        ("2.4.0-alpine", "^2", "2.12.0-alpine"),
        ("v2.0.0", "*", "v2.13.0"),
        ("3.1.0", "*", None),
        ("2.4.1", "^1", None),
    ],
)
def test_the_newest_is_like_the_present_one_and_never_older(current: str, wanted: str, found: str | None) -> None:
    version = parse_version(current)
    assert version is not None
    assert newest(version, TAGS, wanted) == found
    assert newest(version, reversed(TAGS), wanted) == found


def test_a_tag_that_is_no_version_is_none() -> None:
    assert [parse_version(each) for each in ("latest", "main", "sha-1234", "")] == [None] * 4
    assert Image("a", "").tag == ""
