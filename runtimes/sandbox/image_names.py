"""Names of container images, as the server takes them apart."""

from __future__ import annotations

import re

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?"
_IMAGE = re.compile(
    rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*(?::(?P<tag>[\w][\w.-]{{0,127}}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)


_LONGEST_IMAGE_NAME = 255


def image_tag(image: str) -> str:
    """`latest` if the image names neither a tag nor a digest; "" if it is no image's name."""
    match = _IMAGE.fullmatch(image)
    name = image.partition("@")[0]
    if match is None or len(name.removesuffix(f":{match['tag']}")) > _LONGEST_IMAGE_NAME:
        return ""
    return match["tag"] or ("" if match["digest"] else "latest")
