"""`wb import` where the repository has models: what they say in a few lines, and why they do not say the rest."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtimes.sandbox.server import Sandbox
from tests.scenarios.importing import applied_by_kubectl
from tests.workbench.cli.command import Wb
from workbench.engine.intake.values import without_nulls

_YAML = ("import", "yaml", "objects.yaml", "--project", "shop", "--stack", "old", "--namespace", "shop-old")


@pytest.fixture
def sample(sample_konfig: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = sample_konfig
    monkeypatch.chdir(root)
    return root


def objects(wb: Wb) -> list[dict[str, Any]]:
    """What `catalog/pre` is, as another project's stack would have it, with the keys in another order."""
    compiled = yaml.safe_load(wb("compile", "catalog/pre").out)
    text = yaml.safe_dump_all([each["attributes"] for each in compiled])
    for old, new in (
        ("catalog-pre", "shop-old"),
        ("part-of: catalog", "part-of: shop"),
        ("stack: pre", "stack: old"),
        ("-pre\n", "-old\n"),
    ):
        text = text.replace(old, new)
    return [without_nulls(each) for each in yaml.safe_load_all(text)]


def write(root: Path, *bodies: dict[str, Any]) -> None:
    (root / "objects.yaml").write_text(yaml.safe_dump_all(bodies))


def named(bodies: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(each for each in bodies if each["kind"] == kind)


def test_what_models_say_is_a_few_lines_and_compiles_to_the_same(wb: Wb, sample: Path) -> None:
    bodies = objects(wb)
    write(sample, *bodies, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "1"}})
    ended = wb(*_YAML)
    assert ended.code == 0, ended.text
    assert "catalog_api: models.frontend.Server  says Deployment/catalog-api, ServiceAccount" in ended.out
    base = (sample / "shop/base/base.k").read_text()
    assert "search_indexer: frontend.Job {" in base and "configmap_other: plain.Object {" in base
    assert base.count("\n") < 60 and "kind" not in base.partition("configmap_other")[0]
    made = {each["id"]: each["attributes"] for each in yaml.safe_load(wb("compile", "shop/old").out)}
    for each in bodies:
        (found,) = [body for body in made.values() if (body["kind"], body["metadata"]["name"]) == (
            each["kind"], each["metadata"]["name"])]  # fmt: skip
        assert without_nulls(found) == each
    assert len(made) == len(bodies) + 1


_SETS = """
queue: frontend.Stateful {
    name = "queue"
    image = "registry.orchard.example/catalog/queue:3.1.0"
    ports = [frontend.Port {number = 5672, name = "amqp"}]
    config = {MODE = "cluster"}
    volumes.data = frontend.Volume {path = "/var/lib/queue", kind = "disk", size = "10Gi"}
    volumes.tmp = frontend.Volume {path = "/tmp"}
    ordered = False
}

nodeLogs: frontend.Agent {
    name = "node-logs"
    image = "registry.orchard.example/catalog/node-logs:1.0.0"
    reads.pods = "/var/log/pods"
    everywhere = True
    ready = frontend.Probe {path = "/ready"}
    ports = [frontend.Port {number = 2020}]
}
"""


def test_sets_with_disks_and_pods_on_all_nodes_are_said_by_their_models(wb: Wb, sample: Path) -> None:
    with (sample / "storefront/catalog/base/base.k").open("a") as file:
        file.write(_SETS)
    bodies = objects(wb)
    write(sample, *bodies)
    ended = wb(*_YAML)
    assert ended.code == 0 and "not by" not in ended.out, ended.text
    assert "queue: models.frontend.Stateful  says StatefulSet/queue" in ended.out
    assert "node_logs: models.frontend.Agent  says DaemonSet/node-logs" in ended.out
    made = [each["attributes"] for each in yaml.safe_load(wb("compile", "shop/old").out)]
    by_name = [
        {(each["kind"], each["metadata"]["name"]): without_nulls(each) for each in all_} for all_ in (made, bodies)
    ]
    assert by_name[0] == by_name[1] and len(made) == len(bodies)


def test_what_a_model_would_change_is_written_as_it_is_and_the_reason_is_said(wb: Wb, sample: Path) -> None:
    bodies = objects(wb)
    named(bodies, "Deployment")["spec"]["template"]["spec"]["hostNetwork"] = True
    bodies.remove(next(each for each in bodies if each["metadata"]["name"] == "search-indexer" and each["kind"] ==
                       "ServiceAccount"))  # fmt: skip
    write(sample, *bodies)
    ended = wb(*_YAML, "-o", "json")
    assert ended.code == 0, ended.text
    assert ended.json()["models"] == {} and ended.json()["notByModels"] == [
        {
            "component": "catalog_api: models.frontend.Server",
            "why": "Deployment/catalog-api would be another one: spec.template.spec.hostNetwork is not said",
        },
        {
            "component": "search_indexer: models.frontend.Job",
            "why": "it makes ServiceAccount/search-indexer too, which is not there",
        },
    ]
    assert "hostNetwork = True" in (sample / "shop/base/base.k").read_text()


def test_a_proposal_that_is_wrong_or_broken_is_no_obstacle(wb: Wb, sample: Path) -> None:
    write(sample, *objects(wb))
    intake = sample / "models/intake/intake.k"
    for text, why in (
        ("proposal = {", "models/intake/intake.k"),
        ("proposal = {components = [{variable = 'a b'}]}", "its `proposal` can't be understood"),
        ("other = 1", "its `proposal` can't be understood"),
        (intake.read_text().replace('before = ["models', 'before = ["../models'), "can't be understood"),
        (intake.read_text().replace('before = ["models/identity', 'before = ["models/nowhere'), "does not compile"),
    ):
        intake.write_text(text)
        ended = wb(*_YAML, "--dry-run")
        assert ended.code == 0 and "not by the models" in ended.out and why in ended.out, ended.text
    intake.unlink()
    assert "models" not in wb(*_YAML, "--dry-run").out


SECRET = "canary-of-the-import"


def with_secret(bodies: list[dict[str, Any]], *, data: str = "") -> list[dict[str, Any]]:
    """The same, and the server of it has a secret: pods carry a digest that nobody makes of a reference."""
    deployment = named(bodies, "Deployment")
    name, template = deployment["metadata"]["name"], deployment["spec"]["template"]
    metadata = {**deployment["metadata"], "name": f"{name}-secrets"}
    encoded = data or base64.b64encode(SECRET.encode()).decode()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"API_KEY": encoded}}
    template["metadata"].setdefault("annotations", {})["orchard.example/settings"] = "digest-of-it"
    (container, *_) = template["spec"]["containers"]
    container.setdefault("envFrom", []).append({"secretRef": {"name": f"{name}-secrets"}})
    return [*bodies, secret]


def test_a_component_has_its_secrets_by_reference(wb: Wb, sample: Path) -> None:
    bodies = with_secret(objects(wb))
    write(sample, *bodies)
    ended = wb(*_YAML)
    assert ended.code == 0 and "Secret/catalog-api-secrets" in ended.out, ended.text
    assert "WB_SECRET_SHOP_OLD_CATALOG_API_SECRETS_API_KEY" in ended.text
    base = (sample / "shop/base/base.k").read_text()
    assert 'API_KEY = "ref://env/SHOP_OLD_CATALOG_API_SECRETS_API_KEY"' in base and "plain.Object" not in base
    assert 'revision = "digest-of-it"' in base
    made = {each["attributes"]["kind"]: each["attributes"] for each in yaml.safe_load(wb("compile", "shop/old").out)}
    assert made["Deployment"] == named(bodies, "Deployment")
    assert base64.b64decode(made["Secret"]["data"]["API_KEY"]).startswith(b"ref://env/")
    written = "".join(each.read_text() for each in (sample / "shop").rglob("*") if each.is_file())
    assert SECRET not in ended.text + written and base64.b64encode(SECRET.encode()).decode() not in written


def test_a_secret_that_is_no_text_is_no_component_s(wb: Wb, sample: Path) -> None:
    write(sample, *with_secret(objects(wb), data="//79/A=="))
    ended = wb(*_YAML, "-o", "json")
    assert ended.code == 0, ended.text
    assert [each["component"] for each in ended.json()["notByModels"]] == ["catalog_api: models.frontend.Server"]
    assert "//79/A==" not in ended.text


@pytest.mark.slow
async def test_a_namespace_that_models_say_has_an_empty_first_plan(
    wb: Wb, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (sample / "storefront/catalog/base/base.k").open("a") as file:
        file.write(_SETS[_SETS.index("nodeLogs") :])
    async with Sandbox(clusters=1, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        applied_by_kubectl(sandbox.clusters[0], with_secret(await asyncio.to_thread(objects, wb)))
        live = ("import", "live", "--cluster", "hangzhou", *_YAML[3:])
        ended = await wb.meanwhile(*live, "--dry-run")
        assert "it makes Namespace/shop-old too, which is not there here: --with-namespace takes it in" in ended.out
        ended = await wb.meanwhile(*live, "--with-namespace")
        assert ended.code == 0, ended.text
        assert "catalog_api: models.frontend.Server  says Deployment/catalog-api" in ended.out, ended.text
        assert "node_logs: models.frontend.Agent  says DaemonSet/node-logs" in ended.out, ended.text
        assert "search_indexer: models.frontend.Job  says CronJob/search-indexer" in ended.out, ended.text
        assert "the first plan of shop/old changes no field" in ended.out, ended.text
        assert "Secret/catalog-api-secrets" in ended.out and SECRET not in ended.text
