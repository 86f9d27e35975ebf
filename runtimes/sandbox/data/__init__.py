"""What a real API server of the simulated version says about itself, as files shipped with the package.

`discovery.json.xz`  its aggregated discovery documents, the paths at `/`, and the Table columns of each kind
`bootstrap.json.xz`  the objects that it makes for itself (roles, priority classes, the service of the API)
`openapi.json.xz`    its OpenAPI v3 documents by path (`api/v1`, `apis/apps/v1`, ...)
`messages.json.xz`   the fields of its protobuf messages (written by `data.messages` from the public .proto files)
`swagger.json.xz`    its OpenAPI v2 document

Written by `python -m runtimes.sandbox.data.capture URL TOKEN` against a running server (kube-apiserver, Apache-2.0).
"""

from __future__ import annotations

import json
import lzma
from functools import cache
from importlib import resources
from typing import Any


@cache
def read(name: str) -> Any:
    """The parsed content of `NAME.json.xz`; the parsed value is shared, do not change it."""
    return json.loads(read_bytes(name))


def read_bytes(name: str) -> bytes:
    return lzma.decompress(resources.files(__package__).joinpath(f"{name}.json.xz").read_bytes())
