"""Policies written in KCL: a file is given what a stack has, and says what is wrong with it.

It gets options: `resources`, a list of {id, kind, name, namespace, attributes} with what is secret masked and what only
applying decides as the text `(known after apply)`; `stack`, {project, name, environment, protected, clusters};
`changes`, None where no plan is looked at, else a list of {resource, place, action, fields, restarts}. It says
`violations`, a list of {message} with the id of a `resource` and a `field` where there is one. A failed `check:` is a
violation too.

    violations = [
        {resource = r.id, field = "spec.replicas", message = "one replica is none while it restarts"}
        for r in option("resources") if r.kind == "Deployment" and r.attributes.spec.replicas == 1
    ]

It runs where other programs of the repository do: bounded in time, memory and in what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kcl.bounded import Allowance
from kcl.records import dataclass
from kcl.secrecy.rules import MASK
from runtimes.base import Body, KubernetesId, ResourceId, TerraformId, Unknown, format_path, parse_attribute
from workbench.engine.compiled import CompileFailed
from workbench.engine.errors import EngineError, EvaluationEnded
from workbench.engine.evaluators import evaluators
from workbench.engine.frames import Work
from workbench.engine.masking import Masked, Seal, masked
from workbench.engine.policy.findings import Violation
from workbench.engine.policy.rules import Subject
from workbench.engine.shipped import ended_as_failure
from workbench.project import OutsideRepository

_SAID: Final = Work("workbench.engine.policy.evaluating", "said")
_KEYS = frozenset({"message", "resource", "field"})


@dataclass(frozen=True, slots=True)
class Check:
    """A KCL file, and the folder that it is read in and does not leave."""

    file: Path
    within: Path

    async def look(self, subject: Subject, allowance: Allowance) -> list[Violation]:
        """What cannot be checked is a violation that nobody can tell."""
        try:
            arguments = str(self.file), str(self.within), _told(subject), subject.spec.rules
            return list(_violations(await evaluators.acall(allowance, _SAID, *arguments), subject))
        except EvaluationEnded as ended:
            error: EngineError | OutsideRepository = ended_as_failure(ended, self.file)
        except (EngineError, OutsideRepository) as raised:
            error = raised
        if isinstance(error, CompileFailed) and (failed_check := _failed_check(error)):
            return [Violation(failed_check)]
        where = f" ({error.where})" if error.where else ""
        return [Violation(f"could not be checked: {error.message}{where}", is_unknown=True)]


def _failed_check(error: CompileFailed) -> str:
    """What a `check:` of the file says of an instance."""
    labels = [each.message for found in error.diagnostics for each in found.labels]
    return next((each for each in labels if each.startswith("Check failed")), "")


def _violations(said: list[Any], subject: Subject) -> Iterator[Violation]:
    ids = {str(each): each for each in subject.bodies}
    if subject.plan is not None:
        ids |= {str(each.address.id): each.address.id for each in subject.plan.changes}
    for number, each in enumerate(said, 1):
        match each:
            case {"message": str(message)} if message and each.keys() <= _KEYS:
                about, field = each.get("resource"), each.get("field")
            case _:
                raise EngineError(f"violation {number} needs a message, and may have a resource and a field")
        subject_id = ids.get(str(about)) if about else None
        if about and subject_id is None:
            message = f"{about}: {message}"
        elif subject_id is not None and not subject.looks_at(subject_id):
            continue
        yield Violation(message, subject_id, parse_attribute(str(field)) if field else (), quotes=False)


def _told(subject: Subject) -> dict[str, Any]:
    spec, plan, stack = subject.spec, subject.plan, subject.stack
    seal = Seal.random().knowing(spec.secrets, spec.rules)
    placement = stack.placement
    return {
        "stack": {
            "project": str(stack.path.project),
            "name": str(stack.path.stack),
            "environment": placement.environment if placement is not None else "",
            "protected": placement is not None and placement.protected,
            "clusters": list(stack.clusters),
        },
        "resources": [_resource(id_, body, subject, seal) for id_, body in subject.resources()],
        "changes": None
        if plan is None
        else [
            {
                "resource": str(each.address.id),
                "place": each.address.cluster,
                "action": each.action.value,
                "fields": [format_path(field.path) for field in each.fields],
                "restarts": each.restarts,
            }
            for each in subject.steps()
        ],
    }


def _resource(id_: ResourceId, body: Body, subject: Subject, seal: Seal) -> dict[str, Any]:
    match id_:
        case KubernetesId(kind=kind, namespace=namespace, name=name):
            pass
        case TerraformId(resource_type=kind, name=name):
            namespace = ""
    resource = subject.spec.get(id_)
    hidden = subject.spec.hidden(resource) if resource is not None else ()
    attributes = _plain(masked(body, hidden, seal))
    return {"id": str(id_), "kind": kind, "name": name, "namespace": namespace, "attributes": attributes}


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case Masked():
            return MASK
        case Unknown():
            return str(value.value)
        case bool() | int() | float() | None:
            return value
        case _:
            return str(value)
