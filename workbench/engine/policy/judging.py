"""Policies × a Spec or a plan → what they find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from kcl.bounded import Allowance
from kcl.records import dataclass, replace
from runtimes.base import Body, FieldPath, Resource, ResourceId, in_words
from workbench.engine.fields import plain_steps
from workbench.engine.masking import is_sensitive
from workbench.engine.plan import Guard, Plan
from workbench.engine.policy.checks import Check
from workbench.engine.policy.findings import PolicyFinding, PolicyReport, Violation
from workbench.engine.policy.registry import find_rule
from workbench.engine.policy.rules import Look, Subject, build
from workbench.engine.scrubbing import masked_text
from workbench.engine.spec import Spec
from workbench.project import OutsideRepository, Stack, checkout, refuse_outside
from workbench.project.errors import BrokenFile
from workbench.project.policy import Policy, PolicyFile, Waiver, read_policies

GUARD = "policies"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A policy with what looks, and the waivers that count for it."""

    policy: Policy
    look: Look | Check
    needs_plan: bool
    waivers: tuple[Waiver, ...]


@dataclass(frozen=True, slots=True)
class Judge:
    """What a repository and its user do not put up with. Writes nothing, and asks no cluster."""

    entries: tuple[_Entry, ...]
    files: tuple[PolicyFile, ...]
    allowance: Allowance
    root: Path

    async def spec(self, stack: Stack, spec: Spec, now: datetime) -> PolicyReport:
        """Judges what a stack says. `spec` has been placed, so that names are those that clusters will see."""
        bodies = {each.id: (each.attributes,) for each in spec}
        return await self._report(Subject(stack, spec, bodies, now))

    async def plan(self, stack: Stack, plan: Plan, now: datetime) -> PolicyReport:
        """Judges what a plan does, and all that the stack will be then."""
        return await self._report(Subject(stack, plan.spec, _bodies(plan), now, plan))

    async def judged(self, stack: Stack, plan: Plan, now: datetime) -> Plan:
        """Returns the plan with a guard for the policies, and with what else they have to say.

        It is the same again where a plan is judged again, as another day may have begun.
        """
        before = {str(each) for each in plan.policy.findings} if plan.policy is not None else set()
        report = await self.plan(stack, plan, now)
        if not report.judged:
            return plan
        refusing = report.refusing
        message = "; ".join(map(self._told, refusing))
        guards = (*(each for each in plan.guards if each.name != GUARD), Guard(GUARD, not refusing, message))
        return replace(
            plan,
            guards=guards,
            policy=report,
            warnings=(*(each for each in plan.warnings if each not in before), *map(str, report.warnings)),
        )

    def _told(self, found: PolicyFinding) -> str:
        return f"{found} ({found.source[0].relative_to(self.root)})" if found.source else str(found)

    async def _report(self, subject: Subject) -> PolicyReport:
        findings: list[PolicyFinding] = []
        judged: list[str] = []
        deferred: list[str] = []
        for each in self.entries:
            if not each.policy.concerns(subject.stack.path):
                continue
            if each.needs_plan and subject.plan is None:
                deferred.append(each.policy.name)
                continue
            judged.append(each.policy.name)
            looking = replace(subject, looks_at=each.policy.looks_at)
            look = each.look
            found = await look.look(looking, self.allowance) if isinstance(look, Check) else look(looking)
            findings += [_finding(each, violation, subject) for violation in dict.fromkeys(found)]
        findings.sort(key=lambda each: (not each.refuses, each.waiver is not None))
        used = dict.fromkeys(each.waiver for each in findings if each.waiver is not None)
        return PolicyReport(tuple(findings), tuple(judged), tuple(deferred), tuple(used))


def open_judge(root: Path, besides: Path | None, allowance: Allowance) -> Judge:
    """Reads the policies of a repository, and of its user in `besides`; raises `BrokenFile` or `OutsideRepository`.

    Everything that is wrong with them is told here, whatever the stacks have.
    """
    files = read_policies(root, besides)
    entries = [_entry(each, file, root) for file in files for each in file.policies]
    return Judge(tuple(entries), files, allowance, root)


def _entry(policy: Policy, file: PolicyFile, root: Path) -> _Entry:
    if policy.check is not None:
        if policy.parameters:
            raise BrokenFile("a check takes no parameters", where=policy.where, hint="say them in its file")
        within = file.path.parent if file.is_foreign else checkout(root)
        if not policy.check.resolve().is_relative_to(within.resolve()):
            raise OutsideRepository(f"leads out of {within}", where=f"{policy.where}: check {policy.check}")
        refuse_outside(policy.check, within, hint="put the file there")
        if not policy.check.is_file():
            raise BrokenFile(f"there is no file {policy.check}", where=policy.where)
        return _Entry(policy, Check(policy.check.resolve(), within.resolve()), False, file.waivers)
    rule = find_rule(policy.rule, policy.where)
    return _Entry(policy, build(rule, policy.parameters, policy.where), rule.needs_plan, file.waivers)


def _bodies(plan: Plan) -> dict[ResourceId, tuple[Body, ...]]:
    """What each resource will be: as planned where a place told, else as the stack says it."""
    found: dict[ResourceId, list[Body]] = {each.id: [] for each in plan.spec}
    for change in plan.changes:
        body = change.planned if change.planned is not None else change.configured
        if body is not None and change.address.id in found and body not in found[change.address.id]:
            found[change.address.id].append(body)
    said: Mapping[ResourceId, Body] = {each.id: each.attributes for each in plan.spec}
    return {id_: tuple(bodies) or (said[id_],) for id_, bodies in found.items()}


def _finding(entry: _Entry, violation: Violation, subject: Subject) -> PolicyFinding:
    spec, policy = subject.spec, entry.policy
    names: tuple[str, ...] = ()
    if violation.subject is not None:
        names = (str(violation.subject), in_words(violation.subject))
    today = max(each.astimezone(UTC).date() for _, each in subject.moments())
    waivers = [each for each in entry.waivers if each.is_for(policy.name, subject.stack.path, names)]
    valid = next((each for each in waivers if not each.has_expired(today)), None)
    return PolicyFinding(
        policy.name,
        policy.level,
        masked_text(_message(violation, spec), spec.secrets, spec.rules),
        violation.subject,
        violation.path,
        violation.place,
        spec.chain(violation.subject, violation.path) if violation.subject is not None else (),
        violation.is_unknown,
        valid,
        None if valid is not None or not waivers else max(waivers, key=lambda each: each.until),
    )


def _message(violation: Violation, spec: Spec) -> str:
    """A short word is secret by its place alone, so where it is quoted nothing else can tell."""
    resource = spec.get(violation.subject) if violation.subject is not None else None
    if violation.quotes and resource is not None and _is_secret(violation.path, resource, spec.hidden(resource)):
        return "what it says is against the policy, and secret"
    return violation.message


def _is_secret(path: FieldPath, resource: Resource, hidden: Iterable[FieldPath]) -> bool:
    """Whether a field is, or lies in, something secret, whichever way elements of lists are named."""
    body = resource.attributes
    every = [(each, plain_steps(body, each)) for each in hidden]
    return is_sensitive(plain_steps(body, path), [plain for each, plain in every if len(plain) == len(each)])
