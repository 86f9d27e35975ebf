"""The part of the demo that has Terraform resources: databases and what runs on them, in one plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from runtimes.sandbox.provider import Cloud
    from workbench.cli.output import Output
    from workbench.cli.practice import Practice
    from workbench.engine.plan import Plan
    from workbench.session import Session

_BUCKET = "invoices-dev"


async def show(
    session: Session,
    place: Practice,
    output: Output,
    step: Callable[[Output, str, str], None],
    apply: Callable[[Session, Plan, Output], Awaitable[bool]],
) -> int:
    """Prints the steps; returns the exit code.

    `step` prints a heading; `apply` does a plan and tells if it went well.
    """
    from runtimes.sandbox.provider import Cloud, by_hand
    from workbench.cli import practice
    from workbench.cli.diff_command import print_diff

    stack, world = session.select(practice.RENTING), Cloud(place.world)
    step(output, "databases from Terraform and what runs on them, in one plan", f"wb apply {stack.name}")
    if not await apply(session, await session.plan(stack), output):
        return ExitCode.PARTIAL
    await anyio.to_thread.run_sync(_met, place, world, output)

    by_hand.edit(world, "sandbox_bucket", _BUCKET, {"versioning": False})
    step(
        output,
        "drift: somebody changed the cloud by hand",
        f"wb sandbox world set bucket {_BUCKET} versioning=false; wb diff {stack.name}",
    )
    print_diff(output, await session.diff(stack), session.root, "table")
    if not await apply(session, await session.plan(stack), output):
        return ExitCode.PARTIAL

    step(output, "all of it taken away again", f"wb destroy {stack.name}")
    if not await apply(session, await session.plan_destroy(stack), output):
        return ExitCode.PARTIAL
    left = [id_ for objects in world.content().objects.values() for id_ in objects]
    if left:
        output.line(Span(f"still in the cloud: {', '.join(left)}", Tone.BAD))
        return ExitCode.ERROR
    output.line("  nothing is left in the cloud")
    return ExitCode.OK


def _met(place: Practice, world: Cloud, output: Output) -> None:
    """Shows that each side has what the other one gave."""
    from runtimes.sandbox import visitor

    deployment = visitor.deployment(Path(place.settings.kubeconfig), "sandbox-1", "orders-dev", "orders-api")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    host = next(each["value"] for each in container["env"] if each["name"] == "DATABASE_HOST")
    output.line("  Deployment/orders-api reads ", Span(f"DATABASE_HOST={host}", Tone.STRONG), ", which the cloud gave")
    for record in world.objects("sandbox_dns_record").values():
        if record["type"] == "A":
            address = Span(" ".join(record["values"]), Tone.STRONG)
            output.line(f"  the DNS record {record['fqdn']} has ", address, ", which the cluster gave its Ingress")
