"""Asks the CMDB what runs on which host.

Settings: `url` of the service, `token` to ask it with (may be left out where it needs none).
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from kcl.plugins import Call, Plugin, PluginError

PLUGIN = Plugin()
AT_ONCE = 500


@PLUGIN.function("hosts(hostnames: [str]) -> {str:any}", timeout_seconds=20)
def hosts(call: Call, hostnames: list[str]) -> dict[str, Any]:
    """What runs on these hosts: `hosts` with a record for each, `unresolved` with names nobody knows.

    A record has hostname, cluster, namespace, pod, uid, node and its state: `ok`, `stale` (not seen for long),
    `duplicate` (several pods claim the name) or `unknown` (a host with no pod on it).
    """
    # a list that was saved on Windows may begin with a byte order mark
    wanted = list(dict.fromkeys(name for each in hostnames if (name := each.strip().strip("\ufeff").strip())))
    found: list[dict[str, Any]] = []
    unresolved: list[str] = []
    for start in range(0, len(wanted), AT_ONCE):
        answer = ask(call, "/v1/hosts/lookup", {"hostnames": wanted[start : start + AT_ONCE]})
        by_name: dict[str, list[dict[str, Any]]] = {}
        for record in records_of(answer):
            by_name.setdefault(record["hostname"], []).append(record)
        for name in wanted[start : start + AT_ONCE]:
            records = by_name.get(name, [])
            found += judged(records)
            if not records:
                unresolved.append(name)
    return {"hosts": found, "unresolved": unresolved}


def records_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of an answer. One that is not as expected tells of no host, not even that it is unknown."""
    records = answer.get("hosts")
    keys = {"hostname", "fresh", "seen", "pod"}
    if not isinstance(records, list) or not all(isinstance(each, dict) and keys <= each.keys() for each in records):
        raise PluginError("the CMDB answered something else than expected", hint="is it another version of it?")
    return records


def judged(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of one host name that say where it is now, each with its state."""
    if not records:
        return []
    fresh = [each for each in records if each["fresh"]]
    if not fresh:
        latest = max(records, key=lambda each: each["seen"])
        return [stated(latest, "stale" if latest["pod"] else "unknown")]
    if len(fresh) > 1:
        return [stated(each, "duplicate" if each["pod"] else "unknown") for each in fresh]
    return [stated(fresh[0], "ok" if fresh[0]["pod"] else "unknown")]


def stated(record: dict[str, Any], state: str) -> dict[str, Any]:
    kept = {key: record[key] for key in ("hostname", "cluster", "namespace", "pod", "uid", "node") if record.get(key)}
    return {**kept, "state": state}


def ask(call: Call, path: str, question: dict[str, Any]) -> dict[str, Any]:
    url = call.settings.get("url", "")
    if not url.startswith(("http://", "https://")):
        raise PluginError("where the CMDB is has not been said", hint="set WB_PLUGIN_CMDB_URL, or wb demo --headless")
    headers = {"Content-Type": "application/json"}
    if call.settings.get("token"):
        headers["Authorization"] = f"Bearer {call.settings['token']}"
    request = urllib.request.Request(url.rstrip("/") + path, data=json.dumps(question).encode(), headers=headers)
    direct = [urllib.request.ProxyHandler({})] if is_local(url) else []
    opener = urllib.request.build_opener(*direct)
    try:
        with opener.open(request, timeout=max(0.1, call.seconds_left() - 0.5)) as response:
            kind, content = response.headers.get_content_type(), response.read()
    except urllib.error.HTTPError as error:
        hint = "is the token right? WB_PLUGIN_CMDB_TOKEN" if error.code in (401, 403) else ""
        raise PluginError(f"the CMDB answered {error.code} {error.reason}", hint=hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise PluginError(f"the CMDB cannot be asked: {reason}", hint="does it run?") from None
    try:
        answer = json.loads(content)
    except ValueError:
        raise PluginError(f"the CMDB answered no JSON but {kind}", hint="what answers at WB_PLUGIN_CMDB_URL?") from None
    if not isinstance(answer, dict):
        raise PluginError("the CMDB answered something else than expected")
    return answer


def is_local(url: str) -> bool:
    """Whether the service is on this machine, which no proxy leads to."""
    return url.split("//", 1)[1].split("/")[0].rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")
