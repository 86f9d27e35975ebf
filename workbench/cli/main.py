"""`wb`: without a verb the terminal face, with one the same engine for scripts and CI.

Commands are imported when they are called, so that `wb --version` and completion stay quick. Everything that ends a
command badly passes through `_ended`: one message, what to do, one of the exit codes of exit_codes.py.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from workbench.cli.context import Context, installed_version
from workbench.cli.output import Output
from workbench.cli.signals import ending_like_interrupt
from workbench.cli.stacks import LIMITS, limits_options
from workbench.exit_codes import ExitCode

_COMMANDS = {
    "ls": "list projects, stacks and components",
    "fleet": "show what is wrong right now, over all stacks: health, sync, drift, last release, and why",
    "compile": "print a stack's Spec as one YAML list",
    "diff": "show what an apply would change live, with the source line behind every field",
    "impact": "show which stacks, resources and fields a change of files affects",
    "ci": "write the impact of a change for a pull request: a summary and annotations",
    "drift": "show what others changed or deleted live, over many stacks; revert it or adopt it",
    "policy": "show which stacks violate the policies of the repository",
    "plan": "show what would be done, in which order, bound to what is live now",
    "apply": "apply the configuration, and watch it become ready",
    "rollout": "roll a change out in stages and batches, and halt where it is not healthy",
    "rollback": "return a stack to an earlier release, by a plan of its own",
    "destroy": "delete everything that a stack has",
    "watch": "watch a stack until it is ready, or say why it is not",
    "explain": "show which lines set a field of a resource",
    "config": "show what stacks are configured with, over sites, tenants and environments",
    "outputs": "show what a stack gives to others, as it is now",
    "new": "create a project, stack or component as a copy of an existing one",
    "import": "write KCL for existing objects, live or in manifests, so that the first plan is empty",
    "update": "update images to newer tags, by the policies of the repository",
    "set": "set fields of a resource at the lines that decide them, and prove it",
    "migrate": "bring KCL of 2023 to today's language, and prove that no stack changes",
    "run": "recover failing hosts, as a program such as AppRecovery.k declares it",
    "audit": "list what was written to clusters: by whom, from where, and how it ended",
    "release": "list, show and compare the releases of stacks, and what blocks the next one",
    "state": "show the state of Terraform resources, move it to another backend, unlock it",
    "trust": "decide what a repository may use on this machine",
    "lsp": "serve an editor: what lines do in which stacks",
    "plugins": "list and trust the Python functions that the KCL of the repository may call",
    "serve": "serve programs: the verbs and the official KCL service, as JSON-RPC",
    "keys": "list what every key of the screens does, or show what the terminal sends for one",
    "cache": "inspect and clear the cache of the KCL compiler",
    "sandbox": "serve embedded clusters to practise on",
    "demo": "show the main job on two sandbox clusters, no cluster needed",
}


# what other tools call it, where the nearest word would lead elsewhere
_CALLED_OTHERWISE = {
    "status": "watch",
    "health": "watch",
    "wait": "watch",
    "history": "release list",
    "rollouts": "rollout list",
    "undo": "rollback",
    "delete": "destroy",
    "down": "destroy",
    "deploy": "apply",
    "sync": "apply",
    "up": "apply",
    "preview": "plan",
    "build": "compile",
    "render": "compile",
    "template": "compile",
    "list": "ls",
    "get": "ls",
}

_SETTINGS = {"help_option_names": ["-h", "--help"]}


def _explain_with_h(command: click.Command) -> None:
    """Lets a command and those below it answer to `-h`, however they are called."""
    command.context_settings = {**command.context_settings, **_SETTINGS}
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _explain_with_h(each)


class Verbs(click.Group):
    """A group whose commands are modules of this package, loaded on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"workbench.cli.{cmd_name}_command")
        command: click.Command = module.command
        _explain_with_h(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            called = _CALLED_OTHERWISE.get(args[0])
            near = [called] if called else get_close_matches(args[0], _COMMANDS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "`wb --help` lists the commands."
            raise click.UsageError(f"{error.message} {hint}", ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            from workbench.cli.report import SystemFailed

            raise SystemFailed(error) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise click.UsageError("the folder you stand in is gone. Go to another, or use --workdir.") from None


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        Output().data(f"wb {installed_version()}")
        ctx.exit(0)


@click.group(cls=Verbs, invoke_without_command=True, context_settings=_SETTINGS)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="print the version"
)
@click.option("-w", "--workdir", type=click.Path(path_type=Path), default=None, help="work in this folder")
@click.option(
    "--kubeconfig", type=click.Path(), default=None, help="read this kubeconfig; default: KUBECONFIG, or ~/.kube/config"
)
@click.option(
    "--untrusted/--trusted",
    "is_untrusted",
    default=None,
    help="treat the repository as data only; default: by rule, shown by `wb trust list`",
)
@click.option(
    "--allow-writes", multiple=True, metavar="GLOB", help="write to stacks that the repository makes read-only"
)
@click.option("--no-style", is_flag=True, help="print without colour")
@click.option("--ascii", "is_ascii", is_flag=True, help="show nothing outside of ASCII on the screens")
@click.option("--no-mouse", is_flag=True, help="leave the mouse to the terminal")
@limits_options
@click.pass_context
def wb(
    ctx: click.Context,
    workdir: Path | None,
    kubeconfig: str | None,
    is_untrusted: bool | None,
    allow_writes: tuple[str, ...],
    no_style: bool,
    is_ascii: bool,
    no_mouse: bool,
) -> None:
    """Konfig Workbench: browse, compile, diff, apply and watch the applications of a Konfig repository.

    Without a command it opens the terminal interface. STACK is project/stack or a stack's folder; nothing means the
    one you stand in.
    """
    output = ctx.obj if isinstance(ctx.obj, Output) else Output(style=not no_style)
    here = workdir if workdir and workdir.is_absolute() else _here() / (workdir or "")
    limits = ctx.meta.setdefault(LIMITS, {})
    ctx.obj = Context(here, kubeconfig, output, is_untrusted, writable=allow_writes, style=not no_style, limits=limits)
    ctx.obj.is_ascii, ctx.obj.has_mouse = is_ascii, not no_mouse
    if ctx.invoked_subcommand is None:
        from workbench.cli.screen import open_screen

        ctx.exit(open_screen(ctx.obj))


_COLLECTING: Final = 50_000, 20, 20
"""Imports and objects of clusters are made to stay: by default cycles are looked for among them some hundred times."""
_COMPARING: Final = frozenset({"diff", "plan"})
_SELDOM_COLLECTING: Final = 2_000_000, 20, 20
"""For processes that compare, print and end: nearly all that they make is kept until then."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point; always ends in SystemExit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    ends_soon = arguments is None and next((each for each in given if each in _COMMANDS), "") in _COMPARING
    gc.set_threshold(*(_SELDOM_COLLECTING if ends_soon else _COLLECTING))
    output = Output(style="--no-style" not in given)
    try:
        with ending_like_interrupt():
            code: Any = wb.main(given, prog_name="wb", standalone_mode=False, obj=output)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.ClickException as error:
        _show_usage(error, output)
        code = ExitCode.USAGE
    except (click.exceptions.Abort, KeyboardInterrupt):
        output.talk("interrupted")
        code = ExitCode.INTERRUPTED
    except (Exception, BaseExceptionGroup) as error:
        code = _ended(error, output)
    if output.lost:
        output.talk("Error: ", output.lost)
        code = code or ExitCode.ERROR
    sys.exit(int(code or 0))


def _show_usage(error: click.ClickException, output: Output) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and error.ctx is not None:
        for text in error.ctx.get_help().splitlines():
            output.talk(text)
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        output.talk(error.ctx.get_usage())
    output.talk("Error: ", error.format_message())


def _ended(error: BaseException, output: Output) -> int:
    """Shows a failure and returns its exit code."""
    try:
        from workbench.cli.report import show_failure

        return show_failure(error, output)
    except Exception as second:
        return _last_words(error, second)


def _last_words(error: BaseException, second: Exception) -> int:
    """Where even showing a failure fails, as in half an installation: no module of ours is needed for this.

    Only an import error is quoted, since it names modules; the text of any other may hold data.
    """
    said = [
        f"{type(each).__name__}: {each}" if isinstance(each, ImportError) else type(each).__name__
        for each in (error, second)
    ]
    ended = f"wb ended by {said[0]}, and could not show it ({said[1]}).".encode("ascii", "backslashreplace").decode()
    sys.stderr.write("".join(each if each.isprintable() else "?" for each in ended) + "\n")
    sys.stderr.write("Is the installation whole? pip install --force-reinstall konfig-workbench\n")
    return 1
