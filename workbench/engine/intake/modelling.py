"""Objects that models of the repository say in a few lines: what its own `models/intake/intake.k` proposes, proven.

Only who writes a model knows which of its components objects amount to, so that is said in KCL beside the models. It is
a proposal and needs no care: a component counts where it compiles to exactly its objects, and to nothing that is not
there; what it proposes wrongly, or leaves alone, is written as it is. Objects are compared with the defaults of the API
server filled in, as a model may say what a person left to the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kcl import api
from kcl.records import dataclass, field, replace
from kcl.secrecy.rules import SecretRules
from kcl.tools.fmt.formatting import formatted
from kcl.tools.imports import literals
from runtimes.base import KubernetesId, Resource
from workbench.engine.compile import evaluated
from workbench.engine.diff import same
from workbench.engine.errors import EngineError
from workbench.engine.intake.concealing import as_expressions, decoded
from workbench.engine.intake.values import Destination, Found, plain, without_nulls
from workbench.engine.intake.writing import as_yaml
from workbench.project import top

FILE: Final = "models/intake/intake.k"
_HOLLOW: Final = frozenset({"metadata", "resources", "securityContext"})
"""Fields that a server writes as `{}` where nobody says them, and that say nothing so."""
Fill = Callable[[Mapping[str, Any]], dict[str, Any] | None]
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SCHEMA: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_PATH: Final = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\.k")


class ModelsUnknown(EngineError):
    """What the repository proposes can't be understood."""


@dataclass(frozen=True, slots=True)
class Component:
    """One that says `objects` (`Deployment/web`): `variable: schema {fields}`."""

    variable: str
    schema: str
    fields: Mapping[str, Any] = field(repr=False)
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """`before` and `after` are what a stack of these models is compiled of, around its own files, from the root.

    `plain` is the schema of an object that no component says; `shared` are those that the models make for all of them.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    plain: str
    components: tuple[Component, ...]
    shared: tuple[str, ...] = ()

    def without(self, component: Component) -> Proposal:
        return replace(self, components=tuple(each for each in self.components if each is not component))


def propose_now(
    file: Path, objects: Sequence[Mapping[str, Any]], rules: SecretRules, cache: api.ParseCache
) -> Proposal:
    """Asks a repository's models, in this process and without limits. Raises `CompileFailed` or `ModelsUnknown`.

    `cache` knows what is secret, so that no text of it is kept on this machine.
    """
    documents = evaluated(file, top(file.parent), rules, cache, {"objects": list(objects)})
    said = next((each["proposal"] for each in documents if isinstance(each, Mapping) and "proposal" in each), None)
    try:
        return _proposal(said)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        hint = "docs/taking-in.md says what `proposal` has in it"
        raise ModelsUnknown("its `proposal` can't be understood", where=str(file), hint=hint) from error


def _proposal(said: Any) -> Proposal:
    made = tuple(
        Component(
            _fitting(_IDENTIFIER, each["variable"]),
            _fitting(_SCHEMA, each["schema"]),
            {_fitting(_IDENTIFIER, name): value for name, value in dict(each["fields"]).items()},
            tuple(map(str, each["objects"])),
        )
        for each in said["components"]
    )
    before, after = (tuple(_fitting(_PATH, each) for each in said[name]) for name in ("before", "after"))
    return Proposal(before, after, _fitting(_SCHEMA, said["plain"]), made, tuple(map(str, said.get("shared", ()))))


def _fitting(pattern: re.Pattern[str], value: Any) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(value)
    return value


def name_of(found: Found) -> str:
    return f"{found.id.kind}/{found.id.name}"


def made_name(resource: Resource) -> str:
    """The same of what a program makes; of Terraform's its id, which no object has."""
    id_ = resource.id
    return f"{id_.kind}/{id_.name}" if isinstance(id_, KubernetesId) else str(id_)


def program(proposal: Proposal, objects: Mapping[str, Found], about: str) -> str:
    """Returns the KCL of the components, and of the objects that none of them says."""
    said = {name for each in proposal.components for name in each.objects} | set(proposal.shared)
    others = {variable: each for variable, each in objects.items() if name_of(each) not in said}
    schemas = [*(each.schema for each in proposal.components), *([proposal.plain] if others else [])]
    imports = sorted({f"import {each.rpartition('.')[0]}" for each in schemas})
    parts = [f'"""\n{literals.prose(about)}\n"""', "\n".join(imports) + "\n"]
    taken = {each.variable for each in proposal.components}
    parts += [_statement(each.variable, each.schema, each.fields) for each in proposal.components]
    for variable, each in others.items():
        name = variable if variable not in taken else f"{variable}_object"
        parts.append(_statement(name, proposal.plain, each.body))
    return as_expressions("\n".join(parts))


def _statement(variable: str, schema: str, fields: Mapping[str, Any]) -> str:
    short = ".".join(schema.split(".")[-2:])
    lines = "\n".join(literals.lines_of(dict(fields)))
    return f"{variable}: {short} {lines}\n"


def files(destination: Destination, proposal: Proposal, text: str, stack: Mapping[str, Any]) -> dict[Path, str]:
    """Returns the files of a stack of these models; `stack` is what stack.yaml says."""
    is_new = not (destination.folder / "project.yaml").exists()
    directory, path = destination.directory, destination.path
    made = {directory / "stack.yaml": as_yaml({"name": str(path.stack), **stack})}
    own = ["main.k"]
    if is_new:
        made[destination.folder / "project.yaml"] = as_yaml({"name": str(path.project)})
        made[destination.folder / "base/base.k"] = formatted(text, "base.k")
        made[directory / "main.k"] = f'"""What {path} has of its own."""\n'
        own = ["../base/base.k", "main.k"]
    else:
        made[directory / "main.k"] = formatted(text, "main.k")
    before, after = ([f"${{KCL_MOD}}/{each}" for each in names] for names in (proposal.before, proposal.after))
    entries = "".join(f"    - {each}\n" for each in (*before, *own, *after))
    options = "".join(
        f"  - key: {key}\n    value: {value}\n" for key, value in (("project", path.project), ("stack", path.stack))
    )
    made[directory / "kcl.yaml"] = f"kcl_cli_configs:\n  file:\n{entries}kcl_options:\n{options}"
    return dict(sorted(made.items()))


def misfits(
    proposal: Proposal, made: Mapping[str, Mapping[str, Any]], wanted: Mapping[str, Mapping[str, Any]], fill: Fill
) -> Iterator[tuple[Component | None, str]]:
    """Yields the components that do not say their objects, and why; None for what none of them accounts for.

    `made` is what the program compiles to and `wanted` what is to be said, by `Kind/name`, both without the namespace
    of the stack.
    """
    owners = {name: each for each in proposal.components for name in each.objects}
    told: set[str] = set()
    for name, body in wanted.items():
        owner = owners.get(name)
        if owner is not None and owner.variable in told:
            continue
        if name not in made:
            yield owner, f"it does not make {name}"
        elif not same(_filled(made[name], fill), _filled(body, fill)):
            yield owner, f"{name} would be another one: {_first_difference(made[name], body, fill)}"
        else:
            continue
        if owner is not None:
            told.add(owner.variable)
    for name in made.keys() - wanted.keys():
        short = name.partition("/")[2]
        owner = next((each for each in proposal.components if each.fields.get("name") == short), None)
        owner = owner or next(
            (each for each in proposal.components if short.startswith(f"{each.fields.get('name')}-")), None
        )
        hint = " here: --with-namespace takes it in" if name.startswith("Namespace/") else ""
        yield owner, f"it makes {name} too, which is not there{hint}"


def _filled(body: Mapping[str, Any], fill: Fill) -> Any:
    said = _without_hollow(without_nulls(_as_texts(plain(body))))
    return fill(said) or said


def _without_hollow(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_hollow(each) for key, each in value.items() if each != {} or key not in _HOLLOW}
    return [_without_hollow(each) for each in value] if isinstance(value, list) else value


def _as_texts(body: Any) -> Any:
    """A Secret with its data as texts: a model may encode the reference that stands for one, or hand it on as it is."""
    if (body.get("apiVersion"), body.get("kind")) != ("v1", "Secret"):
        return body
    data = {name: decoded(encoded) for name, encoded in (body.get("data") or {}).items()}
    texts = {name: text for name, text in data.items() if text or not body["data"][name]}
    left = {name: encoded for name, encoded in (body.get("data") or {}).items() if name not in texts}
    rest = {key: value for key, value in body.items() if key not in ("data", "stringData")}
    said = {**texts, **(body.get("stringData") or {})}
    return {**rest, **({"data": left} if left else {}), **({"stringData": said} if said else {})}


def _first_difference(made: Mapping[str, Any], wanted: Mapping[str, Any], fill: Fill) -> str:
    return next(_differences(_filled(made, fill), _filled(wanted, fill), ""), "in what the server fills in")


def _differences(made: Any, wanted: Any, path: str) -> Iterator[str]:
    """Yields the paths of what differs. Values are not told: they may be secret."""
    if isinstance(made, dict) and isinstance(wanted, dict):
        for key in dict.fromkeys((*made, *wanted)):
            if key not in made or key not in wanted:
                yield f"{path}.{key} is {'not said' if key not in made else 'said'}".removeprefix(".")
            else:
                yield from _differences(made[key], wanted[key], f"{path}.{key}")
    elif isinstance(made, list) and isinstance(wanted, list) and len(made) == len(wanted):
        for number, (one, other) in enumerate(zip(made, wanted, strict=True)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif made != wanted:
        yield path.removeprefix(".")
