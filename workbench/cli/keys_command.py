"""`wb keys`"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import format_option
from workbench.exit_codes import ExitCode
from workbench.present.rows import Column, Row
from workbench.present.text import Span, Tone, line

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.tui.keymap import KeyEntry

_COLUMNS = (Column("Name"), Column("Place"), Column("Keys"), Column("Does"), Column("Default"))


@click.command("keys")
@click.option("--probe", is_flag=True, help="show what this terminal sends for each key, until ctrl+c")
@format_option("table", "json", "yaml")
@click.pass_context
def command(ctx: click.Context, probe: bool, format_: str) -> None:
    """List what every key of the screens does, with the keys of your keymap.yaml.

    Exit code: 0, 1 the keymap is wrong in something, so the default keys count; 64 --probe without a terminal.
    """
    from workbench.project import BrokenFile
    from workbench.tui import keymap
    from workbench.tui.user_files import KEYMAP_FILE

    context: Context = ctx.obj
    output, folder = context.output, context.settings.config_dir
    wrong = None
    try:
        wanted = keymap.read(folder)
    except BrokenFile as error:
        wanted, wrong = {}, error
    entries = keymap.entries(wanted)
    if probe:
        ctx.exit(_probe(context, entries))
    match format_:
        case "json":
            output.json([_document(each) for each in entries])
        case "yaml":
            output.yaml([_document(each) for each in entries])
        case _:
            output.table(_COLUMNS, map(_row, entries))
            if folder is not None:
                output.talk(f"other keys for these names: {folder / KEYMAP_FILE}")
    if wrong is not None:
        output.talk(Span(f"Error: {wrong} ({wrong.hint}). All keys are the default ones.", Tone.BAD))
        ctx.exit(ExitCode.ERROR)


def _document(entry: KeyEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "place": entry.place,
        "keys": list(entry.keys),
        "default": list(entry.default),
        "does": entry.does,
    }


def _row(entry: KeyEntry) -> Row:
    changed = ", ".join(entry.default) if entry.keys != entry.default else ""
    cells = (entry.name, entry.place, Span(", ".join(entry.keys), Tone.STRONG), entry.does, Span(changed, Tone.MUTED))
    return Row((entry.place, entry.name), tuple(line(each) for each in cells))


def _probe(context: Context, entries: tuple[KeyEntry, ...]) -> int:
    output = context.output
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        output.talk(Span("--probe needs a terminal to listen to", Tone.WARN))
        return ExitCode.USAGE
    from workbench.cli import key_probe

    output.talk("press keys; ctrl+c ends")
    uses: dict[str, list[str]] = {}
    for each in entries:
        for key in each.keys:
            uses.setdefault(key, []).append(each.name)
    for sent, key in key_probe.pressed(sys.stdin.fileno(), sys.stdout):
        output.line(Span(f"{key:<24}", Tone.STRONG), Span(f"{sent!r:<16}", Tone.MUTED), ", ".join(uses.get(key, ())))
        if key == key_probe.END:
            break
    return ExitCode.OK
