"""A live object as one page to read, as `kubectl describe` gives it: what matters of its kind first, then all the rest.

Nothing is left out: what the page of a kind does not name stands below it as YAML. Secrets are masked already.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from kcl.records import dataclass, field
from workbench.engine.live import LiveObject
from workbench.present import durations, live
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.present.yaml_lines import scalar, yaml_lines

COLUMNS: Final = (Column("", grow=True),)
_LABEL: Final = 18
"""How wide labels are; longer ones push their value to the right."""
_LEAST_WIDTH: Final = 40
_BOOK_KEEPING: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
_MOST_TEXT_LINES: Final = 40
"""So many lines are shown of a text in a ConfigMap: all of them are in the YAML."""
_MOST_CHARACTERS: Final = 2_000
_GOOD_WHEN_FALSE: Final = ("Pressure", "Unavailable", "Failure", "Failed", "Stalled", "Degraded", "Disrupted")


def rows(found: LiveObject, now: datetime, width: int) -> tuple[Row, ...]:
    """Returns the page for a terminal of so many columns, a row a line, keyed by its number."""
    return tuple(Row(number, (each,)) for number, each in enumerate(lines(found, now, width)))


def lines(found: LiveObject, now: datetime, width: int) -> tuple[Line, ...]:
    page = _Page(found.body, now, max(_LEAST_WIDTH, width))
    _head(page, found)
    describe = _KINDS.get((found.id.group, found.id.kind))
    page.is_known = describe is not None
    if describe is not None:
        describe(page)
    _conditions(page)
    _rest(page)
    _events(page, found)
    return tuple(page.lines)


@dataclass(slots=True)
class _Page:
    """The lines so far. `taken` are the fields that they name, by section and name: the others are `_rest`."""

    body: Mapping[str, Any]
    now: datetime
    width: int
    lines: list[Line] = field(default_factory=list)
    taken: set[tuple[str, str]] = field(default_factory=set)
    is_known: bool = True

    def take(self, section: str, name: str) -> Any:
        self.taken.add((section, name))
        return _mapping(self.body.get(section)).get(name)

    def title(self, text: str, depth: int = 0) -> None:
        self.lines.append(line("  " * depth, Span(f"{text}:", Tone.KEY)))

    def say(self, label: str, value: Any, depth: int = 0, tone: Tone = Tone.PLAIN) -> None:
        """Adds a field, on as many lines as it needs; nothing where there is no value."""
        if value in (None, "", [], {}):
            return
        margin = "  " * depth
        start = f"{margin}{label + ':':<{_LABEL - len(margin)}}"
        if len(start.rstrip()) == len(start):
            start += " "
        texts = list(self._wrapped(_texts(value), len(start)))
        for number, each in enumerate(texts):
            lead = Span(start, Tone.KEY) if not number else Span(" " * len(start))
            self.lines.append(line(lead, Span(each, tone)))

    def _wrapped(self, texts: Iterable[str], indent: int) -> Iterator[str]:
        room = max(20, self.width - indent)
        for each in texts:
            more = len(each) - _MOST_CHARACTERS
            cut = f"{each[:_MOST_CHARACTERS]} ({more} more characters are in the YAML)" if more > 0 else each
            yield from textwrap.wrap(cut, room, break_on_hyphens=False) or [""]

    def fields(self, section: str, *names: tuple[str, str]) -> None:
        """Adds fields of a section by label and name."""
        for label, name in names:
            self.say(label, self.take(section, name))

    def ago(self, stamp: Any) -> str:
        """Returns how long ago a time of the server was; what it wrote where that is no time."""
        try:
            return f"{durations.short((self.now - datetime.fromisoformat(stamp)).total_seconds())} ago"
        except (TypeError, ValueError):
            return str(stamp or "")


def _texts(value: Any) -> Iterator[str]:
    match value:
        case Mapping():
            for key, each in value.items():
                yield f"{key}={_short(each)}"
        case list() | tuple():
            for each in value:
                yield _short(each)
        case str():
            yield from value.splitlines() or [""]
        case _:
            yield _short(value)


def _short(value: Any) -> str:
    """A value in one line: a structure as its parts, what is masked as its mask."""
    match value:
        case str():
            return value
        case Mapping():
            return ", ".join(f"{key}={_short(each)}" for key, each in value.items())
        case list() | tuple():
            return ", ".join(map(_short, value))
        case _:
            return scalar(value).text


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


# --- what every object has


def _head(page: _Page, found: LiveObject) -> None:
    metadata = _mapping(page.body.get("metadata"))
    page.say("Name", found.id.name)
    page.say("Namespace", found.id.namespace)
    page.say("Kind", f"{found.id.kind} ({found.id.api_version})")
    page.say("Created", page.ago(metadata.get("creationTimestamp")))
    if going := metadata.get("deletionTimestamp"):
        page.say("Deleting", f"since {page.ago(going)}, waits for what its finalizers name", tone=Tone.WARN)
    page.say("Labels", metadata.get("labels"))
    annotations = _mapping(metadata.get("annotations"))
    page.say("Annotations", {key: each for key, each in annotations.items() if key not in _BOOK_KEEPING})
    page.say("Finalizers", metadata.get("finalizers"))
    owners = _mappings(metadata.get("ownerReferences"))
    page.say("Controlled by", [f"{each.get('kind')}/{each.get('name')}" for each in owners])


def _conditions(page: _Page) -> None:
    found = _mappings(page.take("status", "conditions"))
    if not found:
        return
    page.title("Conditions")
    for each in found:
        type_, state = str(each.get("type")), str(each.get("status"))
        is_good_when_false = type_.endswith(_GOOD_WHEN_FALSE)
        is_good = state == ("False" if is_good_when_false else "True")
        since = page.ago(each.get("lastTransitionTime"))
        said = "  ".join(filter(None, (state, str(each.get("reason") or ""), since, str(each.get("message") or ""))))
        page.say(type_, said, 1, Tone.PLAIN if is_good else Tone.WARN)


def _rest(page: _Page) -> None:
    """What no line names yet, as it is."""
    for section, value in page.body.items():
        if section in ("apiVersion", "kind", "metadata"):
            continue
        left: Any = None
        if isinstance(value, Mapping):
            left = {key: each for key, each in value.items() if (section, key) not in page.taken}
        elif (section, "") not in page.taken:
            left = value
        if left in (None, {}, []):
            continue
        is_begun = page.is_known and any(each == section for each, _ in page.taken)
        page.title(f"{section.capitalize()}, the rest" if is_begun else section.capitalize())
        page.lines += [each.text for each in yaml_lines(left, indent=1)]


def _events(page: _Page, found: LiveObject) -> None:
    if found.events_failure is not None:
        page.say("Events", f"can't be read: {found.events_failure.message}", tone=Tone.WARN)
        return
    shown = live.event_rows(found, page.now)
    if not shown:
        page.say("Events", "none")
        return
    page.title("Events")
    for each in shown:
        age, reason, _, message = each.cells
        page.say(f"{age} {reason}", str(message), 1, reason.spans[0].tone if reason.spans else Tone.PLAIN)


# --- pods and what makes them


def _pod(page: _Page) -> None:
    page.say("Status", _pod_state(page))
    page.fields("status", ("Message", "message"), ("IP", "podIP"), ("Host IP", "hostIP"), ("QoS", "qosClass"))
    page.taken |= {("status", each) for each in ("podIPs", "hostIPs", "startTime")}
    page.say("Started", page.ago(_mapping(page.body.get("status")).get("startTime")))
    spec = _mapping(page.body.get("spec"))
    states: dict[str, Mapping[str, Any]] = {}
    for name in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        states |= {str(each.get("name")): each for each in _mappings(page.take("status", name))}
    page.taken |= {("spec", each) for each in _POD_FIELDS}
    _pod_spec(page, spec, states)


def _pod_state(page: _Page) -> str:
    phase, reason = str(page.take("status", "phase") or "?"), str(page.take("status", "reason") or "")
    return f"{phase}, {reason}" if reason else phase


_POD_FIELDS: Final = frozenset(
    {
        *("nodeName", "serviceAccountName", "serviceAccount", "priorityClassName", "priority", "restartPolicy"),
        *("initContainers", "containers", "ephemeralContainers", "volumes", "nodeSelector", "tolerations"),
        *("imagePullSecrets", "terminationGracePeriodSeconds", "hostNetwork"),
    }
)


def _pod_spec(page: _Page, spec: Mapping[str, Any], states: Mapping[str, Mapping[str, Any]], depth: int = 0) -> None:
    page.say("Node", spec.get("nodeName"), depth)
    page.say("Service account", spec.get("serviceAccountName"), depth)
    page.say("Priority", _joined(spec.get("priorityClassName"), spec.get("priority")), depth)
    page.say("Restart policy", spec.get("restartPolicy"), depth)
    page.say("Grace period", _seconds(spec.get("terminationGracePeriodSeconds")), depth)
    page.say("Host network", spec.get("hostNetwork"), depth)
    page.say("Pull secrets", [_short(each.get("name")) for each in _mappings(spec.get("imagePullSecrets"))], depth)
    for title, name in (
        ("Init containers", "initContainers"),
        ("Containers", "containers"),
        ("Ephemeral containers", "ephemeralContainers"),
    ):
        found = _mappings(spec.get(name))
        if found:
            page.title(title, depth)
        for each in found:
            _container(page, each, states.get(str(each.get("name"))), depth + 1)
    volumes = _mappings(spec.get("volumes"))
    if volumes:
        page.title("Volumes", depth)
    for each in volumes:
        sources = (f"{_words(kind)}: {_short(source)}" for kind, source in each.items() if kind != "name")
        page.say(str(each.get("name")), ", ".join(sources), depth + 1)
    page.say("Node selector", spec.get("nodeSelector"), depth)
    page.say("Tolerations", [_toleration(each) for each in _mappings(spec.get("tolerations"))], depth)


def _container(page: _Page, each: Mapping[str, Any], state: Mapping[str, Any] | None, depth: int) -> None:
    page.lines.append(line("  " * depth, Span(f"{each.get('name')}", Tone.STRONG)))
    deeper = depth + 1
    page.say("Image", each.get("image"), deeper)
    if state is not None:
        _state(page, "State", state.get("state"), deeper)
        _state(page, "Last state", state.get("lastState"), deeper)
        ready = bool(state.get("ready"))
        page.say("Ready", ready, deeper, Tone.PLAIN if ready else Tone.WARN)
        restarts = state.get("restartCount")
        page.say("Restarts", restarts, deeper, Tone.WARN if restarts else Tone.PLAIN)
        page.say("Image ID", state.get("imageID"), deeper)
    page.say("Command", _short(each.get("command") or []), deeper)
    page.say("Arguments", _short(each.get("args") or []), deeper)
    page.say("Ports", [_port(port) for port in _mappings(each.get("ports"))], deeper)
    resources = _mapping(each.get("resources"))
    page.say("Requests", _short(_mapping(resources.get("requests"))), deeper)
    page.say("Limits", _short(_mapping(resources.get("limits"))), deeper)
    for label, name in (("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe")):
        page.say(label, _short(_mapping(each.get(name))), deeper)
    page.say("Environment", [_variable(one) for one in _mappings(each.get("env"))], deeper)
    page.say("Environment from", [_short(one) for one in _mappings(each.get("envFrom"))], deeper)
    page.say("Mounts", [_mount(one) for one in _mappings(each.get("volumeMounts"))], deeper)
    known = _CONTAINER_FIELDS
    for name, value in each.items():
        if name not in known:
            page.say(_words(name).capitalize(), _short(value), deeper)


_CONTAINER_FIELDS: Final = frozenset(
    {
        *("name", "image", "command", "args", "ports", "resources", "env", "envFrom", "volumeMounts"),
        *("livenessProbe", "readinessProbe", "startupProbe"),
        *("terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy"),
    }
)


def _state(page: _Page, label: str, value: Any, depth: int) -> None:
    for name, each in _mapping(value).items():
        facts = _mapping(each)
        said = [name]
        said += [str(facts["reason"])] if facts.get("reason") else []
        if "exitCode" in facts:
            said.append(f"exit code {facts['exitCode']}")
        said += [f"signal {facts['signal']}"] if facts.get("signal") else []
        said += [f"since {page.ago(facts['startedAt'])}"] if name == "running" and facts.get("startedAt") else []
        said += [f"ended {page.ago(facts['finishedAt'])}"] if facts.get("finishedAt") else []
        is_good = name == "running" or (name == "terminated" and facts.get("exitCode") == 0)
        page.say(label, ", ".join(said), depth, Tone.PLAIN if is_good else Tone.WARN)
        page.say("", facts.get("message"), depth, Tone.WARN)


def _port(port: Mapping[str, Any]) -> str:
    name = f"{port['name']} " if port.get("name") else ""
    return f"{name}{port.get('containerPort')}/{port.get('protocol', 'TCP')}"


def _variable(one: Mapping[str, Any]) -> str:
    source = one.get("valueFrom")
    said = f"from {_short(source)}" if source is not None else _short(one.get("value") or "")
    return f"{_short(one.get('name'))}={said}" if source is None else f"{_short(one.get('name'))} {said}"


def _mount(one: Mapping[str, Any]) -> str:
    inside = f", {_short(one['subPath'])} in it" if one.get("subPath") else ""
    return f"{one.get('mountPath')} from {one.get('name')}{inside}{' (read only)' if one.get('readOnly') else ''}"


def _toleration(each: Mapping[str, Any]) -> str:
    key = str(each.get("key") or "any taint")
    value = f"={each['value']}" if each.get("value") else ""
    effect = f":{each['effect']}" if each.get("effect") else ""
    seconds = f" for {each['tolerationSeconds']}s" if "tolerationSeconds" in each else ""
    return f"{key}{value}{effect}{seconds}"


def _seconds(value: Any) -> str:
    return f"{value}s" if isinstance(value, int) else ""


def _joined(*values: Any) -> str:
    return " ".join(_short(each) for each in values if each not in (None, ""))


def _words(name: str) -> str:
    """`persistentVolumeClaim` as `persistent volume claim`."""
    return "".join(f" {each.lower()}" if each.isupper() else each for each in name)


def _workload(page: _Page) -> None:
    desired = page.take("spec", "replicas")
    counts = {
        label: page.take("status", name)
        for label, name in (
            ("desired", "desiredNumberScheduled"),
            ("there", "replicas"),
            ("scheduled", "currentNumberScheduled"),
            ("updated", "updatedReplicas"),
            ("updated", "updatedNumberScheduled"),
            ("ready", "readyReplicas"),
            ("ready", "numberReady"),
            ("available", "availableReplicas"),
            ("available", "numberAvailable"),
            ("not available", "unavailableReplicas"),
            ("not available", "numberUnavailable"),
        )
        if _mapping(page.body.get("status")).get(name) is not None
    }
    said = [f"{desired} desired"] if desired is not None else []
    page.say("Replicas", ", ".join([*said, *(f"{each} {label}" for label, each in counts.items())]))
    _strategy(page)
    page.say("Selector", _selector(page.take("spec", "selector")))
    _template(page, _mapping(page.take("spec", "template")))
    claims = _mappings(page.take("spec", "volumeClaimTemplates"))
    if claims:
        page.title("Claims of each pod")
    for each in claims:
        page.say(_short(_mapping(each.get("metadata")).get("name")), _short(_mapping(each.get("spec"))), 1)


def _strategy(page: _Page) -> None:
    for name in ("strategy", "updateStrategy"):
        page.say("Strategy", _short(_mapping(page.take("spec", name))))
    page.fields("spec", ("Paused", "paused"), ("Service", "serviceName"), ("History kept", "revisionHistoryLimit"))
    if deadline := page.take("spec", "progressDeadlineSeconds"):
        page.say("Deadline", _seconds(deadline))


def _selector(value: Any) -> list[str]:
    found = _mapping(value)
    expressions = _mappings(found.get("matchExpressions"))
    said = [f"{key}={_short(each)}" for key, each in _mapping(found.get("matchLabels")).items()]
    return said + [
        _joined(each.get("key"), each.get("operator"), _short(each.get("values") or [])) for each in expressions
    ]


def _template(page: _Page, template: Mapping[str, Any]) -> None:
    if not template:
        return
    page.title("Pod template")
    metadata = _mapping(template.get("metadata"))
    page.say("Labels", metadata.get("labels"), 1)
    page.say("Annotations", metadata.get("annotations"), 1)
    spec = _mapping(template.get("spec"))
    _pod_spec(page, spec, {}, 1)
    left = {key: each for key, each in spec.items() if key not in _POD_FIELDS}
    page.lines += [each.text for each in yaml_lines(left, indent=1)] if left else []


def _job(page: _Page) -> None:
    page.fields("spec", ("Completions", "completions"), ("Parallelism", "parallelism"), ("Retries", "backoffLimit"))
    page.fields("status", ("Active", "active"), ("Succeeded", "succeeded"), ("Failed", "failed"))
    for label, name in (("Started", "startTime"), ("Completed", "completionTime")):
        stamp = page.take("status", name)
        page.say(label, page.ago(stamp) if stamp else "")
    page.say("Selector", _selector(page.take("spec", "selector")))
    _template(page, _mapping(page.take("spec", "template")))


def _cron_job(page: _Page) -> None:
    page.fields(
        "spec", ("Schedule", "schedule"), ("Time zone", "timeZone"), ("Suspended", "suspend"),
        ("Concurrency", "concurrencyPolicy"),
    )  # fmt: skip
    for label, name in (("Last run", "lastScheduleTime"), ("Last success", "lastSuccessfulTime")):
        stamp = page.take("status", name)
        page.say(label, page.ago(stamp) if stamp else "never")
    page.say("Running", [_short(each.get("name")) for each in _mappings(page.take("status", "active"))])
    job = _mapping(_mapping(page.take("spec", "jobTemplate")).get("spec"))
    page.say("Job", _short({key: each for key, each in job.items() if key != "template"}))
    _template(page, _mapping(job.get("template")))


# --- the network


def _service(page: _Page) -> None:
    page.fields(
        "spec", ("Type", "type"), ("Cluster IP", "clusterIP"), ("External name", "externalName"),
        ("External IPs", "externalIPs"), ("Selector", "selector"),
    )  # fmt: skip
    if not _mapping(_mapping(page.body.get("spec")).get("selector")):
        page.say("Selector", "none: its endpoints are made by somebody else", tone=Tone.MUTED)
    page.say("Ports", [_service_port(each) for each in _mappings(page.take("spec", "ports"))])
    page.say("Addresses", _addresses(page))


def _service_port(each: Mapping[str, Any]) -> str:
    name = f"{each['name']} " if each.get("name") else ""
    node = f", on nodes {each['nodePort']}" if each.get("nodePort") else ""
    target = each.get("targetPort", each.get("port"))
    return f"{name}{each.get('port')}/{each.get('protocol', 'TCP')} to {_short(target)}{node}"


def _addresses(page: _Page) -> list[str]:
    found = _mappings(_mapping(page.take("status", "loadBalancer")).get("ingress"))
    return [_short(each.get("ip") or each.get("hostname")) for each in found]


def _ingress(page: _Page) -> None:
    page.fields("spec", ("Class", "ingressClassName"))
    page.say("Addresses", _addresses(page))
    page.say("Default backend", _backend(_mapping(page.take("spec", "defaultBackend"))))
    for each in _mappings(page.take("spec", "tls")):
        page.say(
            "TLS", f"{_short(each.get('secretName') or 'no secret')} for {_short(each.get('hosts') or ['all hosts'])}"
        )
    for rule in _mappings(page.take("spec", "rules")):
        paths = _mappings(_mapping(rule.get("http")).get("paths"))
        said = [
            f"{each.get('path', '/')} ({each.get('pathType')}) to {_backend(_mapping(each.get('backend')))}"
            for each in paths
        ]
        page.say(str(rule.get("host") or "*"), said, 1)


def _backend(backend: Mapping[str, Any]) -> str:
    service, resource = _mapping(backend.get("service")), _mapping(backend.get("resource"))
    if resource:
        return f"{resource.get('kind')}/{resource.get('name')}"
    port = _mapping(service.get("port"))
    return f"{service.get('name')}:{_short(port.get('name') or port.get('number'))}" if service else ""


# --- nodes and storage


def _node(page: _Page) -> None:
    roles = [
        key.partition("/")[2]
        for key in _mapping(_mapping(page.body.get("metadata")).get("labels"))
        if key.startswith("node-role.kubernetes.io/")
    ]
    page.say("Roles", ", ".join(roles) or "none")
    if page.take("spec", "unschedulable"):
        page.say("Cordoned", "nothing new is scheduled on it", tone=Tone.WARN)
    page.say("Taints", [_toleration(each) for each in _mappings(page.take("spec", "taints"))])
    page.say(
        "Addresses",
        [_joined(each.get("type"), each.get("address")) for each in _mappings(page.take("status", "addresses"))],
    )
    capacity, free = _mapping(page.take("status", "capacity")), _mapping(page.take("status", "allocatable"))
    page.say(
        "Capacity", [f"{key} {_short(each)}, for pods {_short(free.get(key, '?'))}" for key, each in capacity.items()]
    )
    page.say("System", page.take("status", "nodeInfo"))
    page.fields("spec", ("Pod range", "podCIDR"), ("Provider", "providerID"))
    page.taken.add(("spec", "podCIDRs"))
    images = page.take("status", "images")
    page.say("Images", f"{len(images)} on it" if isinstance(images, list) else "")


def _claim(page: _Page) -> None:
    page.fields("status", ("Status", "phase"))
    page.fields("spec", ("Volume", "volumeName"), ("Class", "storageClassName"), ("Mode", "volumeMode"))
    asked = _mapping(_mapping(page.take("spec", "resources")).get("requests"))
    page.say("Asked for", _short(asked))
    page.say("Capacity", _short(_mapping(page.take("status", "capacity"))))
    page.say("Access", page.take("spec", "accessModes"))
    page.taken.add(("status", "accessModes"))


def _volume(page: _Page) -> None:
    page.fields("status", ("Status", "phase"), ("Reason", "reason"), ("Message", "message"))
    claim = _mapping(page.take("spec", "claimRef"))
    page.say("Claim", f"{claim.get('namespace')}/{claim.get('name')}" if claim else "none")
    page.fields("spec", ("Class", "storageClassName"), ("When released", "persistentVolumeReclaimPolicy"))
    page.say("Capacity", _short(_mapping(page.take("spec", "capacity"))))
    page.say("Access", page.take("spec", "accessModes"))


# --- configuration


def _settings(page: _Page) -> None:
    page.taken |= {("type", ""), ("immutable", "")}
    page.say("Type", page.body.get("type"))
    page.say("Immutable", page.body.get("immutable"))
    for section in ("data", "stringData", "binaryData"):
        entries = _mapping(page.body.get(section))
        page.taken |= {(section, each) for each in entries}
        if entries:
            page.title("Data" if section == "data" else section)
        for key, value in entries.items():
            texts = list(_texts(value))
            shown = texts[:_MOST_TEXT_LINES]
            if len(texts) > len(shown):
                shown.append(f"({len(texts) - len(shown)} more lines are in the YAML)")
            page.say(key, shown, 1)


def _budget(page: _Page) -> None:
    page.fields("spec", ("Min available", "minAvailable"), ("Max unavailable", "maxUnavailable"))
    page.say("Selector", _selector(page.take("spec", "selector")))
    allowed = page.take("status", "disruptionsAllowed")
    page.say("Allowed now", allowed, tone=Tone.PLAIN if allowed else Tone.WARN)
    healthy, wanted = page.take("status", "currentHealthy"), page.take("status", "desiredHealthy")
    page.say("Healthy", f"{_short(healthy)} of {_short(page.take('status', 'expectedPods'))}, {_short(wanted)} wanted")


def _autoscaler(page: _Page) -> None:
    target = _mapping(page.take("spec", "scaleTargetRef"))
    page.say("Scales", f"{target.get('kind')}/{target.get('name')}")
    least, most = page.take("spec", "minReplicas"), page.take("spec", "maxReplicas")
    now, wanted = page.take("status", "currentReplicas"), page.take("status", "desiredReplicas")
    page.say("Replicas", f"{_short(now)} now, {_short(wanted)} wanted, {_short(least or 1)} to {_short(most)} allowed")


_KINDS: Final[Mapping[tuple[str, str], Callable[[_Page], None]]] = {
    ("", "Pod"): _pod,
    **{("apps", kind): _workload for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")},
    ("", "ReplicationController"): _workload,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("", "Service"): _service,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("", "Node"): _node,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
    ("", "ConfigMap"): _settings,
    ("", "Secret"): _settings,
    ("policy", "PodDisruptionBudget"): _budget,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
}
