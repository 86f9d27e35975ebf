"""What policies find."""

from __future__ import annotations

from kcl.records import dataclass
from runtimes.base import Address, FieldPath, ResourceId, format_path, in_words
from workbench.engine.spec import Chain
from workbench.project import StackPath
from workbench.project.policy import Level, Waiver


@dataclass(frozen=True, slots=True)
class Violation:
    """What a rule yields: a clause that says what is wrong, with values as they are.

    `subject` is None where it concerns the stack or the plan as a whole, `place` is empty where it concerns every
    place. `is_unknown`: it cannot be told, which is as good as forbidden. `quotes`: the message may say what is in the
    field, and is withheld where that is secret.
    """

    message: str
    subject: ResourceId | None = None
    path: FieldPath = ()
    place: str = ""
    is_unknown: bool = False
    quotes: bool = True


@dataclass(frozen=True, slots=True)
class PolicyFinding:
    """A violation as people are told it: what is secret is masked in `message`, `source` is the chain of the field.

    `waiver` puts up with it; `expired` did until its day.
    """

    policy: str
    level: Level
    message: str
    subject: ResourceId | None = None
    path: FieldPath = ()
    place: str = ""
    source: Chain = ()
    is_unknown: bool = False
    waiver: Waiver | None = None
    expired: Waiver | None = None

    @property
    def refuses(self) -> bool:
        """Whether a plan may not run for it."""
        return self.level is Level.ERROR and self.waiver is None

    @property
    def about(self) -> str:
        """`Deployment shop/web spec.replicas`, empty where it is about the whole."""
        if self.subject is None:
            return ""
        about = in_words(self.subject)
        if self.place:
            about += f" @{self.place}"
        return f"{about} {format_path(self.path)}" if self.path else about

    def __str__(self) -> str:
        about = f"{self.about}: " if self.subject is not None else ""
        expired = f" (its waiver expired on {self.expired.until})" if self.expired is not None else ""
        return f"{self.policy}: {about}{self.message}{expired}"


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """What was found, worst first. `judged` are the names of the policies that were asked, in the order of the files.

    `deferred` are those that look at plans, where there was none. `used` are the waivers that found something.
    """

    findings: tuple[PolicyFinding, ...] = ()
    judged: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    used: tuple[Waiver, ...] = ()

    @property
    def refusing(self) -> tuple[PolicyFinding, ...]:
        return tuple(each for each in self.findings if each.refuses)

    @property
    def warnings(self) -> tuple[PolicyFinding, ...]:
        return tuple(each for each in self.findings if each.level is Level.WARNING and each.waiver is None)

    @property
    def waived(self) -> tuple[PolicyFinding, ...]:
        return tuple(each for each in self.findings if each.waiver is not None)


def at(address: Address, message: str, path: FieldPath = (), *, is_unknown: bool = False) -> Violation:
    return Violation(message, address.id, path, address.cluster, is_unknown)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What policies say of one stack, or the `failure` for which nobody can tell."""

    stack: StackPath
    report: PolicyReport | None = None
    failure: Exception | None = None

    @property
    def is_certain(self) -> bool:
        return self.report is not None and not any(each.is_unknown for each in self.report.refusing)

    @property
    def refuses(self) -> bool:
        """Whether something is against a policy for certain."""
        return self.report is not None and any(not each.is_unknown for each in self.report.refusing)
