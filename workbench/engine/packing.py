"""A compiled stack as bytes, for another process: plain data, which is read several times as fast as objects."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from runtimes.base import Body, KubernetesId, Resource, ResourceId, RuntimeType, TerraformId
from runtimes.base.resource import REFERENCE_SIGNS, refer_to_nothing
from workbench.engine.chains import path_of
from workbench.engine.compiled import CompiledStack
from workbench.engine.spec import Lookup, Origin, Spec
from workbench.project import Stack


def packed(compiled: CompiledStack, dependencies: Iterable[str]) -> bytes:
    """A compiled stack as bytes, but for its provenance; `dependencies` instead of those that it has.

    Plain data is read several times as fast as objects.
    """
    spec = compiled.spec
    are_of_resources = [*spec.origins] == [each.id for each in spec.resources]
    return _bytes(
        (
            [_plain_resource(each) for each in spec.resources],
            None if are_of_resources else [_plain_id(each) for each in spec.origins],
            [(origin.document, origin.prefix) for origin in spec.origins.values()],
            spec.secrets,
            compiled.seconds,
            compiled.log,
            pickle.dumps(compiled.diagnostics) if compiled.diagnostics else b"",
            marshal.dumps(sorted(dependencies)),
        )
    )


def unpacked(shipped: bytes, stack: Stack, lookup: Lookup) -> CompiledStack:
    plain, plain_ids, origins, secrets, seconds, log, diagnostics, dependencies = _read(shipped)
    resources = tuple([_resource(*each) for each in plain])
    if not any(sign in shipped for sign in REFERENCE_SIGNS):  # texts are in it as they are
        refer_to_nothing(resources)
    ids = [each.id for each in resources] if plain_ids is None else [_id(*each) for each in plain_ids]
    spec = Spec(
        str(stack.path),
        resources,
        {id_: Origin(*origin) for id_, origin in zip(ids, origins, strict=True)},
        lookup,
        secrets,
        rules=stack.secrets,
    )
    found = pickle.loads(diagnostics) if diagnostics else ()
    return CompiledStack(spec, found, _paths(dependencies), seconds, log)


_PlainId = tuple[str, tuple[str, str, str, str]]


def _plain_resource(resource: Resource) -> tuple[Any, ...]:
    needs = [_plain_id(each) for each in resource.depends_on]
    return (*_plain_id(resource.id), resource.type.value, resource.attributes, needs, dict(resource.extensions))


def _resource(
    kind: str, parts: tuple[str, str, str, str], type_: str, attributes: Body, needs: list[_PlainId], extensions: Body
) -> Resource:
    depends_on = tuple([_id(*each) for each in needs])
    return Resource(_id(kind, parts), RuntimeType(type_), attributes, depends_on, extensions)


def _plain_id(id_: ResourceId) -> _PlainId:
    match id_:
        case KubernetesId():
            return RuntimeType.KUBERNETES.value, (id_.api_version, id_.kind, id_.namespace, id_.name)
        case TerraformId():
            return RuntimeType.TERRAFORM.value, (id_.provider_namespace, id_.provider, id_.resource_type, id_.name)


def _id(kind: str, parts: tuple[str, str, str, str]) -> ResourceId:
    return KubernetesId(*parts) if kind == RuntimeType.KUBERNETES.value else TerraformId(*parts)


def _bytes(value: Any) -> bytes:
    try:
        return b"m" + marshal.dumps(value)
    except ValueError:  # definitions beside a stack are YAML, which has dates
        return b"p" + pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def _read(written: bytes) -> Any:
    return marshal.loads(memoryview(written)[1:]) if written[:1] == b"m" else pickle.loads(memoryview(written)[1:])


@lru_cache(maxsize=64)
def _paths(names: bytes) -> frozenset[Path]:
    """Hundreds of files, most often those of the edit before."""
    return frozenset(map(path_of, marshal.loads(names)))
