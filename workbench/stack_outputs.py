"""What stacks give to others, read from what their last release left: live objects, and Terraform's state.

Asks what holds the resources that an output names, and nothing else; changes nothing. What can't be known for certain
is no value: a stack that was never released, a step of its release that failed, an object that somebody made again
under the same name, a state of another machine.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from kcl.records import dataclass, replace
from runtimes.base import (
    Address,
    InvalidReference,
    LiveResource,
    OutputReference,
    PlainPath,
    ReadRequest,
    Reference,
    ResourceId,
    Runtime,
    RuntimeFailure,
    TerraformId,
    Unknown,
    composed,
    outputs_in,
    parts,
    references_in,
)
from runtimes.base.secret_texts import secret_texts, telling
from workbench.destinations import release_places
from workbench.engine import values
from workbench.engine.ending import why_ending
from workbench.engine.errors import ReleaseFailure
from workbench.engine.identities import follow, identify
from workbench.engine.masking import sealed_in, secrets_at
from workbench.engine.outputs import NoOutput, OutputUse, named_ids, not_there, uses, value_of
from workbench.engine.place_kinds import CLUSTER
from workbench.engine.reads import Giver, OutputValue
from workbench.engine.release import Release
from workbench.engine.spec import Spec
from workbench.engine.values import NoSuchValue, Value
from workbench.engine.workspace import agreed
from workbench.project import KonfigTree, Output, ProjectError, Stack
from workbench.release.history import History
from workbench.release.shared import Releases
from workbench.workspaces import Workspaces

Found = OutputValue | NoOutput


@dataclass(frozen=True, slots=True)
class OutputReader:
    """`connect` gives the runtime of a cluster or raises `RuntimeFailure`. `host` is this machine in releases."""

    root: Path
    tree: Callable[[], KonfigTree]
    releases: Releases
    workspaces: Workspaces
    connect: Callable[[str], Awaitable[Runtime]]
    host: str
    now: Callable[[], datetime]

    async def read(self, outputs: Collection[OutputReference]) -> Mapping[OutputReference, Found]:
        """Returns each value, or why there is none; raises nothing. Every stack is looked at once."""
        tree = self.tree()
        found: dict[OutputReference, Found] = {}
        for name in dict.fromkeys(each.stack for each in outputs):
            wanted = [each for each in outputs if each.stack == name]
            stack = next((each for each in tree.stacks() if str(each.path) == name), None)
            if stack is None:
                found |= dict.fromkeys(wanted, no_stack(tree, name))
                continue
            given = await self.of(stack, [each.name for each in wanted])
            found |= {each: given[each.name] for each in wanted}
        return found

    async def of(self, stack: Stack, names: Iterable[str]) -> Mapping[str, Found]:
        """Returns outputs of one stack by name."""
        names = tuple(names)
        if stack.unread_outputs is not None:
            wrong = stack.unread_outputs
            return dict.fromkeys(names, NoOutput(f"{wrong.where}: {wrong.message}", wrong.hint or "correct the file"))
        declared = {name: stack.outputs[name] for name in names if name in stack.outputs}
        found: dict[str, Found] = {name: undeclared(stack) for name in names if name not in declared}
        if declared:
            found |= await self._declared(stack, declared)
        return found

    async def _declared(self, stack: Stack, declared: Mapping[str, Output]) -> Mapping[str, Found]:
        try:
            release = await self._release(stack)
        except (ReleaseFailure, RuntimeFailure) as error:
            why = f"which release {stack.name} has is not known: {error.message}"
            return dict.fromkeys(declared, NoOutput(why, error.hint))
        if release is None:
            why = f"{stack.name} has no release"
            return dict.fromkeys(declared, NoOutput(why, f"apply it first: wb apply {stack.name}"))
        try:
            reading = await self._reading(stack, release)
        except ProjectError as error:
            return dict.fromkeys(declared, NoOutput(error.message, error.hint))
        return {name: await reading.output(each) for name, each in declared.items()}

    async def _reading(self, stack: Stack, release: Release) -> _Reading:
        """Connects the clusters that the stack has or had, each under the name that it has now."""
        known = {each.name for each in self.tree().clusters.clusters} | set(stack.clusters)
        had = {each.cluster for each in release.resources} & known
        runtimes: dict[str, Runtime | RuntimeFailure] = {}
        for name in sorted({*had, *stack.clusters}) if any(map(CLUSTER.holds, _ids(release))) else ():
            try:
                runtimes[name] = await self.connect(name)
            except RuntimeFailure as failure:
                runtimes[name] = failure
        reached = await identify(runtimes)
        followed = follow(release, reached.identities)
        assert followed.release is not None, "there is one to follow"
        return _Reading(self, stack, followed.release, reached.runtimes)

    async def _release(self, stack: Stack) -> Release | None:
        history: History = await self.releases.read(release_places(self.root, stack, (), self.releases.store))
        history.refuse_unknown(stack.name)
        return history.latest


class _Reading:
    """Reads outputs from one release of a stack; each resource once."""

    def __init__(
        self, reader: OutputReader, stack: Stack, release: Release, runtimes: Mapping[str, Runtime | RuntimeFailure]
    ) -> None:
        self._reader, self._stack, self._release, self._runtimes = reader, stack, release, runtimes
        self._released = named_ids(each.id for each in release.resources)
        self._ids = {str(each): each for each in self._released}
        self._seal = reader.releases.seal(release)
        self._sealed = frozenset(sealed_in(each.attributes for each in release.resources.values()))
        self._hidden: frozenset[str] = frozenset()
        self._found: dict[Address, LiveResource | NoOutput] = {}
        self._state: Mapping[ResourceId, LiveResource] | NoOutput | None = None

    async def output(self, declared: Output) -> Found:
        try:
            pieces = parts(declared.text, self._ids)
        except InvalidReference as error:
            why = str(error).replace("of this stack", f"that release {self._release.revision} has")
            hint = f"apply {self._stack.name}, or correct {declared.where}"
            return NoOutput(f"{declared.where}: {why}", hint)
        if any(True for _ in outputs_in(pieces)):
            why = "it is made of what another stack gives, which only a resource may be"
            return NoOutput(f"{declared.where}: {why}", "refer to that stack where it is read")
        references = tuple(dict.fromkeys(references_in(pieces)))
        found = {each: await self._value(each) for each in references}
        made = value_of(declared.text, self._ids, {each: value for each, (value, _) in found.items()})
        if isinstance(made, NoOutput):
            return made
        value, is_secret = made
        is_secret = is_secret or self._stack.secrets.names_secret(declared.name)
        givers = tuple(giver for _, giver in found.values())
        return OutputValue(value, is_secret, givers, self._release.revision, self._reader.now())

    async def _value(self, reference: Reference) -> tuple[Value | NoOutput, Giver]:
        """Returns what all places have that the release left the resource in."""
        id_ = self._released[reference.id]
        addresses = [each for each in self._release.resources if each.id == id_]
        giver = Giver(id_, reference.attribute, tuple(each.cluster for each in addresses))
        there: dict[str, Value] = {}
        for address in addresses:
            live = await self._resource(address)
            if isinstance(live, NoOutput):
                return live, giver
            there[address.cluster] = self._of(live, reference)
            giver = replace(giver, path=values.path_of(live, reference))
        try:
            value = agreed(reference, there)
        except NoSuchValue as error:
            return NoOutput(str(error), "give what is the same everywhere"), giver
        if isinstance(value.value, Unknown):
            places = ", ".join(name for name, each in there.items() if isinstance(each.value, Unknown))
            hint = f"wait until it has one (wb watch {self._stack.name}), or correct the output"
            return NoOutput(f"{reference} has no value yet in {places}", hint), giver
        return value, giver

    def _of(self, live: LiveResource, reference: Reference) -> Value:
        """A value is secret also where the release sealed what it configured there: it repeats a secret then."""
        try:
            found = values.of_live(live, reference, self._stack.secrets)
        except NoSuchValue:
            return Value(Unknown.UNKNOWN)
        is_sealed = any(
            values.holds_sealed(each.attributes, reference)
            for address, each in self._release.resources.items()
            if address.id == live.id
        )
        return replace(found, is_secret=found.is_secret or is_sealed or self._repeats(found.value))

    def _repeats(self, value: object) -> bool:
        """Whether a value is, or has in it, what is secret elsewhere in the stack: as the release sealed it, or as its
        Terraform state has it."""
        hidden = secret_texts(self._hidden)
        for text in values.texts(value):
            encoded = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
            if not self._sealed.isdisjoint({self._seal.digest(text), self._seal.digest(encoded)}) or hidden.hides(text):
                return True
        return False

    async def _resource(self, address: Address) -> LiveResource | NoOutput:
        if address not in self._found:
            why = not_there(self._release, address)
            again = f"apply {self._stack.name} again"
            self._found[address] = NoOutput(why, again) if why else await self._live(address)
        return self._found[address]

    async def _live(self, address: Address) -> LiveResource | NoOutput:
        is_terraform = isinstance(address.id, TerraformId)
        try:
            live = await (self._recorded(address.id) if is_terraform else self._object(address))
        except RuntimeFailure as error:
            return NoOutput(f"{address} can't be read: {error.message}", error.hint)
        if live is None:
            why = f"{address} is not there any more, and release {self._release.revision} left it there"
            return NoOutput(why, f"apply {self._stack.name} again")
        released = self._release.resources[address]
        if isinstance(live, LiveResource) and released.uid and live.identity.uid != released.uid:
            why = f"{address} is another one than release {self._release.revision} left there"
            return NoOutput(why, f"look what made it, and apply {self._stack.name} again")
        if isinstance(live, LiveResource) and (why := why_ending(live)):
            again = f"apply {self._stack.name} again when it is gone"
            return NoOutput(f"{address} is being deleted ({why})", again)
        return live

    async def _object(self, address: Address) -> LiveResource | NoOutput | None:
        runtime = self._runtimes.get(address.cluster)
        if runtime is None:
            release = self._release.revision
            why = f"release {release} left {address.id} in {address.cluster}, and no name leads to that cluster now"
            return NoOutput(why, f"look at wb diff {self._stack.name}, and apply it again")
        if isinstance(runtime, RuntimeFailure):
            raise runtime
        return await runtime.read(ReadRequest(address.id))

    async def _recorded(self, id_: ResourceId) -> LiveResource | NoOutput | None:
        if self._state is None:
            self._state = await self._read_state()
        return self._state if isinstance(self._state, NoOutput) else self._state.get(id_)

    async def _read_state(self) -> Mapping[ResourceId, LiveResource] | NoOutput:
        release, here = self._release, self._reader.host
        if self._stack.terraform.backend is None and release.host != here:
            why = f"release {release.revision} was made on {release.host}, whose Terraform state is not on this machine"
            return NoOutput(why, f"share it: name a backend in the stack.yaml of {self._stack.name}")
        workspace = await self._reader.workspaces.of(self._stack)
        found = {each.id: each for each in (await workspace.owned({})).resources}
        self._hidden = telling(
            text for each in found.values() for text in secrets_at(each.observed or each.body, each.hidden)
        )
        return found


def _ids(release: Release) -> list[ResourceId]:
    return [each.id for each in release.resources]


def not_declared(tree: KonfigTree, spec: Spec) -> Iterator[tuple[OutputUse, NoOutput]]:
    """Yields each field of a Spec that reads what no stack declares. A declaration that can't be read says neither."""
    stacks = {str(each.path): each for each in tree.stacks()}
    for use in uses(spec):
        stack = stacks.get(use.output.stack)
        if stack is None:
            yield use, no_stack(tree, use.output.stack)
        elif stack.unread_outputs is None and use.output.name not in stack.outputs:
            yield use, undeclared(stack)


def origins(tree: KonfigTree, spec: Spec, resource: ResourceId, path: PlainPath) -> Iterator[str]:
    """Yields where the outputs are declared that a field, or what is below it, reads."""
    stacks = {str(each.path): each for each in tree.stacks()}
    for use in uses(spec):
        if use.resource == resource and not use.in_extensions and use.path[: len(path)] == path:
            stack = stacks.get(use.output.stack)
            declared = stack.outputs.get(use.output.name) if stack is not None else None
            yield f"{use.output} is declared at {declared.where}" if declared else f"{use.output} is declared nowhere"


def misdeclared(stack: Stack, spec: Spec) -> Iterator[str]:
    """Yields what a stack declares for others, and its Spec has not."""
    ids = {str(each): each for each in named_ids(each.id for each in spec)}
    for declared in stack.outputs.values():
        try:
            composed(parts(declared.text, ids), lambda _: Unknown.UNKNOWN)
        except InvalidReference as error:
            yield f"{declared.where}: output {declared.name} can't be given to others: {error}"


def undeclared(stack: Stack) -> NoOutput:
    known = ", ".join(stack.outputs) or "nothing"
    file = stack.directory / "stack.yaml"
    return NoOutput(f"{stack.name} declares no such output", f"it gives {known}; declare it under outputs in {file}")


def no_stack(tree: KonfigTree, name: str) -> NoOutput:
    from difflib import get_close_matches

    near = get_close_matches(name, [str(each.path) for each in tree.stacks()], n=1)
    hint = f"did you mean {near[0]}?" if near else "wb ls lists the stacks"
    return NoOutput("this repository has no such stack", hint)
