"""masking.yaml adds secrets; whoever writes the branch cannot use it to show one, to hang, or to hide a change."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.attacks.conftest import Hostile
from tests.workbench.cli.command import Ended, Wb

_ENV = [
    {"name": "VOUCHER", "value": "qzbdx-vouch"},
    {"name": "MODE", "value": "fast"},
    {"name": "DB_PASSWORD", "value": "qzbex"},
]
_POD = {"containers": [{"name": "web", "image": "web:1", "env": _ENV}]}
_DATA = {
    "licence": "qzbbx",
    "url": "postgres://app:qzbcx@db/o",
    "live": "key acme_live_77xy, ok",
    "copy": "x qzbdx-vouch y",
    "plain": "shown",
}


def _object(version: str, kind: str, name: str, **content: object) -> dict[str, object]:
    metadata = {"name": name, "namespace": "shop", "annotations": {"example.com/code": "qzbax"}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


_OBJECTS = [
    _object("v1", "Secret", "s", stringData={"password": "cnry-Secret/77x"}),
    _object("v1", "ConfigMap", "web", data=_DATA),
    _object("apps/v1", "Deployment", "web", spec={"template": {"spec": _POD}}),
]
MAIN = f"import manifests\nmanifests.yaml_stream({json.dumps(_OBJECTS, indent=1)})\n"
ALWAYS = ("cnry-Secret/77x", "qzbcx", "qzbex")
ADDED = ("qzbax", "qzbbx", "acme_live_77xy", "qzbdx")
ADDING = {
    "names": ["voucher"],
    "paths": ["ConfigMap data.licence", "* metadata.annotations['example.com/code']"],
    "patterns": ["acme_live_*"],
}


Run = Callable[..., Ended]


@pytest.fixture
def shown(hostile: Hostile, wb: Wb, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command whose output is taken for a terminal's."""
    hostile.write("web/dev/main.k", MAIN)

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        return wb(*arguments)

    return run


def test_without_it_only_what_tells_itself_is_masked(shown: Run) -> None:
    said = shown("compile", "web/dev").text
    assert [each for each in ALWAYS if each in said] == [] and all(each in said for each in ADDED)


def test_what_it_adds_is_masked_wherever_it_is(hostile: Hostile, shown: Run) -> None:
    hostile.write("masking.yaml", json.dumps(ADDING))
    for arguments in (("compile", "web/dev"), ("compile", "-o", "json", "web/dev")):
        said = shown(*arguments).text
        assert [each for each in (*ALWAYS, *ADDED) if each in said] == []
        assert "shown" in said and "fast" in said
    for kind, path in (("ConfigMap/web", "data"), ("Deployment/web", "."), ("ConfigMap/web", "metadata.annotations")):
        said = shown("explain", "web/dev", kind, path).text
        assert [each for each in (*ALWAYS, *ADDED) if each in said] == [], said


def test_it_is_masked_before_a_cluster_is_asked_and_in_what_is_kept(
    hostile: Hostile, wb: Wb, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept = tmp_path_factory.mktemp("kcl")
    monkeypatch.setenv("KCL_RUN_CACHE", str(kept))
    hostile.write("web/dev/main.k", MAIN.replace("password", "door").replace('kind = "Secret"', 'kind = "Thing"'))
    hostile.write("masking.yaml", json.dumps(ADDING))
    for _ in range(2):
        assert wb("compile", "web/dev").code == 0
    files = [each for each in kept.rglob("*") if each.is_file()]
    leaking = [each.name for each in files for secret in ADDED if secret.encode() in each.read_bytes()]
    assert leaking == []


@pytest.mark.parametrize(
    "content",
    [
        *({"unmask": ["password"]}, {"names": "voucher"}, {"names": [1]}, {"names": ["*"]}, {"names": ["*?*"]}),
        *({"patterns": ["*"]}, {"patterns": ["?*a*"]}, {"patterns": ["[a-z]*[0-9]*"]}, {"names": [""]}),
        *({"paths": ["ConfigMap"]}, {"paths": ["ConfigMap data..x"]}, {"paths": ["ConfigMap data[x"]}),
        *({"names": ["ab"] * 500}, {"names": {"a": 1}}, ["voucher"], "voucher", {"paths": [["a"]]}),
    ],
    ids=lambda each: json.dumps(each)[:40],
)
def test_where_it_cannot_be_understood_nothing_is_shown(hostile: Hostile, shown: Run, content: object) -> None:
    hostile.write("masking.yaml", json.dumps(content))
    for arguments in (("compile", "web/dev"), ("explain", "web/dev", "ConfigMap/web", ".")):
        ended = shown(*arguments)
        assert ended.code != 0 and "masking.yaml" in ended.text
        assert [each for each in (*ALWAYS, *ADDED) if each in ended.text] == []
    assert "masking.yaml" in shown("ls").text


def test_a_file_that_is_no_yaml_or_leads_out_shows_nothing(hostile: Hostile, shown: Run) -> None:
    def refused(ended: Ended) -> bool:
        return ended.code != 0 and not any(each in ended.text for each in (*ALWAYS, *ADDED))

    hostile.write("masking.yaml", "names: [")
    assert refused(shown("compile", "web/dev"))
    hostile.link("masking.yaml", hostile.outside / "notes.txt")
    ended = shown("compile", "web/dev")
    assert refused(ended) and "canary-of-a-foreign-file" not in ended.text


def test_patterns_take_no_time(hostile: Hostile, shown: Run) -> None:
    """A glob with many stars, and a text that nearly matches it."""
    hostile.write(
        "masking.yaml", json.dumps({"patterns": ["aaaa" + "*a" * 60 + "b"], "names": ["aa" + "*a" * 60 + "b"]})
    )
    hostile.write("web/dev/main.k", MAIN.replace("shown", "a" * 4000 + " shown").replace("MODE", "A" * 200))
    assert "shown" in shown("compile", "web/dev").text
