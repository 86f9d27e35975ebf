"""Lists: selection, pages that show one moment, and lists at an earlier version."""

from __future__ import annotations

import base64
import json

from kcl.records import dataclass, field
from runtimes.sandbox.decode import DecodeError, parse_json
from runtimes.sandbox.errors import ApiError, bad_request, expired, invalid
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.selectors import FieldSelector, LabelSelector
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Object, ObjectKey
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.versions import read_as


@dataclass(frozen=True, slots=True)
class Selection:
    labels: LabelSelector = field(default_factory=LabelSelector)
    fields: FieldSelector = field(default_factory=FieldSelector)

    @property
    def is_everything(self) -> bool:
        return not self.labels.requirements and not self.fields.conditions

    def matches(self, obj: Object) -> bool:
        return self.labels.matches(obj) and self.fields.matches(obj)


@dataclass(frozen=True, slots=True)
class ListResult:
    """Objects in order of namespace and name, and the version they are current at.

    `continue_token` is "" on the last page; `remaining` is None when it is not counted (with a selector).
    """

    items: list[Object]
    version: str
    continue_token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """How much to list, from where, and as of when ("" for now)."""

    limit: int = 0
    continue_token: str = ""
    version: str = ""
    match: str = ""


def everything(state: State, resource: Resource, namespace: str | None, selection: Selection) -> ListResult:
    found = [obj for _, obj in state.store.items(resource.storage, namespace) if selection.matches(obj)]
    return ListResult([read_as(obj, resource) for obj in found], str(state.store.revision))


def page(state: State, resource: Resource, namespace: str | None, selection: Selection, wanted: Page) -> ListResult:
    """Raises 400 for tokens and versions that cannot be read, 410 for forgotten ones, 504 for future ones."""
    after: ObjectKey | None = None
    revision = _asked_revision(state, resource, wanted)
    if wanted.continue_token:
        revision, after = _read_token(wanted)
        if revision < state.store.compacted:
            raise expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new "
                "list without the continue parameter, or use the continue token in this response to retrieve the "
                "remainder of the results. Continuing with the provided token results in an inconsistent list - "
                "objects that were created, modified, or deleted between the time the first chunk was returned and "
                "now may show up in the list."
            )
    if revision is None or revision == state.store.revision:
        entries = state.store.items(resource.storage, namespace)
    else:
        entries = state.store.items_at(resource.storage, namespace, revision)
    if after is not None:
        entries = [entry for entry in entries if entry[0] > after]
    matching = [entry for entry in entries if selection.matches(entry[1])]
    at = revision if revision is not None else state.store.revision
    # Whether there is more is told without looking at what is left.
    is_all = len(matching) < wanted.limit or matching[wanted.limit - 1 :] == entries[-1:]
    if not wanted.limit or is_all:
        return ListResult([read_as(obj, resource) for _, obj in matching], str(at))
    shown = matching[: wanted.limit]
    remaining = len(matching) - wanted.limit if selection.is_everything else None
    items = [read_as(obj, resource) for _, obj in shown]
    return ListResult(items, str(at), _token(at, shown[-1][0]), remaining)


def _asked_revision(state: State, resource: Resource, wanted: Page) -> int | None:
    if wanted.version in ("", "0") or wanted.continue_token:
        return None
    try:
        asked = parse_version(wanted.version)
    except ValueError as error:
        raise bad_request(f"invalid resource version: {error}") from error
    if asked > state.store.revision:
        raise too_large(asked, state.store.revision, resource)
    return asked if wanted.match == "Exact" else None


def parse_version(text: str) -> int:
    """Raises ValueError with the server's text."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def too_large(asked: int, current: int, resource: Resource) -> ApiError:
    """Events come from no cache that could be waited for."""
    after = 0 if resource.kind == "Event" else 1
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        {"causes": causes, **({"retryAfterSeconds": after} if after else {})},
        {"Retry-After": str(after)} if after else {},
    )


_TOKEN_FORM = "meta.k8s.io/v1"


def _token(revision: int, last: ObjectKey) -> str:
    text = json.dumps({"v": _TOKEN_FORM, "rv": revision, "start": list(last)}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(wanted: Page) -> tuple[int, ObjectKey]:
    text = wanted.continue_token
    refused = "invalid continue token: continue key is not valid"
    try:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("latin-1")
    except ValueError as error:
        raise bad_request(f"{refused}: illegal base64 data at input byte {len(text) // 4 * 4}") from error
    try:
        token = parse_json(content)
    except DecodeError as error:
        raise bad_request(f"{refused}: {error}") from error
    form = token.get("v") if isinstance(token, dict) else None
    if form != _TOKEN_FORM:
        raise bad_request(f"{refused}: server does not recognize this encoded version {form or ''}")
    revision, start = token.get("rv"), token.get("start")
    if not revision or not isinstance(revision, int):
        raise bad_request(f"{refused}: incorrect encoded start resourceVersion (version {form})")
    if not start:
        raise bad_request(f"{refused}: encoded start key empty (version {form})")
    try:
        namespace, name = start
    except (TypeError, ValueError) as error:
        raise bad_request(f"{refused}: {json.dumps(start)}") from error
    if wanted.version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    return revision, (str(namespace), str(name))


_MATCH = "resourceVersionMatch"


def check_options(version: str, match: str, sends_initial: bool | None, is_watch: bool, continue_token: str) -> None:
    """422 for parameters that contradict each other, with all causes in the server's order."""
    causes = Causes()
    if is_watch:
        _check_watch(causes, version, match, sends_initial, continue_token)
    else:
        if match:
            _check_match(causes, version, match, continue_token)
        if sends_initial is not None:
            causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", list(causes))


def _check_watch(causes: Causes, version: str, match: str, sends_initial: bool | None, continue_token: str) -> None:
    if sends_initial is None and not match and version in ("", "0"):  # what a watch from now means
        sends_initial, match = True, "NotOlderThan"
    if sends_initial is not None and match != "NotOlderThan":
        causes.forbidden(_MATCH, f"sendInitialEvents requires setting {_MATCH} to NotOlderThan")
    if not match:
        return
    if sends_initial is None:
        causes.forbidden(_MATCH, f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided")
    if match != "NotOlderThan":
        causes.not_supported(_MATCH, match, ("NotOlderThan",))
    if continue_token:
        causes.forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided")


def _check_match(causes: Causes, version: str, match: str, continue_token: str) -> None:
    if not version:
        causes.forbidden(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided")
    if continue_token:
        causes.forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided")
    if match not in ("Exact", "NotOlderThan"):
        causes.not_supported(_MATCH, match, ("Exact", "NotOlderThan", ""))
    if match == "Exact" and version == "0":
        causes.forbidden(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"')
