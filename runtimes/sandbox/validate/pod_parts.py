"""Parts of containers whose rules look at the Pod around them: claims of devices, resizing, pauses before an end."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from runtimes.base.quantity import amount, canonical
from runtimes.sandbox.validate import containers, names
from runtimes.sandbox.validate.causes import Causes, Object

_OF_PODS = ("cpu", "memory")
_RESIZED, _HOW = ("cpu", "memory"), ("NotRequired", "RestartContainer")
_CLAIMED_BY = ("resourceClaimName", "resourceClaimTemplateName")


def around(causes: Causes, spec: Object, path: str) -> None:
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or []):
            here = f"{path}.{kind}[{index}]"
            _claims(causes, container, spec, f"{here}.resources.claims")
            _resize_policies(causes, container, spec, f"{here}.resizePolicy")
            _pauses(causes, container, spec, f"{here}.lifecycle")
            _devices(causes, container, spec, f"{here}.volumeDevices")


def whole_pod(causes: Causes, spec: Object, path: str) -> None:
    """Resources of the Pod as a whole: of fewer kinds, and no less than its containers ask for."""
    resources = spec.get("resources") or {}
    _claims(causes, spec, spec, f"{path}.claims", of_pod=True)
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            here, before = f"{path}.{part}[{name}]", len(causes)
            containers.resource_name(causes, here, name)
            if len(causes) == before and not name.startswith("hugepages-") and name not in _OF_PODS:
                causes.not_supported(here, name, ("cpu", "hugepages-", "memory"))
            containers.quantity_value(causes, here, name, value)
            limit = limits.get(name)
            if part == "requests" and limit is not None and amount(value) > amount(limit):
                text = f"must be less than or equal to {name} limit of {limit}"
                causes.invalid(f"{path}.requests", value, text)
    for name, value in requests.items():
        asked = [(each.get("resources") or {}).get("requests") or {} for each in spec.get("containers") or []]
        total = sum((amount(each[name]) for each in asked if name in each), Decimal(0))
        if total > amount(value):
            text = f"must be greater than or equal to aggregate container requests of {_spelled(total, asked, name)}"
            causes.invalid(f"{path}.requests[{name}]", value, text)
    for index, container in enumerate(spec.get("containers") or []):
        for name, value in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and amount(value) > amount(limits[name]):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                causes.invalid(f"{path}.containers[{index}][{name}].limits", value, text)


def _spelled(total: Decimal, asked: list[Object], name: str) -> str:
    """A sum in the notation of its parts."""
    given = [each[name] for each in asked if name in each]
    return given[0] if len(given) == 1 else canonical(f"{int(total * 1000)}m")


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


def _claims(causes: Causes, container: Object, spec: Object, path: str, *, of_pod: bool = False) -> None:
    known = sorted({each.get("name") or "" for each in spec.get("resourceClaims") or []})
    where = f": {', '.join(known)}" if known else " which is empty"
    claims = (container.get("resources") or {}).get("claims") or []
    if of_pod and claims:
        causes.forbidden(path, "claims may not be set for Resources at pod-level")
    for index, claim in enumerate(claims):
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


def _devices(causes: Causes, container: Object, spec: Object, path: str) -> None:
    """Volumes that a container has as raw devices: claims, each once, and none that is mounted, too."""
    kinds = {
        each.get("name") or "": bool(each.get("persistentVolumeClaim") or each.get("ephemeral"))
        for each in spec.get("volumes") or []
    }
    mounts = container.get("volumeMounts") or []
    mounted, at = {each.get("name") for each in mounts}, {each.get("mountPath") for each in mounts}
    seen: set[str] = set()
    taken: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or []):
        here, name, target = f"{path}[{index}]", device.get("name") or "", device.get("devicePath") or ""
        if not name:
            causes.required(f"{here}.name")
        if name in seen:
            causes.invalid(f"{here}.name", name, "must be unique")
        if name not in kinds:
            causes.not_found(f"{here}.name", name)
        elif not kinds[name]:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            causes.invalid(f"{here}.name", name, text)
        if not target:
            causes.required(f"{here}.devicePath")
        if target in taken:
            causes.invalid(f"{here}.devicePath", target, "must be unique")
        if ".." in target.split("/"):
            causes.invalid(f"{here}.devicePath", target, "can not contain backsteps ('..')")
        elif target:
            taken.add(target)
        if name and name in mounted:
            causes.invalid(f"{here}.name", name, "must not already exist in volumeMounts")
        if target and target in at:
            causes.invalid(f"{here}.devicePath", target, "must not already exist as a path in volumeMounts")
        if name:
            seen.add(name)


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
