"""What stacks give to each other: which outputs a Spec reads, and the Spec with their values.

As secrets stored elsewhere, outputs are read where a stack is compared with live, and never when it is compiled: what
another stack has is what its last release left and is there now. Without all of them nothing is compared. The values
are part of the Spec from then on, so that a plan is bound to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from kcl.records import dataclass, replace
from runtimes.base import (
    Address,
    Ids,
    InvalidReference,
    KubernetesId,
    OutputReference,
    PlainPath,
    Reference,
    Resource,
    ResourceId,
    TerraformId,
    composed,
    format_path,
    outputs_in,
    parts,
    unknown_paths,
)
from runtimes.base.resource import look_for_references
from workbench.engine.errors import EngineError, MovedObject, SpecInvalid
from workbench.engine.graph import reference_texts, referring_texts
from workbench.engine.masking import secret_texts_in
from workbench.engine.reads import OutputRead, OutputValue
from workbench.engine.release import Release, StepState
from workbench.engine.spec import Spec
from workbench.engine.values import Value, as_wanted, put, texts
from workbench.project import Finding


class OutputsUnavailable(EngineError):
    """What other stacks give can't be had. `reasons` has one line each; nothing was compared or written. `stacks` are
    those that would give it."""

    def __init__(self, reasons: Collection[str], stacks: Collection[str], *, where: str = "", hint: str = "") -> None:
        super().__init__(f"outputs of other stacks can't be had: {'; '.join(reasons)}", where=where, hint=hint)
        self.reasons, self.stacks = tuple(reasons), tuple(stacks)


@dataclass(frozen=True, slots=True)
class OutputUse:
    """A field that reads an output. `where` is `file:line` or the stack. `in_extensions`: the path is one in the
    extensions of the resource, such as the settings of its provider."""

    resource: ResourceId
    path: PlainPath
    output: OutputReference
    where: str
    in_extensions: bool = False

    @property
    def field(self) -> str:
        return f"{'extensions.' if self.in_extensions else ''}{format_path(self.path)} of {self.resource}"


@dataclass(frozen=True, slots=True)
class NoOutput:
    """Why an output can't be had, as a clause, and what to do."""

    why: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class StackOutputs:
    """What a stack gives to others, by name; `unread` says why that is not known."""

    stack: str
    outputs: Mapping[str, OutputValue | NoOutput]
    unread: Finding | None = None

    @property
    def is_known(self) -> bool:
        return self.unread is None and not any(isinstance(each, NoOutput) for each in self.outputs.values())


def uses(spec: Spec) -> tuple[OutputUse, ...]:
    """Returns every field that reads what another stack gives."""
    look_for_references(spec.resources)
    ids = {str(each.id): each.id for each in spec}
    return tuple(use for each in spec for use in _uses_of(each, spec, ids))


def _uses_of(resource: Resource, spec: Spec, ids: Ids) -> Iterator[OutputUse]:
    for path, text in referring_texts(resource):
        for output in dict.fromkeys(outputs_in(parts(text, ids))):
            chain = spec.chain(resource.id, path)
            yield OutputUse(resource.id, path, output, f"{chain[0].file}:{chain[0].line}" if chain else spec.stack)
    for path, text in reference_texts(resource.extensions) if resource.extensions else ():
        with suppress(InvalidReference):  # whoever uses the setting says so
            for output in dict.fromkeys(outputs_in(parts(text, ids))):
                chain = spec.extension_chain(resource.id, path)
                where = f"{chain[0].file}:{chain[0].line}" if chain else spec.stack
                yield OutputUse(resource.id, path, output, where, in_extensions=True)


def resolved(spec: Spec, found: Mapping[OutputReference, OutputValue | NoOutput]) -> Spec:
    """Returns the Spec with values in place of outputs; raises `OutputsUnavailable` naming each that can't be had."""
    every = uses(spec)
    if missing := [(use, why) for use in every if isinstance(why := found[use.output], NoOutput)]:
        reasons = [f"{use.output} for {use.field}: {why.why}" for use, why in missing]
        hint = "; ".join(dict.fromkeys(why.hint for _, why in missing if why.hint))
        stacks = dict.fromkeys(use.output.stack for use, _ in missing)
        raise OutputsUnavailable(reasons, tuple(stacks), where=missing[0][0].where, hint=hint)
    values = {output: each for output, each in found.items() if isinstance(each, OutputValue)}
    ids = {str(each.id): each.id for each in spec}
    by_resource: dict[ResourceId, list[OutputUse]] = {}
    for use in every:
        by_resource.setdefault(use.resource, []).append(use)
    resources = tuple(_filled(each, by_resource.get(each.id, ()), values, ids) for each in spec.resources)
    secret = {text for each in values.values() if each.is_secret for text in texts(each.value)}
    return replace(
        spec,
        resources=resources,
        secrets=spec.secrets | secret_texts_in(secret, resources),
        reads=tuple(_reads(every, values)),
    )


def _reads(every: Collection[OutputUse], values: Mapping[OutputReference, OutputValue]) -> Iterator[OutputRead]:
    for output, value in values.items():
        fields = dict.fromkeys(use.field for use in every if use.output == output)
        yield OutputRead(output, value, tuple(fields))


def _filled(
    resource: Resource, found: Collection[OutputUse], values: Mapping[OutputReference, OutputValue], ids: Ids
) -> Resource:
    attributes: Any = resource.attributes
    extensions: Any = resource.extensions
    for use in {(each.path, each.in_extensions): each for each in found}.values():
        if use.in_extensions:
            extensions = put(extensions, use.path, _made(extensions, use, values, ids))
        else:
            made = _made(attributes, use, values, ids)
            attributes = put(attributes, use.path, as_wanted(resource.id, use.path, made))
    if isinstance(resource.id, TerraformId):
        secret = [each for each in found if not each.in_extensions and values[each.output].is_secret]
        named = extensions.get("sensitive") or []
        if secret and isinstance(named, list | tuple):
            extensions = {**extensions, "sensitive": [*named, *(format_path(each.path) for each in secret)]}
    return replace(resource, attributes=attributes, extensions=extensions) if found else resource


def _made(body: Any, use: OutputUse, values: Mapping[OutputReference, OutputValue], ids: Ids) -> Any:
    """Returns what a field is with values in it; what else it refers to stays. Raises `SpecInvalid`."""
    for step in use.path:
        body = body[step]
    try:
        return composed(parts(body, ids), lambda each: each, again=True, output=lambda each: values[each].value)
    except InvalidReference as error:
        raise SpecInvalid(f"{use.field}: {error}", where=use.where) from None


def moved(reads: Collection[OutputRead], found: Mapping[OutputReference, OutputValue | NoOutput]) -> list[MovedObject]:
    """Returns what of the outputs that a plan was made from is not what it was."""
    moved: list[MovedObject] = []
    for each in reads:
        now = found[each.output]
        if isinstance(now, NoOutput):
            moved.append(MovedObject(None, f"{each.output} can't be had any more: {now.why}"))
        elif now.value != each.value.value:
            moved.append(MovedObject(None, f"{each.output} has another value now"))
    return moved


def named_ids(resources: Iterable[ResourceId]) -> dict[ResourceId, ResourceId]:
    """Returns resources of a stack by the ids that a declaration may have for them: their own, and that without the
    namespace which a placement gave, where only one is called so."""
    found = {each: each for each in resources}
    bare: dict[ResourceId, list[ResourceId]] = {}
    for id_ in found:
        if isinstance(id_, KubernetesId) and id_.namespace:
            bare.setdefault(replace(id_, namespace=""), []).append(id_)
    return {**{id_: ids[0] for id_, ids in bare.items() if len(ids) == 1}, **found}


def not_there(release: Release, address: Address) -> str:
    """Says why a resource of a release can't be relied on, empty where it can."""
    released = release.resources[address]
    if released.state is StepState.FAILED:
        return f"release {release.revision} failed on {address}"
    if released.state is StepState.INTENDED or not released.existed:
        return f"release {release.revision} did not end with {address}: what it has is not known"
    return ""


def value_of(
    text: str,
    ids: Ids,
    value: Mapping[Reference, Value | NoOutput],
) -> tuple[Any, bool] | NoOutput:
    """Returns what a declared text is with these values, and whether that is secret."""
    for each in value.values():
        if isinstance(each, NoOutput):
            return each
    known = {reference: each for reference, each in value.items() if isinstance(each, Value)}
    try:
        made = composed(parts(text, ids), lambda reference: known[reference].value)
    except InvalidReference as error:
        return NoOutput(str(error), "correct the declaration of the output")
    if made is None or any(True for _ in unknown_paths(made)):
        return NoOutput("it has no value yet", "wait until it has one, and try again")
    return made, any(each.is_secret for each in known.values())
