"""A repository full of secrets that are repeated in every form, and a way to look for them."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from runtimes.base import Health, KubernetesId, LogRequest, ObjectRef, Occurrence, Rejected, RuntimeFailure, Status
from runtimes.base.logs import LogLine, LogNote, LogQuery, LogReport, LogSource
from runtimes.base.relations import Related, Relations
from runtimes.base.tables import LiveColumn, LiveKind, LiveKinds, LiveRow, LiveTable, TableReport
from tests.needles import Needles
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.fake_workspace import FakeWorkspace
from tests.workbench.session.shop import shop
from workbench.engine.compiled import CompileInputs
from workbench.project import Stack
from workbench.session import Session
from workbench.settings import Settings

CANARIES = {
    "an option that feeds a Secret": "canary-Op7+/x1==option",
    "an option that is in a Secret's text": "canary-Dsn4+part",
    "a literal in a Secret": 'canary-Li4 "quoted" literal',
    "the password in a URL in a Secret": "canary-Ur2/p@w",
    "a variable": "canary-En9-variable",
    "an attribute called a secret": "canary-At3-attribute",
    "an attribute that only the provider calls one": "canary-Pr5-provider",
    "an attribute the configuration calls one": "canary-Pi8-pin",
    "settings of a provider": "canary-Me6-meta",
    "a line of a key": "canaryPEM0123456789abcdefghijklmnopqrstuvwxyzABCD",
    "what a Secret held before": "canary-Old1-live",
    "what only the repository knows the look of": "canary_live_Pt2x",
}
OPTION, PART, LITERAL, URL, VARIABLE, ATTRIBUTE, PROVIDER, PIN, META, LINE, OLD, LOOK = CANARIES.values()
OPTIONS = {"door": OPTION, "backdoor": PART, "size": "3"}
"""None of these names says what it is."""


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


KEY = f"-----BEGIN KEY-----\n{LINE}\n-----END KEY-----\n"
MAIN = f"""\
import base64
import json
import manifests

_door = option("door")
_variable = {_text(VARIABLE)}
_password = {_text(ATTRIBUTE)}
_space = "vault-dev"

namespace = {{apiVersion = "v1", kind = "Namespace", metadata.name = _space}}
secret = {{
    apiVersion = "v1"
    kind = "Secret"
    metadata = {{name = "safe", namespace = _space}}
    stringData = {{
        door = _door
        dsn = "host=db user=app password=" + option("backdoor")
        literal = {_text(LITERAL)}
        url = "postgres://app:{quote(URL, safe="")}@db.example/orders"
        key = {_text(KEY)}
        switch = "true"
        level = "1"
        environment = "production"
    }}
}}
settings = {{
    apiVersion = "v1"
    kind = "ConfigMap"
    metadata = {{
        name = "settings"
        namespace = _space
        annotations = {{basic = base64.encode("user:" + _door), level = "1", open = "true", tier = "production"}}
    }}
    data = {{
        dup = _door
        quoted = "https://x.example/?q={quote_plus(OPTION)}"
        inner = json.encode({{text = {_text(LITERAL)}}})
        password = {_text(URL)}
        body = "first\\n  {LINE}\\nlast"
        part = "x-" + option("backdoor")
    }}
}}
web = {{
    apiVersion = "apps/v1"
    kind = "Deployment"
    metadata = {{name = "web", namespace = _space}}
    spec = {{
        replicas = option("size")
        selector.matchLabels.app = "web"
        template = {{
            metadata.labels.app = "web"
            spec.containers = [{{
                name = "web"
                image = "web:1"  # not {OPTION}, not {LOOK}
                args = ["--password=" + _variable, "--mode=production"]
                env = [{{name = "DB_PASSWORD", value = _variable}}, {{name = "DUP", value = _door}}]
            }}]
        }}
    }}
}}
db = {{
    id = "acme:cloud:thing:db"
    $type = "Terraform"
    attributes = {{
        name = "db"
        password = _password
        note = "the door opens with " + _password
        hush = {_text(PROVIDER)}
        again = "again " + {_text(PROVIDER)}
        pins = [{{code = {_text(PIN)}}}]
    }}
    extensions = {{
        provider = "registry.example/acme/cloud/1.0"
        resourceType = "thing"
        providerMeta = {{token = {_text(META)}}}
        sensitive = ["pins[0].code"]
    }}
}}
print("the door is", _door)  # and not {LOOK}
manifests.yaml_stream([namespace, secret, settings, web, db])
"""
FILES = {
    "masking.yaml": "patterns: [canary_live_*]\n",
    "vault/project.yaml": "name: vault\n",
    "vault/dev/stack.yaml": "name: dev\n",
    "vault/dev/main.k": MAIN,
}
SECRET = KubernetesId("v1", "Secret", "vault-dev", "safe")
SETTINGS = KubernetesId("v1", "ConfigMap", "vault-dev", "settings")
WEB = KubernetesId("apps/v1", "Deployment", "vault-dev", "web")
LIVE = LiveKind("v1", "ConfigMap", "configmaps", True)


def forms(secret: str) -> Iterator[str]:
    yield from (secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[3:-3])
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))
    data = secret.encode()
    for shift in range(3):
        encoded = base64.b64encode(b"x" * shift + data).decode()
        yield encoded[(0, 4, 4)[shift] : len(encoded) - 4]  # what neighbours have a say in is left out


@cache
def _needles() -> Needles:
    return Needles(each for secret in CANARIES.values() for each in forms(secret))


def leaks(said: str | bytes) -> list[str]:
    """Returns which canaries a text gives away, in whatever form."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    if not _needles().are_in(text):
        return []
    return [name for name, secret in CANARIES.items() if any(each in text for each in forms(secret))]


def leaking_files(*folders: Path) -> dict[str, list[str]]:
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {str(path): found for path in files if (found := leaks(path.read_bytes()))}


class Cluster(FakeCluster):
    """Its pods write their secrets into their logs, and so do its lists and events."""

    async def kinds(self) -> LiveKinds:
        return LiveKinds((LIVE,))

    @asynccontextmanager
    async def follow(
        self, kind: LiveKind, namespaces: Collection[str] = (), *, most: int = 20_000
    ) -> AsyncIterator[AsyncIterator[TableReport]]:
        columns = (LiveColumn("Name"), LiveColumn("Says"), LiveColumn("More", is_wide=True))
        uid = self.objects[SETTINGS].uid if SETTINGS in self.objects else "u"
        told = f"opens with {OPTION}, {quote(URL, safe='')}", f"{LOOK} {VARIABLE}"
        table = LiveTable(kind, columns, (LiveRow(SETTINGS, uid, ("settings", *told), {"door": OPTION}),))

        async def reports() -> AsyncIterator[TableReport]:
            yield TableReport(table, datetime.now(UTC), failure=RuntimeFailure(f"it refused {LOOK}"))
            await asyncio.sleep(60)

        yield reports()

    async def relations(self, id_: KubernetesId) -> Relations | None:
        named = Related(KubernetesId("v1", "Pod", "vault-dev", "user"), f"volume {OPTION}, {LOOK}")
        return Relations(used_by=(named,), not_known=(("Ingress", Rejected(f"not {OPTION}, not {LOOK}")),))

    async def events(self, id_: KubernetesId, uid: str) -> tuple[Occurrence, ...]:
        about = ObjectRef(id_.kind, id_.namespace, id_.name, uid)
        return (Occurrence(about, True, "Refused", f"not {OPTION}, not {LOOK}", 2, None),)

    @asynccontextmanager
    async def follow_logs(self, query: LogQuery) -> AsyncIterator[AsyncIterator[LogReport]]:
        source, at = LogSource(query.id.name, "app"), datetime.now(UTC)
        written = await self.logs(LogRequest(ObjectRef("Pod", query.id.namespace, query.id.name)))
        lines = tuple(LogLine(source, at, f"wrote {each}") for each in written)
        note = LogNote(source, at, f"the stream was lost: {LOOK}")

        async def reports() -> AsyncIterator[LogReport]:
            yield LogReport((*lines, note), (source,), at, RuntimeFailure(f"refused with {LOOK}"))
            await asyncio.sleep(60)

        yield reports()

    async def logs(self, request: LogRequest) -> tuple[str, ...]:
        return (
            f"connecting with {OPTION}",
            f"key {LOOK}",
            f"Authorization: Basic {base64.b64encode(URL.encode()).decode()}",
        )


def cloud() -> FakeWorkspace:
    """Its provider calls `hush` sensitive, which no name says."""
    return FakeWorkspace(hidden=(("password",), ("hush",)))


@dataclass
class Vault:
    """The stack vault/dev over a cluster and a workspace in memory; state and cache lie beside the repository."""

    home: Path
    cluster: Cluster = field(default_factory=lambda: Cluster("hz"))
    cloud: FakeWorkspace = field(default_factory=cloud)

    def __post_init__(self) -> None:
        shop(self.home / "repository", FILES)

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def inputs(self) -> CompileInputs:
        return CompileInputs(options=OPTIONS)

    async def connect(self, name: str) -> Any:
        return self.cluster

    async def connect_workspace(self, stack: Stack) -> Any:
        return self.cloud

    def session(self, **settings: Any) -> Session:
        return Session.open(
            self.home / "repository",
            settings=Settings(self.state, self.home / "cache", user="ann", host="box", **settings),
            connect=self.connect,
            connect_workspace=self.connect_workspace,
        )

    def change_by_hand(self) -> None:
        """What a person leaves in the cluster: the Secret of before, and where it was repeated."""
        self.cluster.edit(SECRET, ("data", "door"), base64.b64encode(OLD.encode()).decode())
        self.cluster.edit(SETTINGS, ("data", "dup"), f"was {OLD}")
        self.cluster.edit(SETTINGS, ("data", "left"), OLD)

    def quote_everything(self, failure: type[RuntimeFailure]) -> None:
        """Makes the cluster quote what it was sent, and what runs there say it."""
        self.cluster.fail[("apply", str(SETTINGS))] = failure(f'denied: "{OPTION}" is in {quote(URL, safe="")}, {LOOK}')
        self.cluster.health[WEB] = (
            Health(Status.IN_PROGRESS, "Waiting", f"cannot log in with {VARIABLE} or {LOOK}"),
            None,
        )
