"""Rules for the volumes of pods, and for what is projected into them."""

from __future__ import annotations

from collections.abc import Iterable

from runtimes.base.quantity import amount
from runtimes.sandbox.validate import claims, containers, names
from runtimes.sandbox.validate.causes import Causes, Object

_ORDER = ("emptyDir", "hostPath", "secret", "nfs", "persistentVolumeClaim", "downwardAPI", "configMap", "projected")
_REQUIRED = {
    "persistentVolumeClaim": ("claimName",),
    "gitRepo": ("repository",),
    "cephfs": ("monitors",),
    "rbd": ("monitors", "image"),
    "glusterfs": ("endpoints", "path"),
    "azureFile": ("secretName", "shareName"),
    "portworxVolume": ("volumeID",),
    "awsElasticBlockStore": ("volumeID",),
    "gcePersistentDisk": ("pdName",),
    "vsphereVolume": ("volumePath",),
    "flexVolume": ("driver",),
}
_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_PROJECTED = ("secret", "downwardAPI", "configMap", "serviceAccountToken", "clusterTrustBundle")
_FIELDS = frozenset(("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"))
_KNOWN_FIELDS = _FIELDS | set(containers.ENV_FIELDS) | {"spec.restartPolicy", "spec.schedulerName", "status.phase"}


def volumes(causes: Causes, given: list[Object], path: str) -> set[str]:
    """Checks all and returns the names of the valid ones."""
    valid: set[str] = set()
    for index, volume in enumerate(given):
        here, name = f"{path}[{index}]", volume.get("name", "")
        found = Causes()
        _source(found, volume, here)
        if not name:
            found.required(f"{here}.name")
        else:
            found.invalid_each(f"{here}.name", name, names.label(name))
        if name in valid:
            found.duplicate(f"{here}.name", name)
        if not found:
            valid.add(name)
        causes.extend(found)
    return valid


def _source(causes: Causes, volume: Object, path: str) -> None:
    sources = [name for name, value in volume.items() if name != "name" and value is not None]
    sources.sort(key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    for extra in sources[1:]:
        causes.forbidden(f"{path}.{extra}", "may not specify more than 1 volume type")
    if not sources:
        causes.required(path, "must specify a volume type")
        return
    kind, source = sources[0], volume[sources[0]]
    here = f"{path}.{kind}"
    for field in _REQUIRED.get(kind, ()):
        if not source.get(field):
            causes.required(f"{here}.{field}")
    _contents(causes, kind, source, here)


def _contents(causes: Causes, kind: str, source: Object, here: str) -> None:
    match kind:
        case "emptyDir":
            if source.get("sizeLimit") is not None and amount(source["sizeLimit"]) < 0:
                causes.forbidden(f"{here}.sizeLimit", "SizeLimit field must be a valid resource quantity")
        case "hostPath":
            host_path(causes, source, here)
        case "secret" | "configMap":
            field = "secretName" if kind == "secret" else "name"
            if not source.get(field):
                causes.required(f"{here}.{field}")
            _mode(causes, source, "defaultMode", here)
            _items(causes, source, here)
        case "nfs":
            nfs(causes, source, here)
        case "csi":
            csi_driver(causes, source.get("driver") or "", f"{here}.driver")
        case "downwardAPI":
            _mode(causes, source, "defaultMode", here)
            _downward(causes, source, here)
        case "projected":
            _projected(causes, source, here)
        case "ephemeral":
            _claim_template(causes, source.get("volumeClaimTemplate"), f"{here}.volumeClaimTemplate")
        case "iscsi":
            _iscsi(causes, source, here)
        case "azureDisk":
            _azure_disk(causes, source, here)
        case "fc":
            if bool(source.get("targetWWNs")) == bool(source.get("wwids")):
                causes.required(f"{here}.targetWWNs", "must specify either targetWWNs or wwids, but not both")


_CACHING = ("None", "ReadOnly", "ReadWrite")
_AZURE = ("Dedicated", "Managed", "Shared")
_AZURE_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_AZURE_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def _azure_disk(causes: Causes, source: Object, path: str) -> None:
    for name in ("diskName", "diskURI"):
        if not source.get(name):
            causes.required(f"{path}.{name}")
    caching, kind, address = source.get("cachingMode"), source.get("kind"), source.get("diskURI") or ""
    if caching is not None and caching not in _CACHING:
        causes.not_supported(f"{path}.cachingMode", caching, _CACHING)
    if kind is not None and kind not in _AZURE:
        causes.not_supported(f"{path}.kind", kind, _AZURE)
    start, form = ("/subscriptions/", _AZURE_MANAGED) if kind == "Managed" else ("https://", _AZURE_BLOB)
    if kind is not None and not address.startswith(start):
        causes.not_supported(f"{path}.diskURI", address, (form,))


def host_path(causes: Causes, source: Object, path: str) -> None:
    if not source.get("path"):
        causes.required(f"{path}.path")
        return
    causes.invalid_each(f"{path}.path", source["path"], names.no_backsteps(source["path"]))
    if (source.get("type") or "") not in _HOST_PATHS:
        causes.not_supported(f"{path}.type", source["type"], _HOST_PATHS)


def nfs(causes: Causes, source: Object, path: str) -> None:
    for name in ("server", "path"):
        if not source.get(name):
            causes.required(f"{path}.{name}")
    target = source.get("path") or ""
    if not target.startswith("/"):
        causes.invalid(f"{path}.path", target, "must be an absolute path")


def csi_driver(causes: Causes, name: str, path: str) -> None:
    if not name:
        causes.required(path)
    causes.invalid_each(path, name, names.subdomain(name))


def _iscsi(causes: Causes, source: Object, path: str) -> None:
    if not source.get("targetPortal"):
        causes.required(f"{path}.targetPortal")
    name = source.get("iqn") or ""
    if not name:
        causes.required(f"{path}.iqn")
    elif not name.startswith(("iqn.", "eui.", "naa.")):
        causes.invalid(f"{path}.iqn", name, "must be valid format starting with iqn, eui, or naa")
    lun = source.get("lun", 0)
    if not 0 <= lun <= 255:
        causes.invalid(f"{path}.lun", lun, names.between(0, 255))


def _claim_template(causes: Causes, template: Object | None, path: str) -> None:
    if template is None:
        causes.required(path)
        return
    for field in sorted((template.get("metadata") or {}).keys() - {"labels", "annotations"}):
        causes.forbidden(f"{path}.metadata.{field}", "cannot be set")
    claims.claim_spec(causes, template.get("spec") or {}, f"{path}.spec")


# --- projections ---------------------------------------------------------------------------------------------------


def _mode(causes: Causes, source: Object, field: str, path: str) -> None:
    mode = source.get(field)
    if mode is not None and not 0 <= mode <= 0o777:
        causes.invalid(f"{path}.{field}", mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _items(causes: Causes, source: Object, path: str) -> None:
    for index, item in enumerate(source.get("items") or []):
        here = f"{path}.items[{index}]"
        if not item.get("key"):
            causes.required(f"{here}.key")
        _path_inside(causes, item.get("path") or "", f"{here}.path")
        _mode(causes, item, "mode", here)


def _path_inside(causes: Causes, value: str, path: str) -> None:
    """A file of a volume stays in it, and leaves names that begin with two dots to the kubelet."""
    if not value:
        causes.required(path)
        return
    problems = names.local_path(value)
    if not problems and value.startswith(".."):
        problems = ["must not start with '..'"]
    causes.invalid_each(path, value, problems)


def _downward(causes: Causes, source: Object, path: str) -> None:
    for item in source.get("items") or []:
        _downward_file(causes, item, path)


def _downward_file(causes: Causes, item: Object, path: str) -> None:
    _path_inside(causes, item.get("path") or "", f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        containers.field_ref(causes, field, f"{path}.fieldRef", sorted(_FIELDS), _KNOWN_FIELDS)
        if resource is not None:
            causes.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif resource is not None:
        containers.resource_field_ref(causes, resource, f"{path}.resourceFieldRef")
        if not resource.get("containerName"):
            causes.required(f"{path}.resourceFieldRef.containerName")
    else:
        causes.required(path, "one of fieldRef and resourceFieldRef is required")
    _mode(causes, item, "mode", path)


def _projected(causes: Causes, source: Object, path: str) -> None:
    _mode(causes, source, "defaultMode", path)
    seen: set[str] = set()
    for index, projection in enumerate(source.get("sources") or []):
        here = f"{path}.sources[{index}]"
        kinds = [kind for kind in _PROJECTED if projection.get(kind) is not None]
        for kind in kinds[:1]:
            _projection(causes, kind, projection[kind], here, path)
        if len(kinds) > 1:
            causes.forbidden(here, "may not specify more than 1 volume type per source")
        else:
            _unique_paths(causes, kinds, projection, path, seen)


def _projection(causes: Causes, kind: str, source: Object, path: str, volume: str) -> None:
    match kind:
        case "secret" | "configMap":
            if not source.get("name"):
                causes.required(f"{path}.{kind}.name")
            _items(causes, source, f"{path}.{kind}")
        case "downwardAPI":
            _downward(causes, source, f"{path}.{kind}")
        case "serviceAccountToken":
            seconds = source.get("expirationSeconds")
            if seconds is not None and seconds < 600:
                text = "may not specify a duration less than 10 minutes"
                causes.invalid(f"{path}.{kind}.expirationSeconds", seconds, text)
            _path_inside(causes, source.get("path") or "", f"{volume}.path")


def _unique_paths(causes: Causes, kinds: Iterable[str], projection: Object, path: str, seen: set[str]) -> None:
    for kind in kinds:
        for each in projection[kind].get("items") or []:
            target = each.get("path")
            if target and target in seen:
                causes.invalid(path, projection[kind].get("name"), "conflicting duplicate paths")
            seen.add(target or "")
