"""The JSON of a saved plan, read into types: what each resource was, will be, and what is done to it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from kcl.records import dataclass, field
from runtimes.base import FieldPath, TerraformId
from runtimes.base.documents import load_json
from runtimes.terraform import values
from runtimes.terraform.configured import Configuration
from runtimes.terraform.schema import Schemas
from runtimes.terraform.state import OtherFormat, PriorState, known_format, read_prior

_REASONS: Final = {
    "replace_because_tainted": "it was not finished when it was made",
    "replace_by_request": "its replacement was requested",
    "replace_by_triggers": "something that it is to be replaced with changes",
    "delete_because_no_resource_config": "it is no longer configured",
    "delete_because_no_module": "its module is no longer configured",
    "delete_because_wrong_repetition": "it is configured without the index that it has",
    "delete_because_count_index": "its index is beyond the count",
    "delete_because_each_key": "its key is no longer among those configured",
    "delete_because_no_move_target": "it was moved to an address that is not configured",
}


_ACTIONS: Final = frozenset(
    {
        ("no-op",),
        ("read",),
        ("create",),
        ("update",),
        ("delete",),
        ("forget",),
        ("delete", "create"),
        ("create", "delete"),
        ("create", "forget"),
        ("forget", "create"),
    }
)
"""What terraform and tofu have planned so far: a word that nobody knows would else be taken for no change."""


class UnreadablePlan(ValueError):
    """A text that is not the output of `terraform show -json` for a plan."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One resource of a plan. `before` and `after` are None where there is nothing; `after` holds `UNKNOWN`.

    `before` is what is there, found by looking. `masked_before` and `masked_after` are sensitive paths of either.
    `actions` are Terraform's: `["delete", "create"]` is a replacement. `deposed` is the key of an older object.
    """

    id: TerraformId
    address: str
    actions: tuple[str, ...]
    before: Mapping[str, Any] | None = field(repr=False)
    after: Mapping[str, Any] | None = field(repr=False)
    masked_before: tuple[FieldPath, ...] = ()
    masked_after: tuple[FieldPath, ...] = ()
    replace_paths: tuple[FieldPath, ...] = ()
    reason: str = ""
    import_id: str = ""
    former: TerraformId | None = None
    deposed: str = ""

    @property
    def is_replacement(self) -> bool:
        return "create" in self.actions and len(self.actions) > 1


@dataclass(frozen=True, slots=True)
class PlannedState:
    """`drift` has what is not as it was recorded: `before` as recorded, `after` as found. `prior` is as found.

    `is_whole` is False where an error kept something from being planned; `is_complete` is False where Terraform
    leaves something to another apply.
    """

    resources: tuple[Planned, ...]
    drift: tuple[Planned, ...]
    prior: PriorState
    is_whole: bool
    is_complete: bool


def whole_document(content: bytes, changing: Collection[str]) -> Mapping[str, Any]:
    """Returns what terraform shows of a plan, which has to have everything that planning said would change.

    Raises `UnreadablePlan`.
    """
    try:
        found = load_json(content)
        shown = {each["address"] for each in found.get("resource_changes") or ()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadablePlan(f"what terraform shows of its plan can't be read ({type(error).__name__})") from None
    if lacking := sorted(set(changing) - shown):
        more = f" and {len(lacking) - 1} more" if lacking[1:] else ""
        raise UnreadablePlan(f"what terraform shows of its plan lacks what it planned: {lacking[0]}{more}")
    return dict(found)


def read(
    content: Mapping[str, Any] | str | bytes, configuration: Configuration, *, schemas: Schemas | None = None
) -> PlannedState:
    """Raises `UnreadablePlan`."""
    try:
        document = load_json(content) if isinstance(content, str | bytes) else content
        if "format_version" not in document:
            raise UnreadablePlan("what terraform shows of its plan is no plan")
        known_format(document)
        _refuse_deferred(document.get("deferred_changes") or ())
        return PlannedState(
            resources=tuple(_changes(document.get("resource_changes") or (), configuration)),
            drift=tuple(_changes(document.get("resource_drift") or (), configuration)),
            prior=read_prior(document.get("prior_state") or "", schemas=schemas),
            is_whole=not document.get("errored", False),
            is_complete=bool(document.get("complete", True)),
        )
    except UnreadablePlan:
        raise
    except OtherFormat as error:
        raise UnreadablePlan(str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # the text of the error may hold a piece of the plan, so only its kind is told
        raise UnreadablePlan(f"what terraform shows of its plan can't be read ({type(error).__name__})") from None


def _refuse_deferred(entries: Any) -> None:
    """Nobody here lets terraform put changes off (`-allow-deferral`): who does would find them planned nowhere."""
    for entry in entries:
        address = entry["resource_change"]["address"]
        more = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
        raise UnreadablePlan(
            f"terraform leaves {address}{more} to another plan ({entry.get('reason') or 'it does not say why'}), "
            "and so it is not known what becomes of it"
        )


def _changes(entries: Any, configuration: Configuration) -> Iterator[Planned]:
    for entry in entries:
        id_ = configuration.id_at(entry["address"], entry.get("provider_name", ""))
        if entry.get("mode") != "managed" or id_ is None:
            continue
        change = entry["change"]
        actions = tuple(change["actions"])
        if actions not in _ACTIONS:
            told = " and ".join(map(str, actions))[:80] or "no action at all"
            raise UnreadablePlan(
                f"terraform plans for {entry['address']} what is not known here: {told}; it is too new"
            )
        former = entry.get("previous_address", "")
        after = values.with_unknown(values.plain(change.get("after")), change.get("after_unknown"))
        yield Planned(
            id=id_,
            address=entry["address"],
            actions=actions,
            before=values.plain(change.get("before")),
            after=after if isinstance(after, Mapping) else None,
            masked_before=tuple(values.marked(change.get("before_sensitive") or None)),
            masked_after=tuple(values.marked(change.get("after_sensitive") or None)),
            replace_paths=tuple(tuple(path) for path in change.get("replace_paths") or ()),
            reason=_REASONS.get(entry.get("action_reason", ""), ""),
            import_id=_import_id(change.get("importing")),
            former=configuration.id_at(former, entry.get("provider_name", "")) if former else None,
            deposed=str(entry.get("deposed") or ""),
        )


def _import_id(importing: Mapping[str, Any] | None) -> str:
    """Returns the id of what is taken over; what is named otherwise, by an identity or later, is taken over all the
    same."""
    return "" if importing is None else str(importing.get("id") or "what its identity names")
