"""The storage class of a claim or volume, which may stand in the annotation that was there before the field."""

from __future__ import annotations

from typing import Final

from runtimes.sandbox.store import Object

STORAGE_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


def class_of(obj: Object) -> str:
    """Of a claim or volume; "" for none. The annotation comes first, also where it names none."""
    annotated = annotated_class(obj)
    return (obj["spec"].get("storageClassName") if annotated is None else annotated) or ""


def annotated_class(obj: Object) -> str | None:
    annotations: dict[str, str] = (obj.get("metadata") or {}).get("annotations") or {}
    return annotations.get(STORAGE_CLASS_ANNOTATION)
