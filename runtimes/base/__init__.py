"""What every runtime and the engine agree on: identities, resources, statuses, the six verbs and their errors.

paths      paths to fields, by key and by list identity
resource   ids, resources, addresses over clusters
status     the six statuses
runtime    the `Runtime` protocol with its requests and results
errors     everything a runtime may raise
"""

from runtimes.base.errors import (
    Conflict,
    FieldConflict,
    Forbidden,
    Misconfigured,
    Moved,
    NotThere,
    Overloaded,
    Rejected,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
)
from runtimes.base.paths import FieldPath, ListKey, PathStep, format_path, starts_with, value_at
from runtimes.base.resource import (
    Address,
    Body,
    InvalidResourceId,
    KubernetesId,
    Resource,
    ResourceId,
    RuntimeType,
    TerraformId,
    parse_id,
)
from runtimes.base.runtime import (
    ApplyRequest,
    Blocking,
    DeleteRequest,
    FieldOwner,
    Identity,
    LiveResource,
    LogRequest,
    ObjectRef,
    Observation,
    Occurrence,
    PlanRequest,
    Prediction,
    ReadRequest,
    Runtime,
    StatusNode,
    WatchRequest,
)
from runtimes.base.status import Health, Status

__all__ = [
    "Address",
    "ApplyRequest",
    "Blocking",
    "Body",
    "Conflict",
    "DeleteRequest",
    "FieldConflict",
    "FieldOwner",
    "FieldPath",
    "Forbidden",
    "Health",
    "Identity",
    "InvalidResourceId",
    "KubernetesId",
    "ListKey",
    "LiveResource",
    "LogRequest",
    "Misconfigured",
    "Moved",
    "NotThere",
    "ObjectRef",
    "Observation",
    "Occurrence",
    "Overloaded",
    "PathStep",
    "PlanRequest",
    "Prediction",
    "ReadRequest",
    "Rejected",
    "Resource",
    "ResourceId",
    "Runtime",
    "RuntimeFailure",
    "RuntimeType",
    "Status",
    "StatusNode",
    "TerraformId",
    "Unauthenticated",
    "Unreachable",
    "WatchRequest",
    "format_path",
    "parse_id",
    "starts_with",
    "value_at",
]
