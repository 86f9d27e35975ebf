"""Every row of the picture opens, and stands for the pods it is made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from runtimes.base import (
    Address,
    Blocking,
    Contact,
    Health,
    KubernetesId,
    ObjectRef,
    Observation,
    Occurrence,
    Status,
    StatusNode,
)
from workbench.engine.status import StatusTree, Watched
from workbench.present import objects, reconcile
from workbench.present.glyphs import UNICODE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEB = Address("hz", KubernetesId("apps/v1", "Deployment", "shop", "web"))
HEALTHS = st.sampled_from([Health(Status.CURRENT)] * 3 + [Health(Status.FAILED, "CrashLoopBackOff", "it ended with 1")])


@st.composite
def nodes(draw: st.DrawFn) -> StatusNode:
    """A Deployment over ReplicaSets over pods, of any health."""
    sets = []
    for number in range(draw(st.integers(0, 3))):
        made = [draw(HEALTHS) for _ in range(draw(st.integers(0, 5)))]
        pods = tuple(_node("Pod", f"web-{number}-{index}", each) for index, each in enumerate(made))
        sets.append(_node("ReplicaSet", f"web-{number}", draw(HEALTHS), pods))
    return _node("Deployment", "web", draw(HEALTHS), tuple(sets))


def _node(kind: str, name: str, health: Health, children: tuple[StatusNode, ...] = ()) -> StatusNode:
    ref = ObjectRef(kind, "shop", name, f"uid-{name}")
    events = (Occurrence(ref, True, "BackOff", f"about {name}", 2, NOW - timedelta(seconds=9)),)
    return StatusNode(ref, health, ("1/1 ready",), NOW - timedelta(hours=1), children, events)


def picture(root: StatusNode | None, blocking: Blocking | None = None) -> StatusTree:
    health = root.health if root else Health(Status.NOT_FOUND, "", "it does not exist")
    watched = Watched.of((WEB,)).fold("hz", Contact(NOW))
    return watched.fold("hz", Observation(WEB.id, health, root, blocking)).tree(NOW, 1.0)


@given(nodes())
def test_every_row_opens_and_says_what_it_stands_for(root: StatusNode) -> None:
    tree = picture(root)
    for row in reconcile.rows(tree, UNICODE, NOW):
        text = "\n".join(map(str, objects.lines(tree, row.key, UNICODE, NOW)))
        assert "not there any more" not in text
        assert "Deployment shop/web" in text and "heard 0s ago" in text
        names = [each.name for each in reconcile.pods(tree, row.key)]
        assert all(name in text for name in names)


@given(nodes())
def test_the_pods_of_the_rows_are_the_pods_there_are(root: StatusNode) -> None:
    tree = picture(root)
    every = {each.name for replica_set in root.children for each in (pod.ref for pod in replica_set.children)}
    by_row = [
        (row, [each.name for each in reconcile.pods(tree, row.key)]) for row in reconcile.rows(tree, UNICODE, NOW)
    ]
    top, *below = by_row
    assert set(top[1]) == every
    leaves = [name for row, names in below if not row.foldable for name in names]
    assert sorted(name for name in leaves if name in every) == sorted(every), "each in one row"
    for row, names in below:
        if "Pods" in str(row.cells[0]):
            assert len(names) == int(str(row.cells[0]).split()[0]) >= reconcile.GROUPED_FROM


def test_the_row_of_a_resource_stands_for_the_pod_that_blocks_it() -> None:
    pods = tuple(_node("Pod", f"web-{index}", Health(Status.CURRENT)) for index in range(4))
    root = _node("Deployment", "web", Health(Status.FAILED), (_node("ReplicaSet", "rs", Health(Status.FAILED), pods),))
    blocking = Blocking(pods[2].ref, "CrashLoopBackOff", "it ended with 1", "exit code 1", ("panic: no config",))
    tree = picture(root, blocking)
    assert reconcile.pods(tree, (WEB, "")) == (pods[2].ref,)
    text = "\n".join(map(str, objects.lines(tree, (WEB, ""), UNICODE, NOW)))
    assert "WHY Pod/web-2 CrashLoopBackOff" in text and "| panic: no config" in text and "about web-3" in text


def test_what_is_gone_or_silent_says_so() -> None:
    assert "it does not exist" in "\n".join(map(str, objects.lines(picture(None), (WEB, ""), UNICODE, NOW)))
    tree = picture(_node("Deployment", "web", Health(Status.CURRENT)))
    assert [str(each) for each in objects.lines(tree, (WEB, "uid-gone"), UNICODE, NOW)] == ["it is not there any more"]
    later = NOW + timedelta(minutes=2)
    text = "\n".join(map(str, objects.lines(tree, (WEB, ""), UNICODE, later)))
    assert "silent for 2m, since 00:00:00 UTC: it was ✓ Ready" in text
