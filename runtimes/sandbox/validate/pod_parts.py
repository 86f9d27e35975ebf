"""Parts of containers whose rules look at the Pod around them: claims of devices, resizing, pauses before an end."""

from __future__ import annotations

from collections.abc import Iterator

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object

_RESIZED, _HOW = ("cpu", "memory"), ("NotRequired", "RestartContainer")
_CLAIMED_BY = ("resourceClaimName", "resourceClaimTemplateName")


def around(causes: Causes, spec: Object, path: str) -> None:
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or []):
            here = f"{path}.{kind}[{index}]"
            _claims(causes, container, spec, f"{here}.resources.claims")
            _resize_policies(causes, container, spec, f"{here}.resizePolicy")
            _pauses(causes, container, spec, f"{here}.lifecycle")


def resource_claims(causes: Causes, spec: Object, path: str) -> None:
    """Each names what it claims in one of two ways."""
    seen: set[str] = set()
    for index, claim in enumerate(spec.get("resourceClaims") or []):
        here, name = f"{path}[{index}]", claim.get("name") or ""
        if not name:
            causes.required(f"{here}.name")
        elif name in seen:
            causes.duplicate(f"{here}.name", name)
        else:
            causes.invalid_each(f"{here}.name", name, names.label(name))
            seen.add(name)
        given = [each for each in _CLAIMED_BY if claim.get(each) is not None]
        listed = ", ".join(f"`{each}`" for each in _CLAIMED_BY)
        if len(given) != 1:
            shown = {"Name": name, **{each[0].upper() + each[1:]: claim.get(each) for each in _CLAIMED_BY}}
            how = "at most one of" if given else "must specify one of:"
            causes.invalid(here, shown, f"{how} {listed}{' may be specified' if given else ''}")
        else:
            causes.invalid_each(f"{here}.{given[0]}", claim[given[0]], names.subdomain(claim[given[0]]))


def images(causes: Causes, spec: Object, path: str) -> None:
    """What templates may have and Pods may not."""
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or []):
            image = container.get("image") or ""
            if image != image.strip():
                text = "must not have leading or trailing whitespace"
                causes.invalid(f"{path}.{kind}[{index}].image", image, text)


def _claims(causes: Causes, container: Object, spec: Object, path: str) -> None:
    known = sorted({each.get("name") or "" for each in spec.get("resourceClaims") or []})
    where = f": {', '.join(known)}" if known else " which is empty"
    for index, claim in enumerate((container.get("resources") or {}).get("claims") or []):
        name = claim.get("name") or ""
        if not name:
            causes.required(f"{path}[{index}]")
        elif name not in known:
            causes.add(
                "FieldValueNotFound",
                f"{path}[{index}]",
                f'Not found: "{name}": must be one of the names in pod.spec.resourceClaims{where}',
            )


def _resize_policies(causes: Causes, container: Object, spec: Object, path: str) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(container.get("resizePolicy") or []):
        name, how = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            causes.duplicate(f"{path}[{index}]", name)
        seen.add(name)
        for value, known in ((name, _RESIZED), (how, _HOW)):
            if not value:
                causes.required(path)
            elif value not in known:
                causes.not_supported(path, value, known)
        if spec.get("restartPolicy") == "Never" and how != "NotRequired":
            causes.invalid(path, how, "must be 'NotRequired' when `restartPolicy` is 'Never'")


def _pauses(causes: Causes, container: Object, spec: Object, path: str) -> None:
    grace = spec.get("terminationGracePeriodSeconds")
    for name, seconds in _sleeps(container):
        if seconds < 0 or (grace is not None and seconds > grace):
            text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace or 0})"
            causes.invalid(f"{path}.{name}.sleep", seconds, text)


def _sleeps(container: Object) -> Iterator[tuple[str, int]]:
    for name in ("postStart", "preStop"):
        sleep = ((container.get("lifecycle") or {}).get(name) or {}).get("sleep")
        if sleep is not None:
            yield name, int(sleep.get("seconds") or 0)
