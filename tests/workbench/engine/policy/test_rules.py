"""What each rule finds, what it lets pass, and what it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.base import UNKNOWN, ClusterIdentity, in_words
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.world import World, config_map, deployment, namespace
from workbench.engine.plan import Plan
from workbench.engine.policy.findings import Violation
from workbench.engine.policy.of_specs import full_name
from workbench.engine.policy.registry import all_rules, find_rule
from workbench.engine.policy.rules import Look, Subject, build
from workbench.engine.spec import build as spec_of
from workbench.project.errors import BrokenFile

FREEZE = {"from": "2026-12-24", "until": "2026-12-26"}
MONDAYS = {"closed": [{"days": ["mon"]}]}
MONDAY = datetime(2026, 11, 23, 3, 0, tzinfo=UTC)  # 11:00 in Shanghai


def rule(name: str, **values: Any) -> Look:
    return build(find_rule(name, "policy.yaml"), values, "policy.yaml")


def found(look: Look, *documents: dict[str, Any], now: datetime = MONDAY) -> list[Violation]:
    spec = spec_of(documents, stack="shop/prod")
    bodies = {each.id: (each.attributes,) for each in spec}
    return list(look(Subject(World().stack, spec, bodies, now)))


def said(violations: list[Violation]) -> list[str]:
    return [each.message for each in violations]


@pytest.mark.parametrize(
    ("image", "name"),
    {
        "nginx": "docker.io/library/nginx",
        "nginx:1.25": "docker.io/library/nginx",
        "acme/web": "docker.io/acme/web",
        "docker.io/nginx": "docker.io/library/nginx",
        "index.docker.io/acme/web:2": "docker.io/acme/web",
        "localhost/web": "localhost/web",
        "localhost:5000/web:1": "localhost:5000/web",
        "registry.example/web@sha256:aa": "registry.example/web",
        "registry.example:443/team/web:v1@sha256:aa": "registry.example:443/team/web",
    }.items(),
)
def test_an_image_has_one_full_name(image: str, name: str) -> None:
    assert full_name(image) == name


@pytest.mark.parametrize(
    "image",
    [
        "web:1",
        "registry.example.evil.io/web:1",
        "evil.io/registry.example/web:1",
        "registry.example@sha256:aa",
        "docker.io/registry.example/web",
        "",
    ],
)
def test_an_image_of_another_registry_is_found_wherever_it_is_run(image: str) -> None:
    look = rule("image-registries", allowed=["registry.example/*"])
    template = {"spec": {"containers": [{"name": "a", "image": image}]}}
    bodies: Mapping[str, Any] = {
        "Deployment": {"template": template},
        "CronJob": {"jobTemplate": {"spec": {"template": template}}},
        "Pod": template["spec"],
        "Rollout": {"workload": [{"template": template}]},
        "DaemonSet": {"template": {"spec": {"initContainers": template["spec"]["containers"], "containers": []}}},
    }
    for kind, spec in bodies.items():
        document = {"apiVersion": "acme.io/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
        (violation,) = found(look, document)
        assert "is from no allowed registry" in violation.message, kind
        assert violation.subject is not None and in_words(violation.subject) == f"{kind} a"
    assert not found(look, deployment("web", image="registry.example/web:1"))


def test_what_only_applying_decides_is_not_taken_for_allowed() -> None:
    images = rule("image-registries", allowed=["*"])
    limits = rule("resource-limits", most={"limits.cpu": "1"})
    replicas = rule("replicas", least=1)
    metadata = rule("required-metadata", labels={"team": "*"})
    document = deployment("web", image="$kusion_path.acme:x:y:z.image", resources={"limits": {"cpu": UNKNOWN}})
    document["spec"]["replicas"] = UNKNOWN
    document["metadata"]["labels"] = {"team": UNKNOWN}
    (resource,) = spec_of([{**document, "spec": {}}], stack="shop/prod")
    subject = Subject(World().stack, spec_of([], stack="shop/prod"), {resource.id: (document,)}, MONDAY)
    for look in (images, limits, replicas, metadata):
        (violation,) = look(subject)
        assert violation.is_unknown and "only applying decides" in violation.message


@pytest.mark.parametrize(
    ("values", "image", "expected"),
    [
        ({}, "web:1", []),
        ({}, "web:latest", ["tag latest is forbidden"]),
        ({}, "web", ["tag latest is forbidden, as no tag is said"]),
        ({}, "localhost:5000/web", ["tag latest is forbidden, as no tag is said"]),
        ({"forbidden": ["dev-*"]}, "web:dev-3", ["tag dev-3 is forbidden"]),
        ({"digest": True}, "web:1", ["web:1 is no digest: the same tag may be another image tomorrow"]),
        ({"digest": True}, "web:1@sha256:aa", []),
    ],
)
def test_tags(values: dict[str, Any], image: str, expected: list[str]) -> None:
    assert said(found(rule("image-tags", **values), deployment("web", image=image))) == expected


def test_limits_are_compared_as_quantities() -> None:
    look = rule("resource-limits", required=["requests.cpu"], most={"limits.memory": "1Gi"})
    ok = deployment("web", resources={"requests": {"cpu": "100m"}, "limits": {"memory": "1024Mi"}})
    assert not found(look, ok)
    more = deployment("web", resources={"requests": {"cpu": 1}, "limits": {"memory": "1073741825"}})
    assert said(found(look, more)) == ["limits.memory 1073741825 is more than 1Gi"]
    assert said(found(look, deployment("web"))) == ["requests.cpu is not set"]
    (odd,) = found(look, deployment("web", resources={"requests": {"cpu": 1}, "limits": {"memory": "much"}}))
    assert odd.is_unknown


def test_the_replicas_of_an_autoscaler_are_what_counts() -> None:
    look = rule("replicas", least=2, most=10)
    assert said(found(look, deployment("web"))) == ["1, as none are said: at least 2 are needed"]
    assert said(found(look, deployment("web", replicas=11))) == ["11: at most 10 are allowed"]
    hpa: dict[str, Any] = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 30},
    }
    assert said(found(look, deployment("web", replicas=5), hpa)) == [
        "1 by its autoscaler: at least 2 are needed",
        "30 by its autoscaler: at most 10 are allowed",
    ]
    hpa["spec"] |= {"minReplicas": 2, "maxReplicas": 9}
    assert not found(look, deployment("web"), hpa)


def test_metadata_that_is_missing_or_says_something_else() -> None:
    look = rule("required-metadata", labels={"team": "orchard-*"}, annotations=["owner"])
    document = config_map("settings", {})
    assert said(found(look, document)) == ["label team is missing", "annotation owner is missing"]
    document["metadata"] |= {"labels": {"team": "pear"}, "annotations": {"owner": "ann"}}
    assert said(found(look, document)) == ["label team is pear, not orchard-*"]


def test_what_belongs_to_the_node() -> None:
    document = deployment("web", securityContext={"privileged": True}, ports=[{"hostPort": 80}, {"containerPort": 1}])
    pod = document["spec"]["template"]["spec"]
    pod |= {"hostNetwork": True, "hostPID": False, "volumes": [{"name": "a", "hostPath": {"path": "/"}}, {"name": "b"}]}
    every = {each.message.split()[0] for each in found(rule("no-host-access"), document)}
    assert every == {"hostNetwork", "hostPath", "privileged", "hostPort"}
    assert {
        each.message.split()[0] for each in found(rule("no-host-access", allow=["hostPort"]), document)
    } == every - {"hostPort"}
    assert not found(rule("no-host-access"), deployment("web"))


async def planned(*documents: dict[str, Any], before: tuple[dict[str, Any], ...] = ()) -> tuple[World, Plan]:
    world = World({"hz": FakeCluster("hz"), "sh": FakeCluster("sh")})
    if before:
        await world.release(*before)
    return world, await world.plan(*documents)


def of_plan(look: Look, plan: Plan, now: datetime = MONDAY) -> list[str]:
    bodies = {each.id: (each.attributes,) for each in plan.spec}
    return said(list(look(Subject(World().stack, plan.spec, bodies, now, plan))))


async def test_what_may_not_be_deleted() -> None:
    before = (namespace(), config_map("settings", {}), deployment("web"))
    _, plan = await planned(namespace(), deployment("web"), before=before)
    look = rule("no-deletions")
    assert of_plan(look, plan) == ["may not be deleted"] * 2, "in both clusters"
    bodies = {each.id: (each.attributes,) for each in plan.spec}
    subject = Subject(World().stack, plan.spec, bodies, MONDAY, plan, looks_at=lambda id_: False)
    assert not list(look(subject)), "kinds are those of the policy"


async def test_one_apply_does_only_so_much() -> None:
    before = (namespace(), deployment("web", replicas=1), config_map("settings", {}))
    _, plan = await planned(namespace(), deployment("web", image="web:2", replicas=1), before=before)
    assert of_plan(rule("most-changes", updated=1, deleted=1, changes=4), plan) == [
        "2 updated, and 1 are allowed at a time",
        "2 deleted, and 1 are allowed at a time",
    ]


async def test_only_some_fields_change() -> None:
    before = (namespace(), deployment("web", replicas=1))
    look = rule("changeable-fields", fields=["spec.template.spec.containers[*].image", "spec.replicas"])
    _, plan = await planned(namespace(), deployment("web", image="web:2", replicas=2), before=before)
    assert of_plan(look, plan) == []
    _, plan = await planned(namespace(), deployment("web", image="web:2", replicas=2, command=["x"]), before=before)
    assert of_plan(look, plan) == ["may not change"] * 2
    _, plan = await planned(namespace(), deployment("web", replicas=1), config_map("new", {}), before=before)
    assert of_plan(look, plan) == ["may not be created, only some fields may change"] * 2
    _, plan = await planned(namespace(), before=before)
    assert of_plan(look, plan) == ["may not go (delete), only some fields may change"] * 2
    may = rule("changeable-fields", fields=["spec.replicas"], creations=True, deletions=True)
    assert of_plan(may, plan) == []


async def test_who_writes_is_one_of_those_or_it_is_not_known() -> None:
    _, plan = await planned(namespace())
    look = rule("allowed-users", users=["*-admin"])
    as_user = {name: ClusterIdentity(name, "https://x", user) for name, user in (("hz", "hz-admin"), ("sh", "viewer"))}
    assert of_plan(look, replace(plan, identities=as_user)) == ["user viewer may not write to sh"]
    for nobody in ({}, {"hz": as_user["hz"], "sh": ClusterIdentity("sh", "https://x")}):
        assert all("is not known" in each for each in of_plan(look, replace(plan, identities=nobody)))
        assert of_plan(look, replace(plan, identities=nobody))


@pytest.mark.parametrize(
    ("windows", "now", "is_closed"),
    [
        ({"closed": [{"days": ["mon"]}]}, "2026-11-23T03:00+00:00", True),
        ({"closed": [{"days": ["mon"]}]}, "2026-11-22T15:59+00:00", False),
        ({"closed": [{"days": ["mon"]}]}, "2026-11-22T16:00+00:00", True),  # Monday begins in Shanghai
        ({"closed": [{"from": "2026-12-24", "until": "2026-12-26"}]}, "2026-12-26T15:59+00:00", True),
        ({"closed": [{"from": "2026-12-24", "until": "2026-12-26"}]}, "2026-12-26T16:00+00:00", False),
        ({"closed": [{"from": "2026-12-24 18:00"}]}, "2026-12-24T09:59+00:00", False),
        ({"closed": [{"from": "2026-12-24 18:00"}]}, "2026-12-24T10:00+00:00", True),
        ({"closed": [{"hours": "18:00-08:00"}]}, "2026-11-23T10:00+00:00", True),  # 18:00
        ({"closed": [{"hours": "18:00-08:00"}]}, "2026-11-22T23:59+00:00", True),  # 07:59
        ({"closed": [{"hours": "18:00-08:00"}]}, "2026-11-23T00:00+00:00", False),  # 08:00
        ({"closed": [{"days": ["fri"], "hours": "18:00-08:00"}]}, "2026-11-27T20:00+00:00", True),  # Saturday, 04:00
        ({"closed": [{"days": ["fri"], "hours": "18:00-08:00"}]}, "2026-11-26T20:00+00:00", False),  # Friday, 04:00
        ({"closed": [{"hours": "18:00-24:00"}]}, "2026-11-23T15:59+00:00", True),
        ({"closed": [{"hours": "18:00-24:00"}]}, "2026-11-23T16:00+00:00", False),
        # the night of the last day of a freeze is frozen to its end, and that before its first day is not
        ({"closed": [{**FREEZE, "hours": "18:00-08:00"}]}, "2026-12-26T20:00+00:00", True),  # the 27th, 04:00
        ({"closed": [{**FREEZE, "hours": "18:00-08:00"}]}, "2026-12-27T00:00+00:00", False),  # 08:00
        ({"closed": [{**FREEZE, "hours": "18:00-08:00"}]}, "2026-12-27T10:00+00:00", False),  # 18:00
        ({"closed": [{**FREEZE, "hours": "18:00-08:00"}]}, "2026-12-23T20:00+00:00", False),  # the 24th, 04:00
        ({"closed": [{**FREEZE, "hours": "18:00-08:00"}]}, "2026-12-24T10:00+00:00", True),  # 18:00
        ({"open": [{"days": ["mon"], "hours": "09:00-17:00"}]}, "2026-11-23T03:00+00:00", False),
        ({"open": [{"days": ["mon"], "hours": "09:00-17:00"}]}, "2026-11-23T09:00+00:00", True),
        ({"open": [{"days": ["mon"]}], "closed": [{"hours": "11:00-12:00"}]}, "2026-11-23T03:00+00:00", True),
    ],
)
async def test_windows(windows: dict[str, Any], now: str, is_closed: bool) -> None:
    _, plan = await planned(namespace())
    look = rule("change-windows", zone="Asia/Shanghai", **windows)
    assert bool(of_plan(look, plan, datetime.fromisoformat(now))) is is_closed


@pytest.mark.parametrize(
    ("windows", "now", "is_closed"),
    [
        ({"open": [{"until": "2026-10-25 02:30"}]}, "2026-10-25T00:29+00:00", False),  # 02:29, summer time
        ({"open": [{"until": "2026-10-25 02:30"}]}, "2026-10-25T00:30+00:00", True),
        ({"open": [{"until": "2026-10-25 02:30"}]}, "2026-10-25T01:15+00:00", True),  # 02:15 once more
        ({"closed": [{"from": "2026-10-25 02:30"}]}, "2026-10-25T00:45+00:00", True),
        ({"closed": [{"from": "2026-10-25 02:30"}]}, "2026-10-25T01:15+00:00", True),
        ({"closed": [{"hours": "01:00-03:00"}]}, "2026-10-25T01:59+00:00", True),  # 02:59 of the longer night
        ({"closed": [{"until": "2026-03-29 02:30"}]}, "2026-03-29T01:15+00:00", True),  # a time that is left out
        ({"closed": [{"until": "2026-03-29 02:30"}]}, "2026-03-29T01:30+00:00", False),
    ],
)
async def test_an_hour_that_comes_twice_opens_nothing_again(windows: dict[str, Any], now: str, is_closed: bool) -> None:
    """What had ended began again for half an hour, in the night when summer time ends."""
    _, plan = await planned(namespace())
    look = rule("change-windows", zone="Europe/Berlin", **windows)
    assert bool(of_plan(look, plan, datetime.fromisoformat(now))) is is_closed


@pytest.mark.parametrize(
    ("windows", "ahead", "is_closed"),
    [
        ({"closed": [{"days": ["tue"]}]}, 24 * 3600, True),
        ({"closed": [{"days": ["tue"]}]}, 60, False),
        ({"closed": [{"days": ["tue"]}]}, None, False),
        (MONDAYS, -24 * 3600, True),
        ({"open": [{"days": ["mon"]}]}, -24 * 3600, True),
        ({"open": [{"days": ["mon"]}]}, -60, False),
    ],
)
async def test_windows_hold_by_the_clocks_of_all_clusters(
    windows: dict[str, Any], ahead: float | None, is_closed: bool
) -> None:
    """This machine's clock may be the one that is wrong: a freeze would be over, or not have begun."""
    _, plan = await planned(namespace())
    own, other = (ClusterIdentity(name, "https://x", ahead_seconds=by) for name, by in (("hz", 0.0), ("sh", ahead)))
    plan = replace(plan, identities={"hz": own, "sh": other})
    messages = of_plan(rule("change-windows", zone="Asia/Shanghai", **windows), plan)
    assert bool(messages) is is_closed
    # what is closed by the own clock needs no other
    assert [each for each in messages if "by the clock of sh" in each] == (messages if windows != MONDAYS else [])


async def test_nothing_to_do_is_done_at_any_time() -> None:
    world = World()
    await world.release(namespace())
    plan = await world.plan(namespace())
    assert plan.is_empty
    assert not of_plan(rule("change-windows", closed=[{"days": ["mon"]}]), plan)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("image-registries", {}),
        ("image-registries", {"allowed": []}),
        ("image-registries", {"allowed": "x"}),
        ("image-registries", {"allowed": ["x"], "alowed": ["y"]}),
        ("image-tags", {"digest": "yes"}),
        ("image-tags", {"digest": 1}),
        ("resource-limits", {}),
        ("resource-limits", {"required": ["memory"]}),
        ("resource-limits", {"most": {"limits.memory": "much"}}),
        ("resource-limits", {"most": ["limits.memory"]}),
        ("replicas", {}),
        ("replicas", {"least": -1}),
        ("replicas", {"least": True}),
        ("required-metadata", {}),
        ("required-metadata", {"labels": {"team": 1}}),
        ("no-host-access", {"allow": ["hostname"]}),
        ("no-deletions", {"kinds": ["x"]}),
        ("most-changes", {}),
        ("most-changes", {"deleted": "5"}),
        ("changeable-fields", {}),
        ("change-windows", {}),
        ("change-windows", {"zone": "Mars/Olympus", "closed": [{"days": ["mon"]}]}),
        ("change-windows", {"zone": "../../etc/passwd", "closed": [{"days": ["mon"]}]}),
        ("change-windows", {"closed": [{}]}),
        ("change-windows", {"closed": [{"days": ["monday"]}]}),
        ("change-windows", {"closed": [{"hours": "8-12"}]}),
        ("change-windows", {"closed": [{"hours": "25:00-26:00"}]}),
        ("change-windows", {"closed": [{"hours": "08:00-08:00"}]}),
        ("change-windows", {"closed": [{"from": "soon"}]}),
        ("change-windows", {"closed": [{"from": "2026-12-02", "until": "2026-12-01"}]}),
        ("change-windows", {"closed": [{"at": "2026-12-02"}]}),
        ("allowed-users", {}),
    ],
)
def test_parameters_that_a_rule_does_not_take_are_told_when_they_are_read(name: str, values: dict[str, Any]) -> None:
    with pytest.raises(BrokenFile) as raised:
        rule(name, **values)
    assert raised.value.where == "policy.yaml" and raised.value.message.startswith("with: ")


@pytest.mark.parametrize(
    ("name", "values"), [("replicas", {"leest": 2}), ("most-changes", {"delete": 2}), ("change-windows", {"shut": []})]
)
def test_a_parameter_that_is_misspelt_is_named(name: str, values: dict[str, Any]) -> None:
    with pytest.raises(BrokenFile, match=f"unknown parameter '{next(iter(values))}'; known: "):
        rule(name, **values)


def test_rules_have_one_name_and_say_what_they_are() -> None:
    rules = all_rules()
    assert len(rules) >= 11
    assert all(each.name == name and each.about.endswith(".") and each.parameters for name, each in rules.items())
    with pytest.raises(BrokenFile, match="there is no rule 'image-registry'"):
        find_rule("image-registry", "policy.yaml")
