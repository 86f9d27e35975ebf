"""What Terraform says went wrong, led back to the resource and the attribute that were written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import (
    FieldPath,
    Finding,
    Forbidden,
    Misconfigured,
    Moved,
    NotThere,
    Overloaded,
    Rejected,
    ResourceId,
    RuntimeFailure,
    TerraformId,
    Unauthenticated,
    Unreachable,
    format_path,
)
from runtimes.terraform.configured import Configuration, Place

CONFIGURATION_FILE: Final = "main.tf.json"

_LONGEST_MESSAGE = 400

_CAUSED_BY_TARGETS = ("Resource targeting is in effect", "Applied changes may be incomplete")
_NOTHING_THERE = "nothing exists under the id it is to be taken over by"
_KEPT = "it is kept from being destroyed, and this would destroy it"
_OF_EXTENSIONS: Final[Mapping[str, FieldPath]] = {
    _NOTHING_THERE: ("importId",),
    _KEPT: ("lifecycle", "prevent_destroy"),
}
LOCKED: Final = "Error acquiring the state lock"
# terraform reads the state while it locks it, and says of both that they failed as the lock
_UNREADABLE_STATE = re.compile(
    r"state file|state contains|state snapshot|state (format|version)|unsupported state|unexpected (eof|end of)"
    r"|in state:",
    re.IGNORECASE,
)
# of the `http` backend, terraform gives as Lock Info what itself wanted to write, and of the holder the id in the text
_HELD_BY_ID = re.compile(r"already locked:\s+ID=([0-9A-Za-z-]{1,64})")
_NOTHING_TO_IMPORT = re.compile(
    r"nothing exists|non-existent remote object|not exist|not found|couldn't find|no such", re.IGNORECASE
)


def finding(diagnostic: Mapping[str, Any], configuration: Configuration | None) -> Finding | None:
    """Reads the `diagnostic` of an event; None for the warnings about `-target` that we cause ourselves.

    `configuration` is None before there is one (`init` of an empty folder, `version`).
    """
    summary, detail = str(diagnostic.get("summary") or ""), str(diagnostic.get("detail") or "")
    is_error = diagnostic.get("severity") == "error"
    if not is_error and summary in _CAUSED_BY_TARGETS:
        return None
    place = _place(diagnostic, configuration)
    summary, detail = _in_our_words(summary, detail, place, configuration)
    if configuration is not None:
        summary, detail = configuration.scrubbed(summary), configuration.scrubbed(detail)
    if place.in_provider:
        where = f"extensions.providerMeta of {place.id}"
        detail = f"{detail}\n\nThis is {format_path(place.path)} in {where}.".strip() if place.path else detail
    said = " ".join(summary.split()) or "Terraform says no more"
    if place.id is not None and said in _OF_EXTENSIONS:
        return Finding(is_error, said, detail.strip(), place.id, _OF_EXTENSIONS[said], in_extensions=True)
    return Finding(is_error, said, detail.strip(), place.id, () if place.in_provider else place.path)


def failure(
    findings: Iterable[Finding], *, place: str = "terraform", id_: ResourceId | None = None, doing: str = "plan"
) -> RuntimeFailure:
    """Returns the failure that the errors among the findings amount to, of the class that fits.

    `doing` is what terraform was asked for, in words of ours: init, plan, apply. Locked is `Overloaded`, and says by
    whom and since when; a stale plan is `Moved`.
    """
    errors = [each for each in findings if each.is_error]
    subject = str(id_) if id_ else next((str(each.id) for each in errors if each.id), "")
    if not errors:
        return RuntimeFailure(
            f"terraform {doing} failed and gave no reason",
            target=place,
            subject=subject,
            hint="run it again; what it had done is in its state",
        )
    first = min(errors, key=_rank)
    said = f"{first.message}\n{first.detail}"
    if first.message == LOCKED:
        return locked(first.detail, place)
    kind = _kind(said)
    message = _message(first) + _more(len(errors) - 1)
    if kind.type_ is Rejected:
        causes = tuple((format_path(each.path) if each.path else "", _message(each)) for each in errors)
        return Rejected(message, causes=causes, target=place, subject=subject, hint=kind.hint)
    return kind.type_(message, target=place, subject=subject, hint=kind.hint)


def does_not_exist(finding: Finding) -> bool:
    """Whether an import failed only because there is nothing under that id."""
    return finding.is_error and bool(_NOTHING_TO_IMPORT.search(f"{finding.message}\n{finding.detail}"))


@dataclass(frozen=True, slots=True)
class Lock:
    """Who holds the lock of a state. `since` is as Terraform writes it, in UTC; empty texts where it doesn't say."""

    id: str
    who: str
    since: str
    operation: str


def lock_of(detail: str) -> Lock:
    """Reads the `Lock Info` of the detail of a diagnostic."""
    told = dict(re.findall(r"^\s*(ID|Who|Created|Operation):\s*(.*?)\s*$", detail, re.MULTILINE))
    since = re.sub(r"(:\d\d)\.\d+", r"\1", told.get("Created", "").removesuffix(" UTC").replace(" +0000", ""))
    operation = told.get("Operation", "").removeprefix("OperationType").lower()
    return Lock(told.get("ID", ""), told.get("Who", ""), since, operation)


def locked(detail: str, place: str) -> RuntimeFailure:
    """Returns the failure of who could not have the lock of the state; `detail` is what terraform says of it."""
    lock = lock_of(detail)
    if not lock.who and not lock.id:
        if _UNREADABLE_STATE.search(detail):
            why, hint = _first_paragraph(detail).removeprefix("Error message: "), "put it back as it was, from a backup"
            return RuntimeFailure(f"the state can't be read: {why}", target=place, hint=hint)
        hint = "run it again later; if nobody works with it, look at what its backend says of the lock"
        return Overloaded(f"the state can't be locked: {_first_paragraph(detail)}", target=place, hint=hint)
    if (holder := _HELD_BY_ID.search(detail)) is not None:
        return Overloaded(
            f"the state is locked by somebody: its backend gives the id of the lock alone, {holder[1]}",
            target=place,
            hint=f"wait until it is done; if nothing of it runs any more: wb state unlock STACK {holder[1]}",
        )
    since = f" since {lock.since} UTC" if lock.since else ""
    what = f" ({lock.operation})" if lock.operation else ""
    return Overloaded(
        f"the state is locked by {lock.who or 'somebody'}{since}{what}",
        target=place,
        hint=f"wait until it is done; if nothing of it runs any more: wb state unlock STACK {lock.id}",
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    pattern: re.Pattern[str]
    type_: type[RuntimeFailure]
    hint: str


def _kind_of(pattern: str, type_: type[RuntimeFailure], hint: str) -> _Kind:
    return _Kind(re.compile(pattern, re.IGNORECASE), type_, hint)


# The first one that fits counts. Terraform's own messages come before those of providers, which differ widely.
_KINDS: Final = (
    _kind_of(r"^saved plan is stale", Moved, "plan again: the state was written since"),
    _kind_of(
        r"^plugin did not respond|^failed to load plugin|plugin (process )?exited|^provider produced inconsistent"
        r"|rpc error: code = Unavailable|panic:",
        RuntimeFailure,
        "the provider broke down; what it finished is in the state, so run it again, and report it to the provider",
    ),
    # The same, where terraform saw the end of the process before that of the connection.
    _kind_of(
        r"^request cancell?ed|^plugin error",
        RuntimeFailure,
        "the provider broke down, or was stopped; what it finished is in the state, so run it again",
    ),
    _kind_of(
        r"could not connect to registry|failed to (query available provider|install provider|retrieve)[\s\S]*?"
        r"(dial tcp|no such host|connection refused|timeout|i/o|unreachable|proxyconnect|deadline exceeded|lookup )",
        Unreachable,
        "terraform init needs a network for this provider, or a mirror that has it",
    ),
    _kind_of(
        r"^failed to (query available provider|install provider)|no available releases match"
        r"|does not have a provider named|not found in any of the search locations|^invalid provider registry",
        Misconfigured,
        "check extensions.provider: host/namespace/name/version, and the mirrors that are configured",
    ),
    _kind_of(
        r"^(inconsistent dependency lock file|required plugins are not installed|backend initialization required"
        r"|module not installed|missing or corrupted provider plugins)",
        Misconfigured,
        "the working folder is not initialised for this configuration; plan again",
    ),
    _kind_of(
        r"^provider configuration not present",
        Misconfigured,
        "what is to be deleted was made with a providerMeta that is no longer known: configure a resource with it"
        " again, delete, and then take it out",
    ),
    _kind_of(
        r"^unsupported terraform core version",
        Misconfigured,
        "install a version that the configuration allows, or change requiredVersion of the stack",
    ),
    _kind_of(
        r"^invalid version constraint",
        Misconfigured,
        "write requiredVersion of the stack, or the version in extensions.provider, as in >= 1.6",
    ),
    _kind_of(
        r"^(unsupported backend type|invalid backend)",
        Misconfigured,
        "correct terraform.backend of the stack or its project",
    ),
    _kind_of(
        r"^backend configuration (block has )?changed|^backend type changed|state migration|migrate existing",
        Misconfigured,
        "put terraform.backend back as it was, or move the state there: wb state migrate STACK",
    ),
    _kind_of(
        r"^(instance cannot be destroyed|it is kept from being destroyed)",
        Rejected,
        "lifecycle.prevent_destroy keeps it; take that out first",
    ),
    _kind_of(
        r"^(error loading state|failed to (load|read|get existing|write|save) (the )?(state|workspaces)"
        r"|error (loading|saving|refreshing) state|failed to persist state)",
        Unreachable,
        "check that the backend of the state can be reached and written",
    ),
    _kind_of(
        r"no valid credential|invalidclienttoken|authfailure|unauthenticated|expiredtoken"
        r"|invalid (access key|credentials)|could not find default credentials|\b401\b",
        Unauthenticated,
        "check the credentials that the provider reads",
    ),
    _kind_of(r"access ?denied|unauthorizedoperation|permission denied|forbidden|\b403\b", Forbidden, ""),
    _kind_of(r"throttl|rate ?limit|rate exceeded|too many requests|\b429\b", Overloaded, "run it again later"),
    _kind_of(r"quota|limit ?exceeded", Rejected, "free some of what is used, or ask for a larger quota"),
    _kind_of(
        r"^(nothing exists under|cannot import non-existent)", NotThere, "check importId: nothing exists under it"
    ),
    _kind_of(
        r"already exists|alreadyexists|entityalreadyexists|bucketalreadyowned",
        Rejected,
        "take it over with extensions.importId, or give the new one another name",
    ),
    _kind_of(
        r"dial tcp|no such host|connection (refused|reset)|i/o timeout|context deadline exceeded|tls handshake",
        Unreachable,
        "",
    ),
)
_OTHER = _kind_of("", Rejected, "")


def _kind(said: str) -> _Kind:
    return next((each for each in _KINDS if each.pattern.search(said)), _OTHER)


def _rank(finding: Finding) -> int:
    """Orders errors by how much they explain: a lock or a breakdown before what follows from it."""
    kind = _kind(f"{finding.message}\n{finding.detail}")
    return (
        -1
        if finding.message == LOCKED
        else next((index for index, each in enumerate(_KINDS) if each is kind), len(_KINDS))
    )


def _message(finding: Finding) -> str:
    first = _first_paragraph(finding.detail)
    text = f"{finding.message}: {first}" if first and first != finding.message else finding.message
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"


def _more(count: int) -> str:
    return f" (and {count} more error{'s' if count > 1 else ''})" if count > 0 else ""


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().partition("\n\n")[0].split())


def _in_our_words(summary: str, detail: str, place: Place, configuration: Configuration | None) -> tuple[str, str]:
    """Says in terms of a Spec what Terraform says in terms of its files; anything else stays as it is."""
    quoted = re.search(r'"([^"]+)"', detail)
    match summary:
        case "Extraneous JSON object property" | "Unsupported argument" if quoted and place.id:
            what = "its provider" if place.in_provider else place.id.resource_type
            return f"{what} has no attribute {quoted[1]!r}", ""
        case "Missing required argument" if quoted and place.id:
            what = "its provider" if place.in_provider else place.id.resource_type
            return f"{what} needs the attribute {quoted[1]!r}", ""
        case "Incorrect attribute value type" if match := re.search(r'for attribute "([^"]+)": (.*?)\.?$', detail):
            return f"{match[1]}: {match[2]}", ""
        case "Cannot import non-existent remote object" if place.id and configuration:
            under = configuration.adopted.get(place.id, "")
            return _NOTHING_THERE, f"The id is {under!r}. It may be of another region or account than the provider's."
        case "Instance cannot be destroyed" if place.id:
            return _KEPT, "Undo what deletes or replaces it, or take lifecycle.prevent_destroy out first."
        case _:
            return summary, detail


def _named(text: str, configuration: Configuration) -> TerraformId | None:
    """Returns the resource whose address a text names, if it is one."""
    addresses = {*configuration.addresses, *configuration.recorded}
    said = {word.rstrip(".") for word in re.findall(r"[A-Za-z_][\w.-]*", text)} & addresses
    return configuration.id_at(said.pop()) if len(said) == 1 else None


def _place(diagnostic: Mapping[str, Any], configuration: Configuration | None) -> Place:
    """Returns what a diagnostic is about: by its range in our file, else by its address."""
    if configuration is None:
        return Place()
    found = Place()
    match diagnostic.get("range"):
        case {"filename": str(name), "start": {"line": int(line)}} if name.endswith(CONFIGURATION_FILE):
            found = configuration.place(line)
    address = str(diagnostic.get("address") or "")
    id_ = configuration.id_at(address) if address else None
    if id_ is None and found.id is None:
        id_ = _named(str(diagnostic.get("detail") or ""), configuration)
    if id_ is None or (found.id == id_ and (found.path or not found.in_provider)):
        return found
    path: FieldPath = found.path if found.id == id_ else ()
    return Place(id_, path)
