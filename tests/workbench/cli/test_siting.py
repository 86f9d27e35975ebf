"""`wb new site`, and `--site`: the sample's applications at a second place, on a sandbox cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.sandbox.server import Sandbox
from tests.workbench.cli.command import Wb
from workbench.exit_codes import ExitCode

_SITE = """\
import models.platform
import models.sizes

site: platform.Site {
    name = "wuhan"
    clusters = ["shanghai"]
    protected = False
    applications = {
        ledger = platform.Application {like = "ledger/pre", quota = platform.Quota {cpu = "20", memory = "40Gi"}}
        catalog = platform.Application {
            like = "catalog/pre"
            after = ["ledger"]
            components.api = {replicas = 2, size = sizes.tiny}
        }
    }
}
"""


@pytest.fixture
def sample(sample_konfig: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = sample_konfig
    (root / "sites").mkdir()
    (root / "sites/wuhan.k").write_text(_SITE)
    monkeypatch.chdir(root)
    return root


@pytest.mark.slow
async def test_a_site_from_its_declaration_and_away_again(
    wb: Wb, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Sandbox(clusters=2, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        ended = await wb.meanwhile("plan", "--site", "wuhan")
        assert ended.code == ExitCode.ERROR and "wb new site wuhan writes what it takes" in ended.err, ended.text
        ended = await wb.meanwhile("new", "site", "wuhan", "--dry-run")
        assert "storefront/catalog/wuhan-prod/site.k  is new" in ended.out and "nothing was written" in ended.err
        assert not (sample / "storefront/catalog/wuhan-prod").exists()
        ended = await wb.meanwhile("new", "site", "wuhan")
        assert ended.code == 0 and "clusters.yaml  is written again" in ended.out, ended.text
        assert "→ wb plan --site wuhan" in ended.err
        ended = await wb.meanwhile("plan", "--site", "wuhan")
        assert ended.code == 0 and "catalog/wuhan-prod" in ended.out.partition("stage 2")[2], ended.text
        ended = await wb.meanwhile("apply", "--site", "wuhan", "--confirm", "yes")
        assert ended.code == ExitCode.OK and "2 ready, 0 halted, 0 left" in ended.out, ended.text
        here, there = sandbox.clusters[1], sandbox.clusters[0]
        assert here.get("resourcequotas", "ledger-wuhan-prod", "quota")["spec"]["hard"]["requests.cpu"] == "20"
        assert here.get("deployments.apps", "catalog-wuhan-prod", "catalog-api")["spec"]["replicas"] == 2
        assert "set by  storefront/catalog/wuhan-prod/site.k" in (
            text := (await wb.meanwhile("explain", "catalog/wuhan-prod", "Deployment/catalog-api", "spec.replicas")).out
        )
        assert "through sites/wuhan.k:13" in text
        assert (await wb.meanwhile("plan", "--site", "wuhan", "--detailed-exitcode")).code == ExitCode.OK
        ended = await wb.meanwhile("destroy", "--site", "wuhan", "--yes")
        assert ended.code == ExitCode.REFUSED and "Nothing was destroyed" in ended.err, ended.text
        phrase = next(line.split(": ", 1)[1] for line in ended.out.splitlines() if line.startswith("to confirm: "))
        ended = await wb.meanwhile("destroy", "--site", "wuhan", "--confirm", phrase)
        assert ended.code == ExitCode.OK, ended.text
        assert "git rm -r sites/wuhan.k payments/ledger/wuhan-prod storefront/catalog/wuhan-prod" in ended.err
        assert not any("wuhan" in each["metadata"]["name"] for each in here.list("namespaces").items)
        assert not there.list("deployments.apps").items


def test_what_names_no_site_is_a_usage_error_or_says_which_there_are(wb: Wb, sample: Path) -> None:
    ended = wb("plan", "checkout/dev", "--site", "wuhan")
    assert ended.code == ExitCode.USAGE and "--site says which stacks are meant" in ended.err
    ended = wb("new", "site", "wuhn")
    assert ended.code == ExitCode.ERROR and "declared are: wuhan" in ended.err
    ended = wb("destroy", "--site", "wuhan")
    assert ended.code == ExitCode.ERROR and "no stack was written for the site 'wuhan'" in ended.err
