"""Where the fields of Konfig of July 2023 come from: the lines its sources name, and that no field lacks one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kcl.api import KONFIG_2023, ParseCache, RunResult, Site, SiteKind, run
from tests.kcl.conformance import FOLDER, ROOT, corpus
from tests.workbench.cli.command import Wb

_KONFIG = FOLDER / "konfig-2023"
_STACKS = sorted(path.parent.relative_to(_KONFIG).as_posix() for path in _KONFIG.rglob("kcl.yaml")) or ["absent"]
_SAMPLE = sorted(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "sample-konfig").rglob("stack.yaml"))
_KUBE = "base/pkg/kusion_models/kube"


@pytest.fixture(scope="module")
def parsed() -> ParseCache:
    return ParseCache()


@pytest.fixture
def wb(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wb:
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("WB_ASCII", "1")
    return Wb(capsys)


@pytest.mark.parametrize(
    ("stack", "resource", "path", "value", "chain"),
    [
        pytest.param(
            "appops/wordpress/dev",
            "Deployment/wordpress-deployment",
            "spec.template.spec.containers[name=wordpress].image",
            "wordpress:4.8-apache",
            [
                "appops/wordpress/dev/main.k:11  (override)",
                f"{_KUBE}/frontend/server.k:111  (default)",
                f"{_KUBE}/backend/server_backend.k:64  (override)",
                f"{_KUBE}/utils/container_frontend2kube.k:130  (expression)",
            ],
            id="the image that a stack sets",
        ),
        pytest.param(
            "appops/clickhouse-operator/prod",
            "Deployment/clickhouse-operatorprod",
            "metadata.labels.app",
            "clickhouse-operator",
            [
                f"{_KUBE}/metadata/metadata.k:1  (option app from ci-test/settings.yaml)",
                f"{_KUBE}/metadata/metadata.k:1  (expression)",
                "appops/clickhouse-operator/base/base.k:21  (override)",
                f"{_KUBE}/utils/metadata_builder.k:7  (expression)",
            ],
            id="a label through the metadata builder",
        ),
        pytest.param(
            "appops/guestbook/dev",
            "Deployment/frontend",
            "spec.template.spec.containers[0].ports[0].protocol",
            "TCP",
            [
                f"{_KUBE}/frontend/container/port/container_port.k:27  (default)",
                f"{_KUBE}/utils/container_frontend2kube.k:63  (expression)",
            ],
            id="a port default",
        ),
        pytest.param(
            "appops/guestbook/dev",
            "Deployment/frontend",
            "spec.template.spec.containers[0].resources.limits.cpu",
            "100m",
            [
                "appops/guestbook/base/base.k:20  (override)",
                f"{_KUBE}/templates/resource.k:4  (override)",
                f"{_KUBE}/frontend/resource/resource.k:31  (default)",
                f"{_KUBE}/backend/server_backend.k:65  (override)",
                f"{_KUBE}/utils/str2resource_requirements.k:57  (override)",
            ],
            id="a resource limit from a template",
        ),
        pytest.param(
            "appops/guestbook/dev",
            "Service/frontend",
            'spec.selector["app.kubernetes.io/component"]',
            "frontend",
            [
                "appops/guestbook/base/base.k:8  (override)",
                f"{_KUBE}/backend/server_backend.k:47  (default)",
                f"{_KUBE}/backend/server_backend.k:81  (expression)",
                f"{_KUBE}/mixins/service_mixin.k:27  (override)",
                f"{_KUBE}/utils/application_builder.k:15  (default)",
            ],
            id="a rendered selector",
        ),
    ],
)
def test_explain_names_the_right_lines(
    wb: Wb, stack: str, resource: str, path: str, value: str, chain: list[str]
) -> None:
    root = corpus("konfig-2023")
    ended = wb("explain", root / stack, resource, path, "-Y", "ci-test/settings.yaml")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert (lines[0], lines[1].strip().strip("'")) == (path, value)
    assert [line.removeprefix("set by ").removeprefix("through").strip() for line in lines[2::2]] == chain
    assert lines[2].startswith("set by ")
    for place, quoted in zip(chain, lines[3::2], strict=True):
        file, number = re.split(r":(?=\d)", place.split("  ")[0])
        assert (root / file).read_text().splitlines()[int(number) - 1].strip() == quoted.strip()


@pytest.mark.parametrize("stack", _STACKS)
def test_every_field_of_konfig_knows_its_line(stack: str, parsed: ParseCache) -> None:
    folder = corpus("konfig-2023") / stack
    result = run(work_dir=folder, settings=["kcl.yaml", "ci-test/settings.yaml"], cache=parsed)
    assert result.dialect == KONFIG_2023
    assert _checked(result) > 0


@pytest.mark.parametrize("stack", _SAMPLE)
def test_every_field_of_the_sample_knows_its_line(stack: str, parsed: ParseCache) -> None:
    folder = ROOT / stack
    files = [str(path) for place in (folder.parent / "base", folder) for path in sorted(place.glob("*.k"))]
    options = {"project": f"sample/{folder.parent.name}", "stack": folder.name, "namespace_by": "stack"}
    assert _checked(run(files, work_dir=folder, options=options, cache=parsed)) > 0


def _checked(result: RunResult) -> int:
    """Counts the leaves of the output; each has a place, and a literal that decides it is this value."""
    count = 0
    for number, document in enumerate(result.documents):
        for path, value in _leaves(document):
            count += 1
            places = result.provenance.lookup(number, path)
            assert places, f"nothing is known of {path}"
            _agrees(places[0], value, result)
    return count


def _agrees(place: Site, value: Any, result: RunResult) -> None:
    text = result.sources[place.file]
    assert text[place.span.start : place.span.end].strip()
    if place.kind is SiteKind.LITERAL:
        assert place.literal is not None or isinstance(value, (list, dict)), place
    if place.kind is SiteKind.LITERAL and place.literal is not None:
        written = _evaluated(text[place.literal.start : place.literal.end])
        # A text that is put together leads to its first part.
        part = isinstance(written, str) and isinstance(value, str) and written in value
        assert part or written == value, (place, value)


@cache
def _evaluated(written: str) -> Any:
    (document,) = run(["x.k"], work_dir="/", texts={"x.k": f"x = {written}\n"}, dialect=KONFIG_2023).documents
    return document.get("x") if isinstance(document, dict) else document


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, (dict, list)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _leaves(item, (*path, key))
    else:
        yield path, value
