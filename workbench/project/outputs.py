"""What a stack gives to others: `outputs` in project.yaml or stack.yaml.

    outputs:
      database_url: $workbench.format["postgres://%s/orders", "$kusion_path.acme:cloud:database:orders.address"]
      gateway_ip: $kusion_path.v1:Service:gateway-prod:gateway.status.loadBalancer.ingress[0].ip

They are in these files and not in KCL, so that what others build on is read, and reviewed, without compiling the stack:
which may take options and plugins that only its own people have. What a stack says replaces what its project says, name
by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass
from workbench.project.errors import BrokenFile
from workbench.project.yaml_file import mapping_at, place_of


@dataclass(frozen=True, slots=True)
class Output:
    """`text` holds references to resources of the stack, as fields of its resources do. `file` says so."""

    name: str
    text: str
    file: Path

    @property
    def where(self) -> str:
        """`file:line:column`; reads the file."""
        return place_of(self.file, "outputs", self.name)


def declared_outputs(content: Mapping[str, Any], path: Path, above: Mapping[str, Output]) -> Mapping[str, Output]:
    """Returns what a project.yaml or stack.yaml says, over what is said `above` it; raises `BrokenFile`."""
    try:
        said = mapping_at(content, "outputs", path)
    except BrokenFile as error:
        raise BrokenFile(error.message, where=place_of(path, "outputs")) from error
    found = dict(above)
    for name, text in said.items():
        where = ("outputs", str(name))
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            hint = "a name begins with a letter, and has letters, digits, _ and - in it"
            raise BrokenFile(f"outputs has the name {name!r}", where=place_of(path, *where), hint=hint)
        if not isinstance(text, str) or not text:
            hint = "write $kusion_path.ID.ATTRIBUTE with the id of a resource of the stack"
            raise BrokenFile(f"outputs.{name} needs to be text", where=place_of(path, *where), hint=hint)
        found[name] = Output(name, text, path)
    return found


_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
