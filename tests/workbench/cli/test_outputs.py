"""`wb outputs`, and what `wb plan` says of outputs, on two sandbox clusters."""

from __future__ import annotations

import json

from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode

OUTPUTS = """\
name: dev
outputs:
  image: $kusion_path.apps/v1:Deployment:web-dev:front.spec.template.spec.containers[0].image
  token: $kusion_path.v1:Secret:web-dev:front.data.token
  later: $kusion_path.apps/v1:Deployment:web-dev:front.status.nothing
"""
READER = """\
import manifests

manifests.yaml_stream([
    {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "reader", namespace = "default"}, data = {
        image = 'runs $workbench.output["web/dev", "image"]'
        auth = '$workbench.output["web/dev", "token"]'
    }}
])
"""


async def test_outputs_are_shown_and_read_and_told_where_they_are_not_known(place: Place) -> None:
    (place.root / "web/dev/stack.yaml").write_text(OUTPUTS)
    nothing = await place("outputs", "web/dev")
    assert nothing.code == ExitCode.ERROR and "web/dev has no release" in nothing.out
    assert "wb apply web/dev" in nothing.out
    await place.released()
    found = await place("outputs", "web/dev")
    assert found.code == ExitCode.ERROR, "one is not known"
    assert "front.status.nothing has no value yet in hz" in found.out
    assert "spec.template.spec.containers[0].image of apps/v1:Deployment:web-dev:front@hz" in found.out
    assert "«masked#" in found.out
    (place.root / "web/dev/stack.yaml").write_text(OUTPUTS[: OUTPUTS.index("  later")])
    document = json.loads((ended := await place("outputs", "web/dev", "-o", "json")).out)
    assert ended.code == ExitCode.OK and document["status"] == "ok"
    image, token = document["outputs"]
    assert (image["release"], image["secret"], token["secret"]) == (1, False, True)
    (place.root / "reader/dev").mkdir(parents=True)
    (place.root / "reader/project.yaml").write_text("name: reader\n")
    (place.root / "reader/dev/stack.yaml").write_text("name: dev\n")
    (place.root / "reader/dev/main.k").write_text(READER)
    explained = await place("explain", "reader/dev", "ConfigMap/reader", "data.image")
    assert f"output image of web/dev is declared at {place.root}/web/dev/stack.yaml:3:3" in explained.out
    place.edit("reader/dev/main.k", '"token"', '"tokens"')
    warned = await place("compile", "reader/dev")
    assert warned.code == ExitCode.OK and "web/dev declares no such output" in warned.err
    place.edit("reader/dev/main.k", '"tokens"', '"token"')
    planned = await place("plan", "reader/dev")
    assert planned.code == ExitCode.OK, planned.text
    said = f"output image of web/dev is {image['value']}, from spec.template.spec.containers[0].image of apps/v1:"
    assert said in planned.out
    assert "comes after web/dev" in planned.out
    applied = await place("apply", "reader/dev", "--yes", "--no-watch")
    assert applied.code == ExitCode.OK, applied.text
    live = place.live("configmaps", "default", "reader")["data"]
    assert live["image"] == f"runs {image['value']}"
    secret = place.live("secrets", "web-dev", "front")["data"]["token"]
    assert live["auth"] == secret
    for each in (nothing, found, planned, applied, ended):
        assert secret not in each.text
    assert (await place("diff", "reader/dev")).code == ExitCode.OK
