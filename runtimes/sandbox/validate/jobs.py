"""Rules for Jobs and CronJobs."""

from __future__ import annotations

from runtimes.base import label_selectors
from runtimes.sandbox.validate import job_policies, meta, pods, schedules
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.names import label, path_segment, subdomain, too_long

_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")


def job(causes: Causes, obj: Object) -> None:
    spec, metadata = obj.get("spec") or {}, obj.get("metadata") or {}
    selector = spec.get("selector")
    if not spec.get("manualSelector") and selector is not None:
        _generated(causes, spec, metadata)
    _selecting_spec(causes, spec)
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is not None:
        count = spec["completions"]
        last = f"{metadata.get('name', '')}-{count - 1}"
        if count > 0 and label(last):
            why = f"will not able to create pod with invalid DNS label: {last}"
            causes.invalid("metadata.name", metadata.get("name", ""), why)


def _selecting_spec(causes: Causes, spec: Object) -> None:
    selector = spec.get("selector")
    _job_spec(causes, spec, "spec")
    if selector is None:
        causes.required("spec.selector")
    meta.label_selector(causes, "spec.selector", selector)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if meta.is_selector(selector) and not label_selectors.matches(selector, labels):
        causes.invalid("spec.template.metadata.labels", labels, meta.MISMATCH)


def _generated(causes: Causes, spec: Object, metadata: Object) -> None:
    """The selector and labels that the server makes itself cannot be given otherwise."""
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    for keys, wanted in ((_UID_LABELS, uid), (_NAME_LABELS, name)):
        for key in keys:
            where = f"spec.template.metadata.labels[{key}]"
            if key not in labels:
                causes.required(where, f"must be '{wanted}'")
            elif labels[key] != wanted:
                causes.invalid(where, labels, f"must be '{wanted}'")
    if spec["selector"] != {"matchLabels": {_UID_LABELS[1]: uid}}:
        causes.invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def _job_spec(causes: Causes, spec: Object, path: str) -> None:
    for name in _COUNTS:
        causes.nonnegative(f"{path}.{name}", spec.get(name))
    if spec.get("managedBy") is not None and not _is_domain_path(spec["managedBy"]):
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        causes.invalid(f"{path}.managedBy", spec["managedBy"], text)
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        causes.not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed" and spec.get("completions") is None:
        causes.required(f"{path}.completions", "when completion mode is Indexed")
    job_policies.limits(causes, spec, path)
    job_policies.failure_policy(causes, spec, path)
    job_policies.success_policy(causes, spec, path)
    job_policies.replacement(causes, spec, path)
    template = spec.get("template") or {}
    pods.pod_template(causes, template, f"{path}.template")
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy == "Always":
        causes.required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        causes.not_supported(f"{path}.template.spec.restartPolicy", policy or "", ("OnFailure", "Never"))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        text = 'only "Never" is supported when podFailurePolicy is specified'
        causes.invalid(f"{path}.template.spec.restartPolicy", policy, text)


def _is_domain_path(value: str) -> bool:
    domain, slash, rest = value.partition("/")
    return bool(slash) and not subdomain(domain) and not path_segment(rest) and bool(rest)


JOB_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")


def job_update(causes: Causes, new: Object, old: Object) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    _selecting_spec(causes, spec)
    if spec.get("completions") != before.get("completions"):
        elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
        if not elastic:
            causes.invalid("spec.completions", spec.get("completions"), "field is immutable")
    causes.immutable("spec.selector", spec.get("selector"), before.get("selector"))
    if spec.get("template") != before.get("template") and not _may_change_template(old):
        causes.invalid("spec.template", spec.get("template"), "field is immutable")
    for name in JOB_FIXED:
        causes.immutable(f"spec.{name}", spec.get(name), before.get(name))


def _may_change_template(old: Object) -> bool:
    """A job that never started may still change what its pods ask for."""
    return bool((old.get("spec") or {}).get("suspend")) and not (old.get("status") or {}).get("startTime")


def cron_job(causes: Causes, obj: Object) -> None:
    name = (obj.get("metadata") or {}).get("name", "")
    _cron_job_spec(causes, obj.get("spec") or {}, None)
    if len(name) > 52:
        causes.invalid("metadata.name", name, too_long(52))


def cron_job_update(causes: Causes, new: Object, old: Object) -> None:
    _cron_job_spec(causes, new.get("spec") or {}, old.get("spec") or {})


def _cron_job_spec(causes: Causes, spec: Object, before: Object | None) -> None:
    """`before` is the spec so far, None for a new object."""
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    if not schedule:
        causes.required("spec.schedule")
    else:
        schedules.schedule(causes, schedule, zone, None if before is None else before.get("schedule"))
    causes.nonnegative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if before is None or before.get("timeZone") != zone:
        schedules.time_zone(causes, zone)
    policies = ("Allow", "Forbid", "Replace")
    if spec.get("concurrencyPolicy") not in policies:
        causes.not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy", ""), policies)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    _job_spec(causes, job, "spec.jobTemplate.spec")
    if job.get("selector") is not None:
        causes.invalid("spec.jobTemplate.spec.selector", job["selector"], "`selector` will be auto-generated")
    if job.get("manualSelector"):
        causes.not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    for limit in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        causes.nonnegative(f"spec.{limit}", spec.get(limit))
