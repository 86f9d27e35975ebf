"""What `sites/NAME.k` declares, as a value.

The program may say more than is taken here (a region, a quota): that is between it and the models it is written with.
Of the fields of components only the names are: values go from the declaration into the stacks by KCL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from kcl import api
from kcl.records import dataclass
from kcl.secrecy.rules import SecretRules
from workbench.engine.compile import evaluated
from workbench.engine.errors import EngineError
from workbench.project import named, top
from workbench.project.bounds import refuse_foreign

FOLDER: Final = "sites"
_SITE: Final = re.compile(r"[a-z][a-z0-9]{0,29}")
_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCHEMA: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_MOST_APPLICATIONS: Final = 500
_MOST_TENANTS: Final = 100


class InvalidSite(EngineError):
    """The declaration of a site says what no site can be made of, or there is none."""


@dataclass(frozen=True, slots=True)
class Added:
    """A component that the stack an application is made after does not have. `schema` is `models.platform.Quota`."""

    schema: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Application:
    """`like` is the stack it is made after, as `project/stack`; `after` are names of applications that come first.

    `components` says for each component which of its fields are other; `is_per_tenant` that there is a stack for each
    tenant of the site.
    """

    name: str
    like: str
    is_per_tenant: bool
    after: tuple[str, ...]
    components: Mapping[str, tuple[str, ...]]
    added: Mapping[str, Added]


@dataclass(frozen=True, slots=True)
class Site:
    """`coordinates` are those of all its stacks, where they differ from what these are made after; `is_protected` is
    None where nothing is said. `file` is where it was declared."""

    name: str
    file: Path
    environment: str
    clusters: tuple[str, ...]
    tenants: tuple[str, ...]
    coordinates: Mapping[str, str]
    is_protected: bool | None
    applications: tuple[Application, ...]


def file_of(root: Path, name: str) -> Path:
    """Returns where a site is declared. Raises `InvalidSite` for what is no name, or where there is no file."""
    if not _SITE.fullmatch(name):
        raise InvalidSite(f"{name!r} cannot be the name of a site", hint="small letters and digits, a letter first")
    file = root / FOLDER / f"{name}.k"
    refuse_foreign(file, root)
    if not file.is_file():
        folder = root / FOLDER
        known = ", ".join(sorted(each.stem for each in folder.glob("*.k"))) if folder.is_dir() else ""
        hint = f"declared are: {known}" if known else "it has `site: platform.Site {...}` in it; see docs/sites.md"
        raise InvalidSite("there is no such declaration", where=str(file), hint=hint)
    return file


def read_now(file: Path, name: str, rules: SecretRules, cache: api.ParseCache) -> Site:
    """Evaluates a declaration in this process, without limits. Raises `CompileFailed` or `InvalidSite`.

    `cache` knows what is secret, so that no text of it is kept on this machine.
    """
    file = named(file, file.parent)
    documents = evaluated(file, top(file.parent), rules, cache)
    said = next((each["site"] for each in documents if isinstance(each, Mapping) and "site" in each), None)
    if not isinstance(said, Mapping):
        raise InvalidSite("declares no `site`", where=str(file), hint="`site: platform.Site {...}` is what is read")
    return _Reader(file).site(said, name)


@dataclass(frozen=True, slots=True)
class _Reader:
    file: Path

    def site(self, said: Mapping[str, Any], name: str) -> Site:
        if said.get("name") != name:
            raise self._wrong(f"its name is {said.get('name')!r}", f"call it {name!r}, as its file")
        applications = self._mapping(said, "applications", "site")
        if not applications or len(applications) > _MOST_APPLICATIONS:
            raise self._wrong(f"a site has 1 to {_MOST_APPLICATIONS} applications", "say them below `applications`")
        clusters = self._texts(said, "clusters", "site")
        if not clusters:
            raise self._wrong("says no clusters", "name those of clusters.yaml that it runs on")
        tenants = self._texts(said, "tenants", "site")
        if len(tenants) > _MOST_TENANTS or len(set(tenants)) < len(tenants):
            raise self._wrong(f"a site has up to {_MOST_TENANTS} tenants, each once", "take some out of `tenants`")
        protected = said.get("protected")
        if protected is not None and not isinstance(protected, bool):
            raise self._wrong("protected is True or False")
        coordinates = self._mapping(said, "coordinates", "site")
        made = tuple(self._application(each, value) for each, value in applications.items())
        self._refuse_unknown(made)
        if not tenants and (lost := [each.name for each in made if each.is_per_tenant]):
            raise self._wrong(f"{lost[0]} has a stack for each tenant, and the site has none", "name them in `tenants`")
        return Site(
            name,
            self.file,
            self._part(said.get("environment", "prod"), "environment"),
            clusters,
            tuple(self._part(each, "a tenant") for each in tenants),
            {str(each): self._part(value, f"coordinate {each}") for each, value in coordinates.items()},
            protected,
            made,
        )

    def _application(self, name: Any, said: Any) -> Application:
        name = self._part(name, "an application")
        if not isinstance(said, Mapping):
            raise self._wrong(f"{name} needs to be an application")
        components = self._mapping(said, "components", name)
        added = self._mapping(said, "added", name)
        like = said.get("like")
        if not isinstance(like, str) or not like:
            raise self._wrong(f"{name} does not say what it is made after", 'such as `like = "checkout/prod"`')
        is_per_tenant = said.get("perTenant", False)
        if not isinstance(is_per_tenant, bool):
            raise self._wrong(f"{name}: perTenant is True or False")
        return Application(
            name,
            like,
            is_per_tenant,
            self._texts(said, "after", name),
            {self._identifier(each, name): self._fields(fields, each) for each, fields in components.items()},
            {self._identifier(each, name): self._added(value, each) for each, value in added.items()},
        )

    def _added(self, said: Any, name: str) -> Added:
        if not isinstance(said, Mapping) or not _SCHEMA.fullmatch(str(said.get("schema"))):
            raise self._wrong(f"{name} is added without a schema", "such as `models.platform.Quota`")
        return Added(str(said["schema"]), self._fields(said.get("values", {}), name))

    def _fields(self, said: Any, of: str) -> tuple[str, ...]:
        if not isinstance(said, Mapping):
            raise self._wrong(f"{of} needs its fields, such as {{replicas = 2}}")
        return tuple(self._identifier(each, of) for each in said)

    def _refuse_unknown(self, made: Iterable[Application]) -> None:
        known = {each.name for each in made}
        for each in made:
            for other in each.after:
                if other not in known or other == each.name:
                    raise self._wrong(f"{each.name} comes after {other!r}, which is no other application of the site")

    def _identifier(self, name: Any, of: str) -> str:
        if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
            raise self._wrong(f"{of}: {name!r} is no name of KCL", "letters, digits and '_'")
        return name

    def _part(self, value: Any, what: str) -> str:
        if not isinstance(value, str) or not _PART.fullmatch(value):
            raise self._wrong(f"{what} can't be called {value!r}", "letters, digits, '-', '_' and '.'")
        return value

    def _mapping(self, said: Mapping[str, Any], key: str, of: str) -> Mapping[Any, Any]:
        value = said.get(key) or {}
        if not isinstance(value, Mapping):
            raise self._wrong(f"{of}: {key} needs to be a mapping")
        return value

    def _texts(self, said: Mapping[str, Any], key: str, of: str) -> tuple[str, ...]:
        value = said.get(key) or []
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._wrong(f"{of}: {key} needs to be a list of texts")
        return tuple(value)

    def _wrong(self, message: str, hint: str = "") -> InvalidSite:
        return InvalidSite(message, where=str(self.file), hint=hint or "correct the declaration")
