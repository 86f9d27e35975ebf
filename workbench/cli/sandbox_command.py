"""`wb sandbox`"""

from __future__ import annotations

from pathlib import Path

import click

from workbench.cli.sandbox_cloud import provider, world
from workbench.cli.stacks import WorkPath
from workbench.exit_codes import ExitCode
from workbench.project import WorkbenchError


@click.group("sandbox")
def command() -> None:
    """Serve embedded clusters to practise on, and a cloud. They are simulated, and say so."""


command.add_command(provider)
command.add_command(world)


@command.command("start")
@click.option(
    "--kubeconfig", type=WorkPath(), required=True, help="write a kubeconfig with one context per cluster to this file"
)
@click.option(
    "--clusters", type=click.IntRange(1, 64), default=1, show_default=True, help="serve this many clusters side by side"
)
@click.option(
    "--token",
    "tokens",
    multiple=True,
    metavar="USER=TOKEN",
    help="accept only tokens: admin and alice may do all, viewer nothing",
)
@click.option("--no-controllers", is_flag=True, help="serve the API alone: nothing moves by itself")
@click.option(
    "--fail-image",
    "failing",
    multiple=True,
    metavar="GLOB=BEHAVIOUR",
    help="let containers of an image fail: missing, crash, oom, never, slow, ...",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="serve the first cluster on this port; 0 takes any free one",
)
@click.option(
    "--parent", type=int, default=0, hidden=True, help="end when this process ends, which has to be the parent"
)
@click.option("--seed", type=int, default=None, help="generate the same names and uids as any run with this seed")
@click.pass_context
def start(
    ctx: click.Context,
    kubeconfig: Path,
    clusters: int,
    tokens: tuple[str, ...],
    no_controllers: bool,
    failing: tuple[str, ...],
    port: int,
    seed: int | None,
    parent: int,
) -> None:
    """Serve clusters on loopback in the foreground until SIGINT or SIGTERM; print one READY line."""
    import anyio

    from runtimes.sandbox.server import serve

    given = dict(_pair(each, "--token", "USER=TOKEN") for each in tokens)
    faults = dict(_pair(each, "--fail-image", "GLOB=BEHAVIOUR") for each in failing)
    if faults and no_controllers:
        raise click.UsageError("--fail-image needs controllers: nothing runs without them")

    async def run() -> None:
        await serve(
            kubeconfig,
            clusters=clusters,
            tokens=given or None,
            controllers=not no_controllers,
            port=port,
            seed=seed,
            parent=parent,
            failing_images=faults,
        )

    try:
        anyio.run(run)
    except OSError as error:
        raise WorkbenchError(
            f"the sandbox can't start: {error.strerror or error}",
            where=str(kubeconfig),
            hint="choose another file or port",
        ) from error
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--fail-image") from error
    ctx.exit(ExitCode.OK)


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=") if option == "--fail-image" else text.partition("=")
    if not (equals and name and value):
        # the value may be a secret: only the option is named
        raise click.BadParameter(f"is not of the form {form}", param_hint=option)
    return name, value
