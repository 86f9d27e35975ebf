"""A workload that cannot start is explained, mended by a what-if edit, and becomes ready."""

from __future__ import annotations

from tests.scenarios.conftest import HANGZHOU, SHANGHAI, Practice, release, settle
from workbench.engine.status import Verdict

IMAGE = "registry.orchard.example/payments/webhooks:1.5.0"


async def test_explained_mended_ready(practice: Practice) -> None:
    for faults in practice.sandbox.faults:
        faults.fail_image(IMAGE, "missing")
    session = practice.session()
    stack = session.select("gateway/prod")
    await release(session, stack)
    assert (await settle(session, stack)).verdict is Verdict.READY
    practice.edit("payments/gateway/base/base.k", "webhooks:1.4.3", "webhooks:1.5.0")
    await release(session, stack)

    tree = await settle(session, stack)
    assert tree.verdict is Verdict.FAILED
    why = tree.why
    assert why is not None and why.blocking is not None
    assert (why.blocking.ref.kind, why.address.id.name) == ("Pod", "webhooks")
    assert why.blocking.reason in ("ErrImagePull", "ImagePullBackOff")
    assert IMAGE in why.blocking.message + why.blocking.evidence

    compiled = await session.compile(stack)
    path = ("spec", "template", "spec", "containers", 0, "image")
    site = compiled.spec.chain(why.address.id, path)[0]
    assert site.relative_to(practice.root) == practice.place("payments/gateway/base/base.k", "webhooks:1.5.0")
    edited = session.whatif(stack).set_value(site, IMAGE.replace("1.5.0", "1.5.1"))
    await release(session, stack, edited.inputs)
    assert (await settle(session, stack, edited.inputs)).verdict is Verdict.READY
    for cluster in (HANGZHOU, SHANGHAI):
        live = practice.live(cluster, "deployments.apps", "gateway-prod", "webhooks")
        assert live["spec"]["template"]["spec"]["containers"][0]["image"].endswith("1.5.1")
    assert "webhooks:1.5.0" in (practice.root / "payments/gateway/base/base.k").read_text(), "never in the files"
