"""`Trust`: what a session asks before a repository makes this machine do anything.

Light: a session that only lists stacks asks here too, so what needs the runtimes is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import dataclass
from workbench.local import LocalState, Trusted
from workbench.project import Stack, checkout
from workbench.settings import Settings
from workbench.trust import repository
from workbench.trust.wants import Kind, Want

if TYPE_CHECKING:
    from runtimes.base import ProviderUse


@dataclass(frozen=True, slots=True)
class Standing:
    """A want and what became of it. `by` says who trusts it: the user, a setting, or a rule; empty for nobody."""

    want: Want
    by: str = ""
    since: str = ""

    @property
    def is_trusted(self) -> bool:
        return bool(self.by)


class Trust:
    """`practice` are digests of plugins that practice clusters, served by the user right now, brought along."""

    def __init__(
        self, root: Path, settings: Settings, local: LocalState, practice: Mapping[str, str] | None = None
    ) -> None:
        self._root, self._settings, self._local = root, settings, local
        self._checkout = checkout(root)
        self._practice = frozenset((practice or {}).values())
        self._untrusted: tuple[object, str] = (None, "")

    @property
    def root(self) -> Path:
        return self._root

    # The mode

    @property
    def untrusted(self) -> str:
        """Why the repository is data only, as a clause; empty where it is not. Found out again after a checkout."""
        stamp = (repository.stamp(self._checkout), self._local.stamp())
        if self._untrusted[0] != stamp:
            self._untrusted = (stamp, self._why_untrusted())
        return self._untrusted[1]

    def _why_untrusted(self) -> str:
        if self._settings.is_untrusted is not None:
            return "--untrusted or WB_UNTRUSTED says" if self._settings.is_untrusted else ""
        if self._settings.pull_request:
            return f"this is a pull request ({self._settings.pull_request} says so)"
        found = repository.suspicion(self._checkout)
        return found.why if found is not None and not self._knows(Kind.REPOSITORY, found.digest) else ""

    def refusal(self, what: str) -> str:
        """Returns the message for something that an untrusted repository does not get."""
        return f"{what}: this repository is untrusted, as {self.untrusted}"

    @property
    def lifting(self) -> str:
        """What to do about a refusal."""
        is_bound = self._settings.is_untrusted is None and not self._settings.pull_request
        return "read it; if it may: " + ("wb trust repository, or wb --trusted" if is_bound else "wb --trusted")

    def repository(self) -> Want | None:
        """Returns the want of a checkout that is not taken for the user's own; None of any other."""
        found = repository.suspicion(self._checkout)
        return repository.want(self._checkout, found) if found is not None else None

    # What is trusted

    def standing(self, want: Want) -> Standing:
        settings = self._settings
        by_setting = {
            Kind.PLUGIN: "WB_TRUST_PLUGINS" if settings.trusts_plugins else "",
            Kind.BACKEND: "WB_TRUST_BACKENDS" if settings.trusts_backends else "",
            Kind.PROVIDER: "WB_TRUST_PROVIDERS" if settings.trusts_providers else "",
            Kind.SETTINGS: "WB_TRUST_PROVIDERS" if settings.trusts_providers else "",
            Kind.KUBECONFIG: "WB_ALLOW_EXEC" if settings.allows_exec_credentials else "",
            Kind.SECRETS: "WB_TRUST_SECRETS" if settings.trusts_secrets else "",
            Kind.REPOSITORY: "--trusted" if settings.is_untrusted is False else "",
        }[want.kind]
        if by_setting:
            return Standing(want, by_setting)
        if want.kind is Kind.PLUGIN and want.digest in self._practice:
            return Standing(want, "the practice clusters")
        found = next((each for each in self._local.trusted(want.kind) if each.digest == want.digest), None)
        return Standing(want, "you", found.since) if found else Standing(want)

    def allows(self, want: Want) -> bool:
        """Returns whether this may be used now. Of an untrusted repository nothing may."""
        return not self.untrusted and self.standing(want).is_trusted

    def trust(self, want: Want) -> None:
        """Raises `LocalStateFailure`."""
        self._local.trust(want.kind, want.digest, want.name, about=want.about)

    def revoke(self, kind: Kind, bound: str) -> None:
        """Raises `LocalStateFailure`."""
        self._local.revoke(kind, bound)

    @property
    def problem(self) -> str:
        """Why what its user trusted does not count; empty where it does."""
        return self._local.problem()

    def all_trusted(self) -> tuple[Trusted, ...]:
        """Returns everything that the user trusts here, wanted now or not."""
        return tuple(each for kind in Kind for each in self._local.trusted(kind))

    def plugin_digests(self) -> frozenset[str]:
        """Returns the digests of plugins that may run, as a value that other processes can be told."""
        if self.untrusted:
            return frozenset()
        return self._practice | {each.digest for each in self._local.trusted(Kind.PLUGIN)}

    def trusts_plugin(self, bound: str) -> bool:
        """Returns whether a plugin may run, by the digest of `engine.plugins`."""
        return not self.untrusted and (self._settings.trusts_plugins or bound in self.plugin_digests())

    # Terraform

    def backend(self, stack: Stack, folder: Path) -> Want | None:
        """Returns the want of a stack's backend; None where it names none, or one that needs no trust."""
        from workbench.trust import backends

        named = stack.terraform.backend
        if named is None or not backends.needs_trust(named, folder=folder, root=self._root):
            return None
        return Want(
            Kind.BACKEND,
            f"{backends.named(named)} of {stack.path}",
            backends.digest(named, folder=folder),
            backends.where(stack.terraform),
            command=f"wb trust backend {stack.path}",
        )

    def providers(self, stack: Stack, uses: Iterable[ProviderUse]) -> Iterator[Standing]:
        """Yields what a stack wants of its providers: each itself, and its settings where they say anything."""
        from workbench.trust import providers

        command = f"wb trust provider {stack.path}"
        for use in uses:
            where = str(use.id) if use.id is not None else "the Terraform state"
            code = providers.code(use, command if use.id is not None else f"{command} {use.source}", where)
            by = self._provider_by(use)
            yield Standing(code, by) if by else self.standing(code)
            settings = providers.settings(use, command, where)
            yield (
                Standing(settings, "they say no more than where in its cloud")
                if providers.are_harmless(use.settings)
                else self.standing(settings)
            )

    def _provider_by(self, use: ProviderUse) -> str:
        from workbench.trust import providers

        if use.is_local:
            return "a mirror of this machine"
        if providers.is_well_known(use.source, self._settings.trusted_providers):
            return "it is well known"
        if use.id is None and any(each.about == use.source for each in self._local.trusted(Kind.PROVIDER)):
            return "you, in a version that was configured"
        return ""

    def refuse_providers(self, stack: Stack, uses: Sequence[ProviderUse]) -> None:
        """Raises `Rejected`, naming the first provider that is not trusted, the resource and the field."""
        from runtimes.base import Rejected

        refused = [each.want for each in self.providers(stack, uses) if not each.is_trusted]
        if not refused:
            return
        first = refused[0]
        others = f", and {len(refused) - 1} more like it" if len(refused) > 1 else ""
        if first.kind is Kind.PROVIDER:
            field, what = (
                "provider",
                f"the Terraform provider {first.name} is not trusted on this machine and was neither",
            )
            why = f"{what} fetched nor run{others}"
        else:
            field, what = (
                "providerMeta",
                f"settings of the Terraform provider {first.name} are not trusted on this machine",
            )
            why = f"{what}: they may lead elsewhere with your credentials, so it was not run{others}"
        subject = first.where if first.where != "the Terraform state" else ""
        raise Rejected(
            why if subject else f"{why}; the Terraform state names it",
            subject=subject,
            hint=f"read what it is there for; if you trust it: {first.command}",
            causes=((field, why),) if subject else (),
        )

    def fetched_providers(self) -> tuple[str, ...] | None:
        """Returns patterns of the providers that may be asked for of their hosts; None for any."""
        from workbench.trust import providers

        if self._settings.trusts_providers:
            return None
        own = {each.about for each in self._local.trusted(Kind.PROVIDER)}
        return tuple(sorted({*providers.WELL_KNOWN, *self._settings.trusted_providers, *own}))

    # Clusters

    def kubeconfig(self, file: Path) -> Want | None:
        """Returns the want of a kubeconfig that lies in the repository; None for any other."""
        from workbench.trust import kubeconfigs

        return kubeconfigs.want(file, self._checkout)

    def trusted_kubeconfigs(self) -> Collection[str]:
        """Returns digests of the contents of kubeconfigs of the repository that may do what the user's own may."""
        return () if self.untrusted else frozenset(each.digest for each in self._local.trusted(Kind.KUBECONFIG))

    def _knows(self, kind: Kind, bound: str) -> bool:
        return any(each.digest == bound for each in self._local.trusted(kind))
