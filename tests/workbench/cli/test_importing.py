"""`wb import`: what exists becomes a stack whose first plan changes no field."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtimes.sandbox.server import Sandbox
from tests.scenarios.importing import applied_by_kubectl
from tests.workbench.cli.command import Ended, Wb
from workbench.session import importing

PASSWORD, URL, TOKEN = "cnry-db-7Kq9Zx", "postgres://app:cnry-url-3Fw8Qp@db/shop", "cnry-env-5Tz2Lm"
SECRETS = ("cnry-", "Y25yeS")
"""What every secret here begins with, in clear and in base64."""
VARIABLES = {"WB_SECRET_SHOP_PROD_DB_PASSWORD": PASSWORD, "WB_SECRET_SHOP_PROD_DEPLOYMENT_WEB_API_TOKEN": TOKEN}
OPTIONS = ("-D", f"shop_prod_configmap_settings_url={URL}", "-D", "shop_prod_secret_db_key=/////w==")


def thing(kind: str, name: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **more}


def pods(*env: Any) -> dict[str, Any]:
    containers = [{"name": "web", "image": "shop/web:1", "ports": [{"containerPort": 80}], "env": list(env)}]
    return {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
    }


SHOP = (
    thing("ConfigMap", "settings", data={"a": "1", "_b": "2", "url": URL, "c": "exec ${HOME} $workbench.x\n"}),
    thing("Secret", "db", data={"password": "Y25yeS1kYi03S3E5Wng=", "key": "/////w==", "none": ""}),
    thing("Deployment", "web", "apps/v1", spec=pods({"name": "API_TOKEN", "value": TOKEN})),
    thing("Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
)
LIVE = ("import", "live", "--cluster", "one", "--namespace", "shop", "--project", "shop", "--stack", "prod")


class Shop:
    """A folder without a repository, and a cluster with the shop in it."""

    def __init__(self, root: Path, sandbox: Sandbox, wb: Wb) -> None:
        self.root, self.sandbox, self.wb = root, sandbox, wb

    async def __call__(self, *arguments: str | Path) -> Ended:
        return await self.wb.meanwhile(*arguments)


@pytest.fixture
async def shop(tmp_path: Path, wb: Wb, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    root = tmp_path / "repo"
    root.mkdir()
    monkeypatch.chdir(root)
    async with Sandbox(
        names=("one",), clusters=1, tokens={"admin": "token-of-admin", "reader": "token-of-reader"}, seed=1
    ) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        yield Shop(root, sandbox, wb)


def files(root: Path) -> dict[str, str]:
    return {each.relative_to(root).as_posix(): each.read_text() for each in sorted(root.rglob("*")) if each.is_file()}


def leaks(said: str) -> list[str]:
    return [each for each in SECRETS if each in said]


@pytest.mark.parametrize("manager", ["kubectl", "kubectl-create"])
async def test_a_live_namespace_becomes_a_stack_that_changes_nothing(
    shop: Shop, manager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied_by_kubectl(shop.sandbox.clusters[0], SHOP, manager)
    ended = await shop(*LIVE)
    assert ended.code == 0, ended.text
    assert "the first plan of shop/prod changes no field" in ended.out
    assert "labels of the stack on 4 objects, and nothing else" in ended.out
    assert "left out: ConfigMap/kube-root-ca.crt  the server puts it into every namespace" in ended.out
    assert "made by Deployment/web" in ended.out and "Namespace/shop  --with-namespace" in ended.out
    assert leaks(ended.text) == [] and leaks("".join(files(shop.root).values())) == []
    assert all(each in ended.out for each in VARIABLES)

    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    before = shop.sandbox.clusters[0].get("deployments.apps", "shop", "web")
    planned = (await shop("plan", "shop/prod", *OPTIONS, "-o", "json")).json()
    steps = [each for each in planned["changes"] if each["action"] != "none"]
    assert [(each["action"], each["fields"]) for each in steps] == [("update", [])] * 4
    ended = await shop("apply", "shop/prod", *OPTIONS, "--confirm", "yes", "--no-watch")
    assert ended.code == 0, ended.text
    after = shop.sandbox.clusters[0].get("deployments.apps", "shop", "web")
    assert after["spec"] == before["spec"], "no pod restarts"
    ended = await shop("plan", "shop/prod", *OPTIONS, "--detailed-exitcode")
    assert ended.code == 0, ended.text


async def test_what_the_server_filled_in_is_not_written(shop: Shop) -> None:
    applied_by_kubectl(shop.sandbox.clusters[0], SHOP)
    assert (await shop(*LIVE, "-o", "json")).json()["firstPlan"]["empty"] is True
    text = files(shop.root)["shop/base/base.k"]
    for filled in ("clusterIP", "uid", "managedFields", "status", "terminationMessagePath", "dnsPolicy", "namespace ="):
        assert filled not in text, filled
    assert '_b = "2"' in text and "resources" not in text


async def test_nothing_is_overwritten(shop: Shop) -> None:
    applied_by_kubectl(shop.sandbox.clusters[0], SHOP)
    mine = shop.root / "shop" / "base" / "base.k"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine = 1\n")
    ended = await shop(*LIVE)
    assert ended.code == 1 and "shop/base/base.k: is there already, and nothing is overwritten" in ended.err
    assert files(shop.root) == {"shop/base/base.k": "mine = 1\n"}
    mine.unlink()
    assert (await shop(*LIVE)).code == 0
    kept = files(shop.root)
    ended = await shop(*LIVE)
    assert ended.code == 1 and "there is a stack shop/prod already" in ended.err
    assert files(shop.root) == kept


async def test_a_dry_run_writes_nothing_and_asks_for_no_plan(shop: Shop) -> None:
    applied_by_kubectl(shop.sandbox.clusters[0], SHOP)
    ended = await shop(*LIVE, "--dry-run")
    assert ended.code == 0 and "is new, not written" in ended.out and "first plan" not in ended.out
    assert files(shop.root) == {}


async def test_a_namespace_of_more_than_a_stack_can_say_is_refused_at_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied_by_kubectl(shop.sandbox.clusters[0], SHOP)
    monkeypatch.setattr(importing, "IMPORTED_A_MINUTE", 3)
    ended = await shop(*LIVE, "--deadline", "60")
    assert ended.code == 1 and "namespace shop holds more than 3 objects that no other owns (" in ended.err
    assert "kubectl get KIND -n shop" in ended.err and "--deadline" in ended.err
    assert files(shop.root) == {}
    assert (await shop(*LIVE, "--deadline", "600")).code == 0


async def test_a_namespace_that_is_not_there_is_no_empty_stack(shop: Shop) -> None:
    ended = await shop(*LIVE)
    assert ended.code == 1 and "there is no namespace 'shop'" in ended.err
    shop.sandbox.clusters[0].create(
        "namespaces", None, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    )
    ended = await shop(*LIVE)
    assert ended.code == 1 and "no object of which a stack could be made" in ended.err
    assert files(shop.root) == {}


async def test_a_cluster_that_does_not_answer_is_no_empty_namespace(shop: Shop) -> None:
    await shop.sandbox.close()
    ended = await shop(*LIVE)
    assert ended.code == 1 and "no object" not in ended.text, ended.text
    assert files(shop.root) == {}


async def test_what_another_stack_owns_is_left_to_it(shop: Shop) -> None:
    applied_by_kubectl(shop.sandbox.clusters[0], SHOP)
    labels = {"workbench.konfig.io/project": "till", "workbench.konfig.io/stack": "dev"}
    shop.sandbox.clusters[0].patch("services", "shop", "web", {"metadata": {"labels": labels}})
    ended = await shop(*LIVE)
    assert ended.code == 0, ended.text
    assert "left out: Service/web  its labels say that it belongs to the stack till/dev" in ended.out


async def test_a_second_stack_of_a_project_has_its_objects_for_itself(shop: Shop) -> None:
    applied_by_kubectl(shop.sandbox.clusters[0], SHOP)
    assert (await shop(*LIVE)).code == 0
    base = files(shop.root)["shop/base/base.k"]
    other = [{**each, "metadata": {**each["metadata"], "namespace": "shop-dev"}} for each in SHOP]
    applied_by_kubectl(shop.sandbox.clusters[0], other)
    ended = await shop(*LIVE[:4], "--namespace", "shop-dev", "--project", "shop", "--stack", "dev")
    assert ended.code == 0, ended.text
    now = files(shop.root)
    assert now["shop/base/base.k"] == base and "deployment_web: Object {" in now["shop/dev/main.k"]
    assert yaml.safe_load(now["clusters.yaml"])["placements"] == [
        {"stacks": ["shop/prod"], "clusters": ["one"]},
        {"stacks": ["shop/dev"], "clusters": ["one"]},
    ]


async def test_kinds_that_may_not_be_listed_leave_it_unknown(shop: Shop) -> None:
    cluster = shop.sandbox.clusters[0]
    applied_by_kubectl(cluster, SHOP)
    rules = [{"apiGroups": [""], "resources": ["configmaps", "services", "namespaces"], "verbs": ["get", "list"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "some"}}
    bound = {"apiVersion": role["apiVersion"], "kind": "ClusterRoleBinding", "metadata": {"name": "some"}}
    cluster.create("clusterroles.rbac.authorization.k8s.io", None, {**role, "rules": rules})
    subjects = [{"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}]
    refers = {"kind": "ClusterRole", "name": "some", "apiGroup": "rbac.authorization.k8s.io"}
    cluster.create(
        "clusterrolebindings.rbac.authorization.k8s.io", None, {**bound, "subjects": subjects, "roleRef": refers}
    )
    shop.sandbox.write_kubeconfig(shop.root.parent / "kubeconfig", "reader")
    ended = await shop(*LIVE, "--no-plan")
    assert ended.code == 3, ended.text
    (said,) = [
        each for each in ended.out.splitlines() if "not known, as they may not be listed or do not answer" in each
    ]
    assert "Secret" in said and "Deployment" in said and "ConfigMap" not in said
    assert "2 objects (1 ConfigMap, 1 Service)" in ended.out


# --- manifests


@pytest.fixture
def repo(root: Path) -> Iterator[Path]:
    yield root


def manifests(root: Path, *bodies: Any) -> Path:
    file = root.parent / "all.yaml"
    file.write_text(yaml.safe_dump_all(bodies))
    return file


INTO = ("--project", "taken", "--stack", "dev")


@pytest.mark.parametrize("kind", ["yaml", "helm", "kustomize"])
def test_manifests_become_a_stack_that_compiles_to_them(wb: Wb, repo: Path, kind: str) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [SHOP[2], SHOP[3]]}
    ended = wb("import", kind, manifests(repo, SHOP[0], SHOP[1], listed, None), *INTO, "--namespace", "shop")
    assert ended.code == 0, ended.text
    assert "→ wb plan taken/dev" in ended.err
    assert leaks(ended.text) == []
    assert [name for name, text in files(repo).items() if name.startswith("taken/") and leaks(text)] == []
    url = ("-D", f"taken_dev_configmap_settings_url={URL}", "-D", "taken_dev_secret_db_key=/////w==")
    made = {each["id"]: each["attributes"] for each in yaml.safe_load(wb("compile", "taken/dev", *url).out)}
    settings = made["v1:ConfigMap:settings"]["data"]
    assert settings == {**SHOP[0]["data"], "c": "exec ${HOME} $$workbench.x\n"}, "what would be a reference is escaped"
    assert made["v1:Secret:db"]["stringData"] == {"password": "ref://env/TAKEN_DEV_DB_PASSWORD"}
    assert made["v1:Service:web"]["spec"] == SHOP[3]["spec"]


def test_standard_input_is_read(wb: Wb, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(SHOP[3])))
    ended = wb("import", "kustomize", "-", *INTO, "-o", "json")
    assert ended.code == 0, ended.text
    assert ended.json()["objects"] == {"service_web": "v1:Service:shop:web"}


def test_hooks_of_a_chart_are_left_out(wb: Wb, repo: Path) -> None:
    hook = thing("Job", "migrate", "batch/v1")
    hook["metadata"]["annotations"] = {"helm.sh/hook": "pre-upgrade"}
    ended = wb("import", "helm", manifests(repo, hook, SHOP[3]), *INTO)
    assert ended.code == 0 and "left out: Job/migrate  a hook of the chart (pre-upgrade)" in ended.out


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "kind: {{ .Values.kind }}\n", "a.yaml:1"),
        ("a.yaml", "- 1\n", "a.yaml, document 1: is list, not an object of Kubernetes"),
        ("a.yaml", "kind: Service\n", "a.yaml, document 1: a Kubernetes resource needs apiVersion"),
        ("a.yaml", "# nothing\n", "no object of which a stack could be made"),
        ("a.yaml", yaml.safe_dump_all([SHOP[3], SHOP[3]]), "v1:Service:shop:web is said twice"),
        ("Chart.yaml", "name: shop\n", "helm template RELEASE"),
        ("kustomization.yaml", "resources: []\n", "kubectl kustomize"),
    ],
)
def test_what_cannot_be_taken_in_is_named_and_nothing_written(
    wb: Wb, repo: Path, name: str, text: str, said: str
) -> None:
    before = files(repo)
    folder = repo.parent / "given"
    folder.mkdir()
    (folder / name).write_text(text)
    ended = wb("import", "yaml", folder, *INTO)
    assert ended.code == 1 and said in ended.err, ended.text
    assert files(repo) == before


@pytest.mark.parametrize("folder", ["../out", "/etc/konfig", ".git/x", "link/x"])
def test_no_folder_outside_of_the_repository_is_written_to(wb: Wb, repo: Path, folder: str) -> None:
    (repo / ".git").mkdir()
    (repo.parent / "elsewhere").mkdir()
    (repo / "link").symlink_to(repo.parent / "elsewhere")
    ended = wb("import", "yaml", manifests(repo, SHOP[3]), *INTO, "--folder", folder)
    assert ended.code == 1, ended.text
    assert [*(repo.parent / "elsewhere").iterdir()] == [] and not (repo.parent / "out").exists()


@pytest.mark.parametrize("name", ["a/b", "..", "", "-x", "base"])
def test_names_that_are_none_for_folders_are_refused(wb: Wb, repo: Path, name: str) -> None:
    before = files(repo)
    ended = wb("import", "yaml", manifests(repo, SHOP[3]), "--project", "taken", f"--stack={name}")
    assert ended.code == 1 and "cannot be the name of a stack" in ended.err, ended.text
    assert files(repo) == before


def test_a_cluster_that_the_repository_does_not_have_is_refused(wb: Wb, repo: Path) -> None:
    ended = wb("import", "yaml", manifests(repo, SHOP[3]), *INTO, "--cluster", "nowhere")
    assert ended.code == 64 and "there is no cluster 'nowhere'" in ended.err
