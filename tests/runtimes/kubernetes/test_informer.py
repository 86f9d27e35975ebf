"""One kind in one namespace, kept up to date by a scripted server that repeats, reorders and forgets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from runtimes.base import KubernetesId
from runtimes.base.answer_listeners import listening
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.event_room import EventRoom
from runtimes.kubernetes.informer import Informer
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.kubernetes.transport import Transport
from runtimes.kubernetes.trimming import trimmed

CONFIG = """
current-context: main
clusters: [{{name: main, cluster: {{server: "{server}"}}}}]
contexts: [{{name: main, context: {{cluster: main, user: ""}}}}]
"""
PODS: dict[str, Any] = {
    "kind": "APIResourceList",
    "resources": [
        {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": []},
        {"name": "events", "kind": "Event", "namespaced": True, "verbs": []},
        {"name": "secrets", "kind": "Secret", "namespaced": True, "verbs": []},
    ],
}


def _pod(name: str, version: int, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"kind": "Pod", "metadata": metadata, **more}


class Script:
    """Pages of a list, and for each watch the events it sends before it ends (the last one stays open)."""

    def __init__(self, lists: list[list[list[dict[str, Any]]]], watches: list[list[dict[str, Any]]]) -> None:
        self.lists, self.watches = lists, watches
        self.asked: list[str] = []
        self.newest = 1000
        self.is_through = asyncio.Event()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/api/v1":
            return web.json_response(PODS)
        if request.query.get("watch"):
            self.asked.append(f"watch {request.query['resourceVersion']}")
            return await self._watch(request)
        if request.query.get("limit") == "1":
            return web.json_response(
                {"kind": "PodList", "metadata": {"resourceVersion": str(self.newest)}, "items": []}
            )
        after = request.query.get("continue", "")
        self.asked.append(f"list {after}".strip())
        pages = self.lists[0]
        number = int(after or 0)
        is_last = number + 1 == len(pages)
        if is_last and len(self.lists) > 1:
            del self.lists[0]
        metadata = {"resourceVersion": "10", **({} if is_last else {"continue": str(number + 1)})}
        kind = next(each["kind"] for each in PODS["resources"] if request.path.endswith(f"/{each['name']}"))
        return web.json_response({"kind": f"{kind}List", "metadata": metadata, "items": pages[number]})

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        events = self.watches.pop(0)
        response = web.StreamResponse()
        await response.prepare(request)
        for event in events:
            await response.write(json.dumps(event).encode() + b"\n")
        if not self.watches:
            self.is_through.set()
            await asyncio.sleep(30)
        return response


@asynccontextmanager
async def _informed(
    tmp_path: Path, script: Script, kind: str = "Pod", room: EventRoom | None = None
) -> AsyncIterator[Informer]:
    """Gives an informer that has taken in the whole script."""
    runner = web.ServerRunner(web.Server(script.answer), handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    (tmp_path / "config").write_text(CONFIG.format(server=f"http://127.0.0.1:{runner.addresses[0][1]}"))
    client = Client(Transport(Kubeconfig([tmp_path / "config"]).connection(), place="here"))
    informer = Informer(client, KubernetesId("v1", kind, "shop", "*"), changed=lambda _: None, room=room)
    task = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(20):
            await script.is_through.wait()
            await asyncio.sleep(0.1)
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.close()
        await runner.cleanup()


def _names(informer: Informer) -> dict[str, str]:
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in informer.objects.values()}


async def test_a_list_is_read_page_by_page_and_the_watch_goes_on_from_it(tmp_path: Path) -> None:
    script = Script([[[_pod("a", 1)], [_pod("b", 2)], [_pod("c", 3)]]], [[{"type": "ADDED", "object": _pod("d", 11)}]])
    heard: list[int] = []
    with listening(lambda: heard.append(len(script.asked))):
        async with _informed(tmp_path, script) as informer:
            assert _names(informer) == {"a": "1", "b": "2", "c": "3", "d": "11"}
    assert script.asked == ["list", "list 1", "list 2", "watch 10"]
    assert set(heard) >= {1, 2, 3, 4}, "who waits for it hears of each page, and of the watch"


async def test_repeated_and_reordered_events_leave_the_newest(tmp_path: Path) -> None:
    events = [
        {"type": "MODIFIED", "object": _pod("a", 13, spec={"new": True})},
        {"type": "MODIFIED", "object": _pod("a", 12, spec={"new": False})},
        {"type": "MODIFIED", "object": _pod("a", 13, spec={"new": True})},
        {"type": "ADDED", "object": _pod("b", 14)},
        {"type": "DELETED", "object": _pod("b", 16)},
        {"type": "MODIFIED", "object": _pod("b", 15)},
    ]
    async with _informed(tmp_path, Script([[[_pod("a", 1)]]], [events])) as informer:
        assert _names(informer) == {"a": "13"}
        assert informer.objects["uid-a"]["spec"] == {"new": True}


async def test_a_watch_that_ends_goes_on_from_the_last_bookmark(tmp_path: Path) -> None:
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "99"}}}
    script = Script([[[_pod("a", 1)]]], [[bookmark], [{"type": "ADDED", "object": _pod("b", 100)}]])
    async with _informed(tmp_path, script) as informer:
        assert _names(informer) == {"a": "1", "b": "100"}
    assert script.asked == ["list", "watch 10", "watch 99"]


async def test_watches_that_end_at_once_and_say_nothing_are_not_believed(tmp_path: Path) -> None:
    """What answers so may be no API server, and what happens would never be told."""
    script = Script([[[_pod("a", 1)]], [[_pod("b", 9)]]], [[], [], [], []])
    async with _informed(tmp_path, script) as informer:
        assert _names(informer) == {"b": "9"}
    assert script.asked == ["list", "watch 10", "watch 10", "list", "watch 10", "list", "watch 10"]


async def test_a_version_that_has_expired_means_a_new_list_without_what_went_meanwhile(tmp_path: Path) -> None:
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}
    script = Script([[[_pod("a", 1)]], [[_pod("b", 9)]]], [[gone], []])
    async with _informed(tmp_path, script) as informer:
        assert _names(informer) == {"b": "9"}
    assert script.asked == ["list", "watch 10", "list", "watch 10"]


async def test_a_server_that_was_set_back_is_read_anew(tmp_path: Path) -> None:
    """As from a backup: it opens a watch from a version that it has yet to reach, and is silent."""
    seen = {"type": "MODIFIED", "object": _pod("a", 99)}
    script = Script([[[_pod("a", 1)]], [[_pod("b", 9)]]], [[seen], []])
    script.newest = 10
    async with _informed(tmp_path, script) as informer:
        assert _names(informer) == {"b": "9"}
    assert script.asked == ["list", "watch 10", "list", "watch 10"]


async def test_secrets_are_not_kept(tmp_path: Path) -> None:
    kept = _pod("a", 12, kind="Secret", data={"key": "dmFsdWU="})
    script = Script([[[]]], [[{"type": "ADDED", "object": kept}]])
    async with _informed(tmp_path, script, "Secret") as informer:
        assert list(informer.objects) == ["uid-a"]
        assert "dmFsdWU=" not in repr(informer.objects)


async def test_of_pods_is_held_what_is_looked_at_and_all_where_rules_may_look_at_anything(tmp_path: Path) -> None:
    container = {"name": "app", "image": "shop:1", "env": [{"name": "A", "value": "1"}], "livenessProbe": {}}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "x", "emptyDir": {}}]
    spec = {"nodeName": "n", "containers": [container], "volumes": volumes, "tolerations": [{"key": "k"}]}
    status = {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [{"name": "app", "imageID": "i"}]}
    script = Script([[[_pod("a", 1, spec=spec, status=status)]]], [[]])
    async with _informed(tmp_path, script) as informer:
        held = informer.objects["uid-a"]
    assert held["spec"] == {
        "nodeName": "n",
        "containers": [{"name": "app", "image": "shop:1"}],
        "volumes": [volumes[0], {"name": "x"}],
    }
    assert held["status"] == {"phase": "Running", "containerStatuses": [{"name": "app"}]}
    assert trimmed(_pod("a", 1, spec=spec, status=status), has_rules=True)["spec"] == spec


async def test_of_events_is_held_what_is_read_and_what_all_say_once(tmp_path: Path) -> None:
    """There may be a hundred thousand of them."""

    def event(name: str) -> dict[str, Any]:
        about = {"kind": "Pod", "namespace": "shop", "name": name, "uid": f"of-{name}", "fieldPath": "spec.x"}
        times = {"firstTimestamp": "2026-11-26T10:00:00Z", "lastTimestamp": "2026-11-26T10:00:01Z", "eventTime": None}
        said = {"reason": "Back-Off", "message": f"of {name}", "type": "Warning", "count": 3, "series": {"count": 2}}
        source = {"source": {"component": "kubelet", "host": "n"}, "reportingComponent": "kubelet"}
        return _pod(name, 12, kind="Event", involvedObject=about, **said, **times, **source)

    script = Script([[[event("a")]]], [[{"type": "ADDED", "object": event("b")}]])
    async with _informed(tmp_path, script, "Event") as informer:
        a, b = informer.objects["uid-a"], informer.objects["uid-b"]
    whole = event("b")
    left_out = ("source", "reportingComponent", "eventTime")
    assert {key: each for key, each in b.items() if key not in ("apiVersion", "kind")} == {
        **{key: each for key, each in whole.items() if key not in (*left_out, "kind")},
        "involvedObject": {key: each for key, each in whole["involvedObject"].items() if key != "fieldPath"},
    }
    assert a["reason"] is b["reason"] and a["metadata"]["namespace"] is b["involvedObject"]["namespace"]


def _event(about: str, minute: int, type_: str = "Warning") -> dict[str, Any]:
    subject = {"kind": "Pod", "namespace": "shop", "name": about, "uid": f"uid-{about}"}
    said = {"type": type_, "involvedObject": subject, "lastTimestamp": f"2026-11-26T10:{minute:02d}:00Z"}
    return _pod(f"{about}-{minute}", minute, **{**said, "kind": "Event"})


async def test_of_more_events_than_there_is_room_for_each_object_keeps_its_newest_and_the_rest_is_counted(
    tmp_path: Path,
) -> None:
    noisy = [_event("noisy", minute) for minute in range(20, 50)]
    quiet = [_event("quiet", 1), _event("quiet", 2, "Normal"), _event("calm", 3, "Normal")]
    script = Script([[quiet, noisy[:15], noisy[15:]]], [[]])
    async with _informed(tmp_path, script, "Event", EventRoom(8)) as informer:
        assert informer.room is not None
        kept = set(_names(informer))
        left_out = {name: informer.room.about(_pod(name, 1)) for name in ("noisy", "quiet", "calm")}
    assert kept >= {"quiet-1", "quiet-2", "calm-3", "noisy-49", "noisy-48"} and len(kept) <= 9
    assert left_out == {"noisy": 33 - len(kept), "quiet": 0, "calm": 0}


async def test_room_for_events_is_made_while_they_come_and_those_that_end_are_counted_no_more(tmp_path: Path) -> None:
    came = [{"type": "ADDED", "object": _event("noisy", minute)} for minute in range(10, 40)]
    quiet = _event("quiet", 1)
    script = Script([[[quiet]]], [came, [{"type": "DELETED", "object": _event("noisy", 10)}]])
    async with _informed(tmp_path, script, "Event", EventRoom(8)) as informer:
        assert informer.room is not None
        kept, left_out = set(_names(informer)), informer.room.about(_pod("noisy", 1))
    assert kept >= {"quiet-1", "noisy-39", "noisy-38"} and len(kept) <= 9
    assert left_out == 31 - len(kept) - 1


async def test_that_events_are_left_out_of_objects_that_were_not_counted_is_not_known_to_be_none() -> None:
    room = EventRoom(2)
    room.thin([_event(f"pod-{number}", number) for number in range(20)])
    left_out = [room.about(_pod(f"pod-{number}", 1)) for number in range(18)]
    assert left_out.count(1) == 4 and left_out.count(None) == 14


async def test_a_list_that_begins_again_counts_anew(tmp_path: Path) -> None:
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}
    many, few = [_event("noisy", minute) for minute in range(30)], [_event("noisy", 30)]
    script = Script([[many], [few]], [[gone], []])
    async with _informed(tmp_path, script, "Event", EventRoom(8)) as informer:
        assert informer.room is not None
        assert set(_names(informer)) == {"noisy-30"} and informer.room.about(_pod("noisy", 1)) == 0
