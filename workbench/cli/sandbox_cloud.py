"""`wb sandbox provider` and `wb sandbox world`: the Terraform provider to practise with, and what is in its cloud."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from workbench.cli.stacks import WorkPath, format_option
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    from runtimes.sandbox.provider import Cloud
    from workbench.cli.context import Context

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group("provider")
def provider() -> None:
    """Install a Terraform provider whose cloud is a file."""


@provider.command("install")
@click.option("--folder", type=WorkPath(), default=None, help="install into this folder; default: beside the releases")
@click.pass_obj
def install(context: Context, folder: Path | None) -> None:
    """Install the provider for practice, and print what to set so that terraform takes it from there."""
    from runtimes.sandbox.provider import CLOUD_VARIABLE
    from runtimes.sandbox.provider.mirror import install as install_into

    mirror = (folder or context.settings.state_dir / "practice-provider").absolute()
    install_into(mirror)
    world = os.environ.get(CLOUD_VARIABLE) or str(mirror / "world.json")
    context.output.data(f"export WB_TERRAFORM_MIRROR={shlex.quote(str(mirror))}")
    context.output.data(f"export {CLOUD_VARIABLE}={shlex.quote(world)}")


@click.group("world")
def world() -> None:
    """Look at the cloud of the practice provider, and change it as somebody else would."""


def _world_option(function: Command) -> Command:
    return click.option(
        "--world", "file", type=WorkPath(), default=None, help="read this file; default: KONFIG_PRACTICE_WORLD"
    )(function)


@world.command("ls")
@_world_option
@format_option("table", "json")
@click.pass_obj
def list_(context: Context, file: Path | None, format_: str) -> None:
    """List what is in the cloud."""
    from workbench.present.rows import Column, Row
    from workbench.present.text import line

    with _said():
        objects = _opened(file).content().objects
    found = [(type_, id_, kept) for type_, every in sorted(objects.items()) for id_, kept in sorted(every.items())]
    if format_ == "json":
        items = [{"type": type_, "id": id_, "attributes": _shown(kept)} for type_, id_, kept in found]
        context.output.json({"apiVersion": "wb/v1", "kind": "World", "status": "ok", "objects": items})
        return
    columns = (Column("Type"), Column("Id"), Column("Attributes"))
    context.output.table(columns, [Row((t, i), (line(t), line(i), line(_text(kept)))) for t, i, kept in found])


@world.command("set")
@click.argument("type_", metavar="TYPE")
@click.argument("id_", metavar="ID")
@click.argument("values", metavar="ATTRIBUTE=VALUE...", nargs=-1, required=True)
@_world_option
@click.pass_obj
def set_(context: Context, type_: str, id_: str, values: tuple[str, ...], file: Path | None) -> None:
    """Change attributes behind terraform's back. Lists and maps are written as JSON."""
    from runtimes.sandbox.provider import by_hand

    given = dict(_pair(each) for each in values)
    with _said():
        by_hand.edit(_opened(file), _full(type_), id_, given)
    context.output.talk(f"{_full(type_)} {id_}: changed {', '.join(given)}")


@world.command("rm")
@click.argument("type_", metavar="TYPE")
@click.argument("id_", metavar="ID")
@_world_option
@click.pass_obj
def remove(context: Context, type_: str, id_: str, file: Path | None) -> None:
    """Delete something behind terraform's back."""
    from runtimes.sandbox.provider import by_hand

    with _said():
        by_hand.remove(_opened(file), _full(type_), id_)
    context.output.talk(f"{_full(type_)} {id_}: deleted")


def _opened(file: Path | None) -> Cloud:
    from runtimes.sandbox.provider import CLOUD_VARIABLE, Cloud

    path = file or (Path(os.environ[CLOUD_VARIABLE]) if os.environ.get(CLOUD_VARIABLE) else None)
    if path is None:
        raise click.UsageError(f"which world? Say --world FILE, or set {CLOUD_VARIABLE}.")
    if not path.is_file():
        raise WorkbenchError("there is no world yet", where=str(path), hint="terraform makes it when it applies")
    return Cloud(path)


@contextmanager
def _said() -> Iterator[None]:
    """What the world refuses is said as everything else is."""
    from runtimes.sandbox.provider import CloudBroken
    from runtimes.sandbox.provider.kinds import Refused

    try:
        yield
    except Refused as error:
        raise WorkbenchError(error.summary, hint=error.detail) from error
    except CloudBroken as error:
        raise WorkbenchError(str(error), hint="mend the file, or delete it to begin again") from error


def _full(type_: str) -> str:
    return type_ if type_.startswith("sandbox_") else f"sandbox_{type_}"


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        # the value may be a secret: it is not shown
        raise click.BadParameter("is not of the form ATTRIBUTE=VALUE", param_hint="ATTRIBUTE=VALUE...")
    return name, value


def _shown(kept: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a password tells nothing to people."""
    return {name: "(hidden)" if name == "password" else value for name, value in kept.items()}


def _text(kept: dict[str, Any]) -> str:
    shown = {name: value for name, value in _shown(kept).items() if value is not None and name != "name"}
    return " ".join(f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in shown.items())
