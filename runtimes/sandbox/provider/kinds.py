"""What the practice provider's types of resources are, in plain values: attributes, rules, and what the world keeps.

    sandbox_network       id is generated; a network that databases are in can't be deleted
    sandbox_database      id is the name; the address is made up on creation; the password can't be read back
    sandbox_bucket        id is the name
    sandbox_dns_record    id is zone/name/type

What exists can't be created again. Anything may be imported by its id, or by a name that only one object has.
Quotas in the world's file are by type: `count` limits how many there are, any other key the sum of that attribute.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kcl.records import dataclass
from runtimes.sandbox.provider.cloud import Attributes, Content

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute. `form` is string, number, bool, list or map; the items of the last two are texts.

    `computed` without `required` or `is_optional` is the provider's alone. `default` is what an optional one is when
    nothing was said. `replaces`: another value needs a new object.
    """

    name: str
    description: str
    form: str = "string"
    required: bool = False
    computed: bool = False
    is_optional: bool = False
    is_sensitive: bool = False
    replaces: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a configuration."""

    path: Path
    summary: str
    detail: str


class Refused(Exception):
    """The world does not do it. `path` is the attribute it is about, empty where it is none of them."""

    def __init__(self, summary: str, detail: str, path: Path = ()) -> None:
        super().__init__(summary)
        self.summary, self.detail, self.path = summary, detail, path


class Kind:
    """One type of resource. Values that are not known yet are of no type a rule here looks at, so they pass."""

    type: ClassVar[str]
    what: ClassVar[str]
    fields: ClassVar[tuple[Field, ...]]

    def problems(self, config: Mapping[str, Any]) -> Iterator[Problem]:
        """Yields what is wrong with a configuration, whatever the world is."""
        yield from ()

    def id_of(self, planned: Mapping[str, Any]) -> str:
        """Returns the id of what is to be created; a generated one differs each time."""
        return str(planned["name"])

    def created(self, planned: Mapping[str, Any], content: Content) -> Attributes:
        """Returns what the world keeps of a new object; raises `Refused`."""
        return {each.name: planned.get(each.name) for each in self.fields if not _is_computed_only(each)}

    def updated(self, kept: Attributes, planned: Mapping[str, Any], content: Content) -> Attributes:
        """Returns what the world keeps from now on; raises `Refused`."""
        changed = {each.name: planned.get(each.name) for each in self.fields if not _is_computed_only(each)}
        return {**kept, **changed}

    def check_deletion(self, id_: str, content: Content) -> None:
        """Raises `Refused` where something else still needs it."""

    def state(self, id_: str, kept: Attributes, current: Mapping[str, Any]) -> Attributes:
        """Returns the attributes as terraform sees them. `current` is what it had or planned."""
        return {each.name: kept.get(each.name) for each in self.fields} | {"id": id_}

    def changing(self, prior: Mapping[str, Any], planned: Mapping[str, Any]) -> frozenset[str]:
        """Returns the computed attributes that an update in place recreates; the others stay as they are."""
        return frozenset()

    def find(self, wanted: str, content: Content) -> str | None:
        """Returns the id of what an import names, None where it is nothing; raises `Refused` where it is several."""
        objects = content.of(self.type)
        if wanted in objects:
            return wanted
        found = [id_ for id_, kept in objects.items() if wanted in self.names(id_, kept)]
        if len(found) > 1:
            ids = ", ".join(sorted(found))
            raise Refused(f"Several are called {wanted}", f"Import the {self.what} by its id: one of {ids}.")
        return found[0] if found else None

    def names(self, id_: str, kept: Attributes) -> frozenset[str]:
        return frozenset({str(kept.get("name"))})

    def create(self, planned: Mapping[str, Any], content: Content) -> str:
        """Puts a new object into the world and returns its id; raises `Refused`."""
        id_, name = self.id_of(planned), str(planned["name"])
        if (there := self._existing(id_, planned, content)) is not None:
            detail = (
                f"A {self.what} called {name} is there already, with the id {there}. Import it, or use another name."
            )
            raise Refused(f"{self.what.capitalize()} already exists", detail, ("name",))
        kept = self.created(planned, content)
        self._check_quotas(id_, kept, content)
        content.of(self.type)[id_] = kept
        return id_

    def update(self, id_: str, planned: Mapping[str, Any], content: Content) -> None:
        """Changes an object in place; raises `Refused`, also where it is gone."""
        kept = content.of(self.type).get(id_)
        if kept is None:
            raise Refused(f"{self.what.capitalize()} not found", f"No {self.what} has the id {id_}.")
        changed = self.updated(kept, planned, content)
        self._check_quotas(id_, changed, content)
        content.of(self.type)[id_] = changed

    def delete(self, id_: str, content: Content) -> bool:
        """Takes an object away; False where it was gone already. Raises `Refused`."""
        if id_ not in content.of(self.type):
            return False
        self.check_deletion(id_, content)
        del content.of(self.type)[id_]
        return True

    def _existing(self, id_: str, planned: Mapping[str, Any], content: Content) -> str | None:
        return id_ if id_ in content.of(self.type) else None

    def _check_quotas(self, id_: str, kept: Attributes, content: Content) -> None:
        others = {key: each for key, each in content.of(self.type).items() if key != id_}
        for name, limit in content.quotas.get(self.type, {}).items():
            if name == "count":
                wanted, unit = float(len(others) + 1), f"{self.what}s"
            else:
                wanted, unit = sum(float(each.get(name) or 0) for each in (*others.values(), kept)), f"of {name}"
            if wanted > limit:
                detail = f"{wanted:g} {unit} would be used, {limit:g} are allowed. Ask for more, or use less."
                raise Refused("Quota exceeded", detail, ("name",) if name == "count" else (name,))


def _is_computed_only(field: Field) -> bool:
    return field.computed and not field.is_optional


_NAME: Final = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_ID = Field("id", "By which the cloud knows it.", computed=True)


def _name_problems(config: Mapping[str, Any]) -> Iterator[Problem]:
    name = config.get("name")
    if isinstance(name, str) and not _NAME.fullmatch(name):
        rule = (
            "A name has up to 63 lower-case letters, digits and hyphens, begins with a letter, ends without a hyphen."
        )
        yield Problem(("name",), f"{name!r} is not a name", rule)


def _range_problems(config: Mapping[str, Any], name: str, low: int, high: int) -> Iterator[Problem]:
    value = number(config.get(name))
    if value is not None and (value != int(value) or not low <= value <= high):
        detail = f"A whole number from {low} to {high} is expected, not {value:g}."
        yield Problem((name,), f"{name} is out of range", detail)


def _choice_problems(config: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> Iterator[Problem]:
    value = config.get(name)
    if isinstance(value, str) and value not in choices:
        yield Problem((name,), f"{value!r} is no {name}", f"There are {', '.join(choices)}.")


def number(value: Any) -> float | None:
    """Returns a number that terraform may have sent as text; None for what is none, or not known yet."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


REGIONS: Final = ("east", "west", "north")


class Network(Kind):
    type = "sandbox_network"
    what = "network"
    fields = (
        _ID,
        Field("name", "Unique among networks.", required=True),
        Field("cidr", "Range of addresses, such as 10.20.0.0/16.", required=True),
        Field("region", "Where it is: " + ", ".join(REGIONS) + ".", required=True, replaces=True),
    )

    def problems(self, config: Mapping[str, Any]) -> Iterator[Problem]:
        yield from _name_problems(config)
        yield from _choice_problems(config, "region", REGIONS)
        cidr = config.get("cidr")
        if isinstance(cidr, str):
            try:
                ipaddress.ip_network(cidr)
            except ValueError as error:
                yield Problem(("cidr",), f"{cidr!r} is not a range of addresses", f"{error}. Write it as 10.20.0.0/16.")

    def id_of(self, planned: Mapping[str, Any]) -> str:
        return f"net-{secrets.token_hex(4)}"

    def check_deletion(self, id_: str, content: Content) -> None:
        users = sorted(name for name, each in content.of(Database.type).items() if each.get("network_id") == id_)
        if users:
            raise Refused("Network is in use", f"Databases are in it: {', '.join(users)}. Delete them first.")

    def _existing(self, id_: str, planned: Mapping[str, Any], content: Content) -> str | None:
        return next((key for key, each in content.of(self.type).items() if each.get("name") == planned["name"]), None)


ENGINES: Final[Mapping[str, tuple[str, int]]] = {"postgres": ("16", 5432), "mysql": ("8.4", 3306)}
"""By engine: the version it has when none is said, and its port."""


class Database(Kind):
    type = "sandbox_database"
    what = "database"
    fields = (
        _ID,
        Field("name", "Unique among databases; its id.", required=True, replaces=True),
        Field("engine", "postgres or mysql.", required=True, replaces=True),
        Field("version", "Of the engine.", computed=True, is_optional=True),
        Field("size_gb", "From 10 to 16384; it can only grow.", "number", required=True),
        Field("network_id", "The network it is in.", required=True, replaces=True),
        Field("username", "Who may do all in it.", required=True),
        Field("password", "At least 12 characters.", required=True, is_sensitive=True),
        Field("zone", "Part of the region it runs in.", computed=True, is_optional=True, replaces=True, default="a"),
        Field("address", "Host name.", computed=True),
        Field("port", "Where it listens.", "number", computed=True),
        Field("connection", "URL with the password in it.", computed=True, is_sensitive=True),
    )

    def problems(self, config: Mapping[str, Any]) -> Iterator[Problem]:
        yield from _name_problems(config)
        yield from _choice_problems(config, "engine", tuple(ENGINES))
        yield from _choice_problems(config, "zone", ("a", "b", "c"))
        yield from _range_problems(config, "size_gb", 10, 16384)
        password = config.get("password")
        if isinstance(password, str) and len(password) < 12:
            yield Problem(("password",), "The password is too short", "At least 12 characters are expected.")

    def created(self, planned: Mapping[str, Any], content: Content) -> Attributes:
        if planned["network_id"] not in content.of(Network.type):
            detail = f"No network has the id {planned['network_id']}."
            raise Refused("Network not found", detail, ("network_id",))
        version, port = ENGINES[planned["engine"]]
        kept = super().created(planned, content) | {
            "size_gb": int(planned["size_gb"]),
            "address": f"{planned['name']}-{secrets.token_hex(3)}.db.sandbox.example",
            "port": port,
            "password": sealed(planned["password"]),
        }
        kept["version"] = planned.get("version") if isinstance(planned.get("version"), str) else version
        return kept

    def updated(self, kept: Attributes, planned: Mapping[str, Any], content: Content) -> Attributes:
        if int(planned["size_gb"]) < int(kept["size_gb"]):
            detail = f"It has {kept['size_gb']} GB and can't shrink to {planned['size_gb']} GB."
            raise Refused("A database only grows", detail, ("size_gb",))
        changed = super().updated(kept, planned, content) | {"size_gb": int(planned["size_gb"])}
        is_same = is_sealed(planned["password"], kept.get("password"))
        changed["password"] = kept["password"] if is_same else sealed(planned["password"])
        return changed

    def state(self, id_: str, kept: Attributes, current: Mapping[str, Any]) -> Attributes:
        """The password is told only to those who know it: any other, or none, reads as null."""
        state = super().state(id_, kept, current)
        password = current.get("password")
        known = password if is_sealed(password, kept.get("password")) else None
        connection = f"{kept['engine']}://{kept['username']}:{known}@{kept['address']}:{kept['port']}/{kept['name']}"
        return state | {"password": known, "connection": connection if known else None}

    def changing(self, prior: Mapping[str, Any], planned: Mapping[str, Any]) -> frozenset[str]:
        parts = ("username", "password")
        return frozenset({"connection"} if any(prior.get(name) != planned.get(name) for name in parts) else ())


class Bucket(Kind):
    type = "sandbox_bucket"
    what = "bucket"
    fields = (
        _ID,
        Field("name", "Unique among buckets; its id.", required=True, replaces=True),
        Field("versioning", "Keeps what is overwritten.", "bool", computed=True, is_optional=True, default=False),
        Field("tags", "For people.", "map", is_optional=True),
        Field("url", "Where it is.", computed=True),
    )

    def problems(self, config: Mapping[str, Any]) -> Iterator[Problem]:
        yield from _name_problems(config)

    def created(self, planned: Mapping[str, Any], content: Content) -> Attributes:
        return super().created(planned, content) | {"url": f"https://{planned['name']}.bucket.sandbox.example"}


RECORD_TYPES: Final = ("A", "AAAA", "CNAME", "TXT")


class DnsRecord(Kind):
    type = "sandbox_dns_record"
    what = "record"
    fields = (
        _ID,
        Field("zone", "Such as orchard.example.", required=True, replaces=True),
        Field("name", "Of the record inside the zone.", required=True, replaces=True),
        Field("type", ", ".join(RECORD_TYPES) + ".", required=True, replaces=True),
        Field("values", "One or more.", "list", required=True),
        Field("ttl", "Seconds it may be remembered, from 30 to 86400.", "number", computed=True, is_optional=True,
              default=300),
        Field("fqdn", "The whole name.", computed=True),
    )  # fmt: skip

    def problems(self, config: Mapping[str, Any]) -> Iterator[Problem]:
        yield from _name_problems(config)
        yield from _choice_problems(config, "type", RECORD_TYPES)
        yield from _range_problems(config, "ttl", 30, 86400)
        values = config.get("values")
        if not isinstance(values, list):
            return
        if not values:
            yield Problem(("values",), "A record without values", "At least one value is expected.")
        for index, value in enumerate(values):
            if wrong := _wrong_value(config.get("type"), value):
                yield Problem(("values", index), f"{value!r} is no value of such a record", wrong)

    def id_of(self, planned: Mapping[str, Any]) -> str:
        return f"{planned['zone']}/{planned['name']}/{planned['type']}"

    def created(self, planned: Mapping[str, Any], content: Content) -> Attributes:
        self._check_values(planned)
        return super().created(planned, content) | {"fqdn": f"{planned['name']}.{planned['zone']}"}

    def updated(self, kept: Attributes, planned: Mapping[str, Any], content: Content) -> Attributes:
        self._check_values(planned)
        return super().updated(kept, planned, content)

    def names(self, id_: str, kept: Attributes) -> frozenset[str]:
        return frozenset({str(kept.get("name")), str(kept.get("fqdn"))})

    def _check_values(self, planned: Mapping[str, Any]) -> None:
        """What was unknown while planning is looked at when it is known."""
        for problem in self.problems(planned):
            raise Refused(problem.summary, problem.detail, problem.path)


def _wrong_value(type_: Any, value: Any) -> str:
    if not isinstance(value, str) or type_ not in ("A", "AAAA"):
        return ""
    try:
        address = ipaddress.ip_address(value)
    except ValueError as error:
        return f"{error}."
    version = 4 if type_ == "A" else 6
    return "" if address.version == version else f"An IPv{version} address is expected."


KINDS: Final[Mapping[str, Kind]] = {each.type: each for each in (Network(), Database(), Bucket(), DnsRecord())}


def sealed(text: str) -> Attributes:
    """Returns what is kept of a secret: enough to know it again, not to know it."""
    salt = secrets.token_hex(8)
    return {"salt": salt, "digest": _digest(text, salt), "length": len(text)}


def is_sealed(text: Any, kept: Any) -> bool:
    if not isinstance(text, str) or not isinstance(kept, dict):
        return False
    return kept.get("length") == len(text) and kept.get("digest") == _digest(text, str(kept.get("salt")))


def _digest(text: str, salt: str) -> str:
    # so slow that trying words is a bore, so fast that reading fifty databases is none
    return hashlib.scrypt(text.encode(), salt=salt.encode(), n=1024, r=8, p=1, dklen=16).hex()
