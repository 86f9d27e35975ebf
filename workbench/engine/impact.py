"""What a change of files does to stacks: what is configured before it, beside what is configured after it.

Pure: two compilations of each stack in, a report out. Which stacks have to be compiled, and from what, is found out in
impacts.py. That a stack reads a changed file says that it may change; only its two Specs say whether it does, and one
that cannot be compiled on a side says neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass, field, replace
from kcl.secrecy.rules import SecretRules
from runtimes.base import Address, FieldPath, KubernetesId, Resource, ResourceId, starts_with
from workbench.engine.changes import Change, ChangeClass, FieldChange, Op, StackDiff, Summary
from workbench.engine.diff import Difference, differences, same
from workbench.engine.events import Action
from workbench.engine.fields import MISSING
from workbench.engine.linted import LintReport
from workbench.engine.masking import Masked, Seal, is_sensitive, masked
from workbench.engine.policy.findings import PolicyReport
from workbench.engine.scrubbing import masked_text
from workbench.engine.spec import Chain, SourceSite, Spec
from workbench.project import ClusterMapping, Stack, WorkbenchError

_BODY: Final = ""
_DEPENDS_ON, _EXTENSIONS, _TYPE = "dependsOn", "extensions", "type"


class State(StrEnum):
    """`UNKNOWN`: it could not be compiled on one of the sides, so nobody can tell what changes."""

    NEW = "new"
    REMOVED = "removed"
    RENAMED = "renamed"
    CHANGED = "changed"
    SAME = "same"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CompileFinding:
    """One finding of the language: `kcl explain` knows its `code`. `file` and `line` are those of a `Failure`."""

    code: str
    title: str
    message: str
    file: Path | None
    line: int
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a stack has no Spec. `side` is `before` or `after`; `rendered` as of a `CompileFailed`, else empty.

    `findings` are all that the language found, the first of which is the message; none where the failure is another.
    """

    side: str
    message: str
    where: str = ""
    hint: str = ""
    rendered: str = field(default="", repr=False)
    file: Path | None = None
    """Where it is, in the working tree; `line` counts from 1, 0 where it is not known."""
    line: int = 0
    findings: tuple[CompileFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """One side of a stack: its Spec with chains in the working tree, or why it has none."""

    stack: Stack
    clusters: ClusterMapping
    spec: Spec | None = None
    read: frozenset[Path] = field(default=frozenset(), repr=False)
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """What changes of a stack beside its Spec, such as the clusters it goes to; texts for people."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class StackImpact:
    """`changes` are by resource, in the order of the Spec; what is deleted comes last. `reads` are changed files.

    Fields of `changes` are all *intended*, with the line of the later side; where it has none, as for a deletion, that
    of the earlier. `spec` is the one to show them with. `former` is the name of a stack that was renamed.
    `live` is what an apply of the resources that change would do, None where clusters were not queried; `policy` what
    policies find in what the stack is afterwards, None where they were not asked.
    """

    stack: str
    state: State
    changes: tuple[Change, ...] = ()
    settings: tuple[Setting, ...] = ()
    reads: tuple[Path, ...] = ()
    failures: tuple[Failure, ...] = ()
    former: str = ""
    directory: Path | None = None
    spec: Spec = field(default_factory=lambda: Spec("", ()), repr=False)
    live: StackDiff | None = field(default=None, repr=False)
    policy: PolicyReport | None = field(default=None, repr=False)

    @property
    def is_affected(self) -> bool:
        return self.state is not State.SAME

    @property
    def summary(self) -> Summary:
        return Summary.of(self.changes)

    def concerns(self, id_: ResourceId) -> bool:
        """Whether an object of the stack, as it is placed, is one that the change is about.

        Where its settings change, be it where it goes or what it is called, all are.
        """
        ids = {each.address.id for each in self.changes}
        unplaced = replace(id_, namespace="") if isinstance(id_, KubernetesId) else id_
        return bool(self.settings or self.former) or id_ in ids or unplaced in ids


@dataclass(frozen=True, slots=True)
class Doubt:
    """What the comparison could not look at: that nothing else is affected can't be claimed."""

    message: str
    where: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ImpactReport:
    """What changing `files` does to the stacks of a repository. `before` and `after` are what the sides are called.

    `stacks` are those that are affected or read one of the files, in tree order; the other `total - len(stacks)` read
    none of them. `unread` are changed files that no stack reads; `notes` say what else reads them. `lint` is None where
    the linter was not asked.
    """

    root: Path
    before: str
    after: str
    files: tuple[Path, ...]
    stacks: tuple[StackImpact, ...]
    total: int
    unread: tuple[Path, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()
    lint: LintReport | None = None

    @property
    def affected(self) -> tuple[StackImpact, ...]:
        return tuple(each for each in self.stacks if each.is_affected)

    @property
    def is_different(self) -> bool:
        return any(each.is_affected and each.state is not State.UNKNOWN for each in self.stacks)

    @property
    def is_certain(self) -> bool:
        """Whether both sides of every stack could be looked at."""
        is_live_certain = all(each.live is None or each.live.is_certain for each in self.stacks)
        return is_live_certain and not self.doubts and not any(each.state is State.UNKNOWN for each in self.stacks)

    @property
    def is_linted(self) -> bool:
        """Whether the linter could look at all that it was asked about."""
        return self.lint is None or not self.lint.unknown

    @property
    def broken(self) -> tuple[str, ...]:
        """The stacks that compile before, and would not after."""
        return tuple(
            each.stack for each in self.stacks if each.failures and all(one.side == "after" for one in each.failures)
        )

    @property
    def summary(self) -> Summary:
        return Summary.of(change for each in self.stacks for change in each.changes)


def compare(before: Compiled | None, after: Compiled | None, files: Iterable[Path], seal: Seal) -> StackImpact:
    """Compares the sides of one stack; None where it is not there. `seal` is that of the whole report."""
    present = after or before
    assert present is not None, "a stack is on one side at least"
    former = before.stack.name if before and after and before.stack.path != after.stack.path else ""
    read = (before.read if before else frozenset()) | (after.read if after else frozenset())
    impact = StackImpact(
        stack=present.stack.name,
        state=State.UNKNOWN,
        settings=tuple(_settings(before, after, seal)) if before and after else (),
        reads=tuple(each for each in files if each in read),
        failures=tuple(each.failure for each in (before, after) if each is not None and each.failure is not None),
        former=former,
        directory=present.stack.directory,
    )
    if impact.failures:
        return impact
    old = before.spec if before and before.spec is not None else Spec(present.stack.name, ())
    new = after.spec if after and after.spec is not None else Spec(present.stack.name, ())
    changes = tuple(_Comparison(old, new, seal).changes())
    state = State.CHANGED if changes or impact.settings else State.SAME
    state = State.RENAMED if former else state
    state = State.NEW if before is None else State.REMOVED if after is None else state
    return replace(impact, state=state, changes=changes, spec=_shown_with(new, old))


def moved(chain: Chain, place: Callable[[Path], Path]) -> Chain:
    """Returns a chain with its files elsewhere: where the user has them."""
    return tuple(SourceSite(place(each.file), each.line, each.column, each.kind) for each in chain)


def all_rules(one: SecretRules, other: SecretRules) -> SecretRules:
    """What either side calls secret is: the change itself may take a rule away."""
    if one == other:
        return one
    return SecretRules(one.names + other.names, one.paths + other.paths, one.patterns + other.patterns)


def _shown_with(new: Spec, old: Spec) -> Spec:
    return replace(new, secrets=new.secrets | old.secrets, rules=all_rules(new.rules, old.rules))


class _Comparison:
    """Two Specs of one stack, resource by resource."""

    def __init__(self, old: Spec, new: Spec, seal: Seal) -> None:
        self._old, self._new = _shown_with(old, new), _shown_with(new, old)
        self._seal = seal.knowing(self._new.secrets, self._new.rules)

    def changes(self) -> Iterator[Change]:
        for resource in self._new:
            former = self._old.get(resource.id)
            if former is None:
                yield self._created(resource)
            elif not _is_same(former, resource):
                yield self._updated(former, resource)
        for resource in self._old:
            if self._new.get(resource.id) is None:
                yield self._deleted(resource)

    def _created(self, resource: Resource) -> Change:
        hidden = self._hidden(resource)
        return Change(
            Address("", resource.id),
            Action.CREATE,
            resource=resource,
            fields=tuple(self._fields(None, resource, hidden)),
            source=self._new.chain(resource.id),
            sensitive=hidden,
        )

    def _deleted(self, resource: Resource) -> Change:
        hidden = self._hidden(resource)
        return Change(
            Address("", resource.id),
            Action.DELETE,
            fields=tuple(self._fields(resource, None, hidden)),
            source=self._old.chain(resource.id),
            because="the configuration no longer has it",
            sensitive=hidden,
            before=masked(resource.attributes, hidden, self._seal),
        )

    def _updated(self, former: Resource, resource: Resource) -> Change:
        hidden = tuple(dict.fromkeys((*self._hidden(former), *self._hidden(resource))))
        return Change(
            Address("", resource.id),
            Action.UPDATE,
            resource=resource,
            fields=tuple(self._fields(former, resource, hidden)),
            source=self._new.chain(resource.id),
            sensitive=hidden,
        )

    def _hidden(self, resource: Resource) -> tuple[FieldPath, ...]:
        return tuple(dict.fromkeys((*self._old.hidden(resource), *self._new.hidden(resource))))

    def _fields(
        self, former: Resource | None, resource: Resource | None, hidden: tuple[FieldPath, ...]
    ) -> Iterator[FieldChange]:
        present = resource or former
        assert present is not None, "a resource is on one side at least"
        id_ = present.id
        keys = _identities(id_)
        for part in (_BODY, _EXTENSIONS, _DEPENDS_ON, _TYPE):
            inside = hidden if part == _BODY else ()
            for each in sorted(differences(_part(former, part), _part(resource, part), keys), key=_order):
                yield self._field(each, part, inside, self._chain(id_, part, each.path))

    def _chain(self, id_: ResourceId, part: str, path: FieldPath) -> Chain:
        if part == _EXTENSIONS:
            return self._new.extension_chain(id_, path) or self._old.extension_chain(id_, path)
        inside = path if part == _BODY else ()
        return self._new.chain(id_, inside) or self._old.chain(id_, inside)

    def _field(self, each: Difference, part: str, hidden: tuple[FieldPath, ...], chain: Chain) -> FieldChange:
        op = Op.ADD if each.before is MISSING else Op.REMOVE if each.after is MISSING else Op.CHANGE
        is_masked = is_sensitive(each.path, hidden) or any(starts_with(path, each.path) for path in hidden)
        is_masked = is_masked or self._hides(each.before) or self._hides(each.after)
        # where one of two texts is secret, what the other was before or will be is as well
        texts = [value for value in (each.before, each.after) if isinstance(value, str)]
        hides_both = len(texts) == 2 and any(map(self._hides, texts))
        path = (part, *each.path) if part else each.path
        return FieldChange(
            path=self._seal.path(path),
            op=op,
            class_=ChangeClass.INTENDED,
            before=self._shown(each.before, each.path, hidden, hides_both),
            after=self._shown(each.after, each.path, hidden, hides_both),
            is_masked=is_masked,
            source=chain,
        )

    def _hides(self, value: Any) -> bool:
        return value is not MISSING and self._seal.hides(value)

    def _shown(self, value: Any, path: FieldPath, hidden: tuple[FieldPath, ...], hides: bool) -> Any:
        if value is MISSING:
            return None
        shown: Masked | Any = self._seal.mask(value) if hides else masked(value, hidden, self._seal, path)
        return shown


def _part(resource: Resource | None, part: str) -> Any:
    if resource is None:
        return MISSING
    match part:
        case "extensions":
            return resource.extensions or MISSING
        case "dependsOn":
            return sorted(map(str, resource.depends_on)) or MISSING
        case "type":
            return resource.type.value
        case _:
            return resource.attributes


def _is_same(one: Resource, other: Resource) -> bool:
    return all(
        same(_part(one, part), _part(other, part)) if _part(one, part) is not MISSING else _part(other, part) is MISSING
        for part in (_BODY, _EXTENSIONS, _DEPENDS_ON, _TYPE)
    )


def _identities(id_: ResourceId) -> Callable[[FieldPath], tuple[str, ...]]:
    """No cluster is asked for its schema: in lists of Kubernetes names tell elements apart, if all have one."""
    names = ("name",) if isinstance(id_, KubernetesId) else ()
    return lambda path: names


def _order(each: Difference) -> tuple[tuple[int, str], ...]:
    return tuple((1, f"{step:08}") if isinstance(step, int) else (0, str(step)) for step in each.path)


def _settings(before: Compiled, after: Compiled, seal: Seal) -> Iterator[Setting]:
    """What the workbench goes by, beside the Spec."""
    one, other = _told(before, seal), _told(after, seal)
    rules = all_rules(before.stack.secrets, after.stack.secrets)
    for name in dict.fromkeys((*one, *other)):
        texts = [masked_text(each.get(name, ""), frozenset(), rules) for each in (one, other)]
        if one.get(name, "") != other.get(name, ""):
            yield Setting(name, *texts)


def _told(side: Compiled, seal: Seal) -> Mapping[str, str]:
    stack = side.stack
    placement, terraform = stack.placement, stack.terraform
    told = {
        "labels": ", ".join(f"{key}={value}" for key, value in sorted(stack.labels.items())),
        "terraform version": terraform.required_version,
        "terraform backend": f"{terraform.backend.get('type')} {seal.mask(terraform.backend)}"
        if terraform.backend
        else "",
    }
    if placement is not None:
        namespace = placement.namespace
        told |= {
            "clusters": ", ".join(_cluster(name, side.clusters) for name in placement.clusters),
            "environment": placement.environment,
            "protected": "yes" if placement.protected else "no",
            "namespace": "" if namespace is None else f"{namespace.template} by {namespace.by.value}",
        }
    return told


def _cluster(name: str, clusters: ClusterMapping) -> str:
    try:
        context = clusters.cluster(name).context
    except WorkbenchError:
        return name
    return f"{name} (context {context})" if context and context != name else name
