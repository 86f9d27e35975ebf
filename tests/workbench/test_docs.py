"""The documentation says what is so: commands, options, exit codes, keys, variables, links and examples."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest
from textual.binding import Binding

from runtimes.base import Status
from runtimes.kubernetes import health
from runtimes.sandbox import stages
from workbench import settings as settings_module
from workbench.cli.main import wb
from workbench.cli.output import Output
from workbench.engine import planning
from workbench.exit_codes import ExitCode
from workbench.project import discover
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui import app as tui_app
from workbench.tui import attaching, commands
from workbench.tui.frame import Frame
from workbench.tui.screens.adopt import AdoptScreen
from workbench.tui.screens.answer import AnswerScreen
from workbench.tui.screens.bookmarks import BookmarksScreen
from workbench.tui.screens.browse import BrowseScreen
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.screens.drift import DriftScreen
from workbench.tui.screens.fleet import FleetScreen
from workbench.tui.screens.forwards import ForwardsScreen
from workbench.tui.screens.ignore import IgnoreScreen
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_acts import LiveActsScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.screens.output import OutputScreen
from workbench.tui.screens.plan import PlanScreen
from workbench.tui.screens.reconcile import ReconcileScreen
from workbench.tui.screens.recovery import RecoveryScreen
from workbench.tui.screens.relations import RelationsScreen
from workbench.tui.screens.releases import ReleaseChangesScreen, ReleasesScreen
from workbench.tui.screens.replay import ReplayScreen
from workbench.tui.screens.rollout_plan import RolloutPlanScreen
from workbench.tui.screens.rollouts import RolloutsScreen
from workbench.tui.screens.spec import SpecScreen
from workbench.tui.screens.timeline import TimelineScreen
from workbench.tui.screens.whatif import Editor, WhatIfScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCREENSHOTS = DOCS / "screenshots"
_NOT_OURS = {".venv", "node_modules", "build", "dist", ".git", ".pytest_cache"}


def _pages() -> list[Path]:
    return sorted(each for each in ROOT.rglob("*.md") if not _NOT_OURS & set(each.relative_to(ROOT).parts))


PAGES = _pages()
PAGE_NAMES = [each.relative_to(ROOT).as_posix() for each in PAGES]


# --- reading pages


def _fences(text: str) -> Iterator[str]:
    """Yields what stands in fenced blocks."""
    yield from re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def _without_code(text: str) -> str:
    text = re.sub(r"^```[^\n]*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def _sections(text: str) -> dict[str, str]:
    """Returns what stands below each heading, up to the next one of any level."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {title.strip(): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def _first_cells(section: str) -> Iterator[str]:
    """Yields the first cell of each row of the tables in a section, titles and rules left out."""
    previous_was_row = False
    for line in section.splitlines():
        is_row = line.startswith("|")
        if is_row and previous_was_row and not re.match(r"^\|[ :-]+\|", line):
            yield re.split(r"(?<!\\)\|", line)[1].strip()
        previous_was_row = is_row


def _codes(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def _page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# --- links


def _slug(title: str) -> str:
    """Returns the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def _anchors(page: Path) -> set[str]:
    return {_slug(each) for each in _sections(page.read_text(encoding="utf-8"))}


def _links(page: Path) -> Iterator[str]:
    text = _without_code(page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=PAGE_NAMES)
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in _links(page):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if path.is_relative_to(SCREENSHOTS):
            continue  # generated; the test below looks at them
        if not (path.exists() and (not anchor or anchor in _anchors(path))):
            broken.append(target)
    assert broken == []


def test_the_readme_shows_the_screenshots_that_are_made() -> None:
    wanted = {f"{each}.svg" for each in ("browse", "spec", "diff", "plan", "reconcile")}
    shown = {Path(each).name for each in _links(ROOT / "README.md") if "screenshots/" in each}
    assert shown == wanted
    if not SCREENSHOTS.is_dir():
        pytest.skip("docs/screenshots is not there: `make screenshots` makes it")
    assert wanted <= {each.name for each in SCREENSHOTS.iterdir()}


def test_the_walk_through_the_code_names_files_that_are_there() -> None:
    named = {each for each in _codes(_page("architecture.md")) if re.fullmatch(r"[\w./]+/[\w.]*", each)}
    assert len(named) > 30 and [each for each in sorted(named) if not (ROOT / each).exists()] == []


# --- commands


def _commands(group: click.Group = wb, path: str = "wb") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group, help_option_names=["-h", "--help"])
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(_commands())


def test_help_has_one_voice() -> None:
    """An imperative, lower case, no full stop; a proper name or a quoted word may begin it."""
    context = click.Context(wb, help_option_names=["-h", "--help"])
    said = dict(_table_of_commands())
    for name, command in COMMANDS.items():
        for option in command.get_params(context):
            if isinstance(option, click.Option) and not option.hidden and "--help" not in option.opts:
                said[f"{name} {option.opts[-1]}"] = option.help or ""
    wrong = [name for name, text in said.items() if not re.fullmatch(r"[^A-Z].*([^.]|\.\.\.)", text)]
    assert len(said) > 100 and wrong == []


def _table_of_commands() -> Iterable[tuple[str, str]]:
    text = wb.get_help(click.Context(wb, help_option_names=["-h", "--help"])).partition("Commands:")[2]
    return re.findall(r"^  (\w+) +(\S.*)$", text, re.M)


def _check_line(words: list[str], command: click.Command = wb, name: str = "wb") -> None:
    """Parses a command line as click would, without running it; raises `click.UsageError`."""
    try:
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name, help_option_names=["-h", "--help"])
            given, rest, _ = command.make_parser(context).parse_args(list(words))
            if rest and "help" not in given:
                following, found, arguments = command.resolve_command(context, rest)
                assert found is not None and following is not None
                _check_line(arguments, found, following)
        else:
            command.make_context(name, list(words))
    except click.exceptions.Exit:
        return  # --help


def _lines_of_wb(text: str) -> Iterator[str]:
    """Yields the `wb ...` lines of code blocks, fenced or indented, without what the shell does with them."""
    indented = "\n".join(re.findall(r"^ {4}(\S.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M))
    for block in (*_fences(text), indented):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if re.match(r"(\w+=\S+ +)*(\.venv/bin/)?wb( |$)", line):
                yield line


def _words(line: str) -> list[str]:
    """Splits one command off a shell line: what follows a pipe, a redirection or a semicolon is not its own."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in lexer:
        if word.startswith("#") or set(word) <= set("|&;<>"):
            break
        words.append(word)
    while words and not words[0].endswith("wb"):
        words.pop(0)
    return words[1:]


@pytest.mark.parametrize("page", PAGES, ids=PAGE_NAMES)
def test_command_lines_in_code_blocks_are_understood(page: Path) -> None:
    wrong = []
    for line in _lines_of_wb(page.read_text(encoding="utf-8")):
        try:
            _check_line(_words(line))
        except click.UsageError as error:
            wrong.append(f"{line}: {error.format_message()}")
    assert wrong == []


def test_a_wrong_command_line_is_noticed() -> None:
    for line in ("wb aply checkout/prod", "wb diff --no-such-option", "wb sandbox start", "wb ls -o picture"):
        with pytest.raises(click.UsageError):
            _check_line(_words(line))


def _flags(command: click.Command) -> set[str]:
    context = click.Context(command, help_option_names=["-h", "--help"])
    shown = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    found = {name for each in shown for name in (*each.opts, *each.secondary_opts)}
    return {each for each in found if each.startswith("-")} - {"-h", "--help"}


def _documented_flags(section: str) -> set[str]:
    return {
        word
        for cell in _first_cells(section)
        for code in _codes(cell)
        for word in re.findall(r"(?<!\S)--?[A-Za-z][\w-]*", code)
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented_with_its_options(name: str) -> None:
    sections = _sections(_page("cli.md"))
    assert name in sections, f"docs/cli.md has no section {name}"
    section, command = sections[name], COMMANDS[name]
    assert _documented_flags(section) == _flags(command)
    for each in command.params:
        if isinstance(each.type, click.Choice):
            assert set(each.type.choices) <= set(_codes(section)), f"{name} {each.name}"


def test_the_options_before_a_command_are_documented() -> None:
    assert _documented_flags(_sections(_page("cli.md"))["wb"]) == _flags(wb)


def test_no_command_is_documented_that_is_not_there() -> None:
    titles = [each for each in _sections(_page("cli.md")) if each.startswith("wb ")]
    assert sorted(titles) == sorted(COMMANDS)


def test_every_exit_code_is_documented() -> None:
    section = _sections(_page("cli.md"))["Exit codes"]
    listed = [int(code) for cell in _first_cells(section) for code in _codes(cell)]
    assert sorted(listed) == sorted({int(each) for each in ExitCode})


# --- keys

_SIGNS = {"slash": "/", "colon": ":", "question_mark": "?", "asterisk": "*", "apostrophe": "'"}
_SIGNS |= {
    "vertical_line": "\\|",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "plus": "+",
    "minus": "-",
    "semicolon": ";",
    "greater_than_sign": ">",
    "less_than_sign": "<",
}
_KEYS: dict[str, tuple[type, ...]] = {
    "Everywhere": (tui_app.WorkbenchApp, Frame, Prompt),
    "In tables": (ResourceTable,),
    "Browse": (BrowseScreen,),
    "Fleet": (FleetScreen,),
    "Drift": (DriftScreen,),
    "Adopt drift": (AdoptScreen,),
    "Leaving a field to others": (IgnoreScreen,),
    "Rollouts": (RolloutsScreen,),
    "A new rollout": (RolloutPlanScreen,),
    "Releases": (ReleasesScreen, ReleaseChangesScreen),
    "Replay": (ReplayScreen,),
    "Spec": (SpecScreen,),
    "Live diff": (DiffScreen,),
    "Plan": (PlanScreen,),
    "Reconcile": (ReconcileScreen,),
    "Timeline": (TimelineScreen,),
    "What if": (WhatIfScreen, Editor),
    "Recovery": (RecoveryScreen,),
    "Live objects": (LiveScreen,),
    "Several live objects": (LiveActsScreen,),
    "Live object": (LiveObjectScreen,),
    "Related objects": (RelationsScreen,),
    "What was asked": (AnswerScreen,),
    "Shells and ports": (ForwardsScreen,),
    "Logs": (LogsScreen,),
    "Bookmarks": (BookmarksScreen,),
    "Commands of your own": (OutputScreen,),
}
_NOT_BINDINGS = {"In tables": {"gg"}}
"""Two plain keys one after the other, which a binding cannot be."""


def _bound(classes: tuple[type, ...]) -> set[str]:
    keys = set()
    for each in classes:
        for binding in vars(each).get("BINDINGS", ()):
            assert isinstance(binding, Binding)
            keys |= {_SIGNS.get(key, key) for key in binding.key.split(",")}
    return keys


@pytest.mark.parametrize("title", _KEYS)
def test_every_key_is_documented(title: str) -> None:
    section = _sections(_page("screens.md"))[title]
    documented = {key for cell in _first_cells(section) for key in _codes(cell)}
    assert documented == _bound(_KEYS[title]) | _NOT_BINDINGS.get(title, set())


def test_every_screen_with_keys_is_in_the_table_above() -> None:
    shown = {each for classes in _KEYS.values() for each in classes}
    assert {*tui_app._SCREENS.values(), BrowseScreen} <= shown


def test_every_typed_command_is_documented() -> None:
    section = _sections(_page("screens.md"))["Commands after a colon"]
    documented = {code.split()[0] for cell in _first_cells(section) for code in _codes(cell)}
    assert documented == {
        *commands.OF_A_STACK,
        *commands.PLACES,
        *commands.OF_A_DIFF,
        *commands.ASKED,
        commands.DRAFT,
        commands.EXPORT,
        commands.ROLLOUT,
        commands.UNDO,
        *commands.ACTS,
        *commands.MARKS,
        *attaching.COMMANDS,
        *commands.EDITED,
        "stack",
        "recover",
        "allow-writes",
        "q",
        "quit",
    }


# --- the environment


def test_every_environment_variable_is_documented() -> None:
    read = set(re.findall(r'(?:env\.get\(|env\[|\(env, )"(\w+)"', inspect.getsource(settings_module)))
    read |= set(re.findall(r'environ\.get\("(\w+)"', inspect.getsource(Output)))
    read |= set(re.findall(r'environ\.get\("(\w+)"', inspect.getsource(tui_app)))
    cells = _first_cells(_page("configuration.md"))
    documented = {code for cell in cells for code in _codes(cell)}
    assert read <= documented
    assert {each for each in documented if each.startswith("WB_")} == {each for each in read if each.startswith("WB_")}


# --- lists of what there is


def test_every_container_behaviour_is_documented() -> None:
    section = _sections(_page("sandbox.md"))["Behaviours"]
    documented = {code for cell in _first_cells(section) for code in _codes(cell)}
    assert documented == set(stages.load().behaviours)


def test_every_status_and_every_kind_with_a_rule_is_documented() -> None:
    text = _page("readiness.md")
    codes = set(_codes(text))
    assert {each.value for each in Status} <= codes
    assert {kind for _, kind in health._RULES} <= codes


def test_the_limits_of_deletion_are_documented() -> None:
    text = _page("diff-and-plan.md")
    assert f"more than {planning.MOST_DELETIONS} resources" in text
    assert f"more than {planning.LARGEST_DELETED_SHARE:.0%} of" in text


@pytest.mark.parametrize("package", ["kcl", "runtimes", "workbench"])
def test_the_map_of_a_package_names_all_its_parts(package: str) -> None:
    codes = {each.rstrip("/") for each in _codes((ROOT / package / "README.md").read_text(encoding="utf-8"))}
    tracked = subprocess.run(
        ["git", "ls-files", package], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
    ).stdout.split()
    files = tracked or [each.relative_to(ROOT).as_posix() for each in (ROOT / package).rglob("*.py")]
    parts = {Path(each).parts[1] for each in files if each.endswith(".py")} - {"__init__.py"}
    missing = {each.removesuffix(".py") for each in parts} - {each.removesuffix(".py") for each in codes}
    assert missing == set()


# --- examples


def _files_of(page: str) -> dict[str, str]:
    """Returns the fenced blocks that begin with `# file: PATH`, by path."""
    found = {}
    for block in _fences(page):
        named = re.match(r"# file: (\S+)\n", block)
        if named:
            found[named[1]] = block[named.end() :]
    return found


async def test_the_repository_of_the_example_compiles(tmp_path: Path) -> None:
    files = _files_of(_page("repository.md"))
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    tree = discover(tmp_path)
    assert [str(each) for each in tree.all_findings()] == []
    assert [each.name for each in tree.stacks()] == ["shop/dev", "shop/prod"]
    session = Session.open(tmp_path, settings=Settings(tmp_path / "state", tmp_path / "cache"))
    dev, prod = [await session.compile(each) for each in tree.stacks()]
    assert [str(each.id) for each in prod.spec] == ["apps/v1:Deployment:web"]
    assert [each.spec.resources[0].attributes["spec"]["replicas"] for each in (dev, prod)] == [1, 3]


# --- what holds the screens


def test_the_tests_that_are_said_to_hold_the_screens_are_there() -> None:
    page = _sections(_page("screens-held.md"))
    rows = [row for title in ("Rows", "States") for row in page[title].splitlines() if row.startswith("| ")]
    named = [
        re.findall(r"`([\w/]+\.py)::(\w+)`", row) for row in rows if not re.match(r"\| (-|interaction|state)", row)
    ]
    assert len(named) > 40 and all(named), "every row names a test"
    files = {file for row in named for file, _ in row}
    there = {
        (file, each.name)
        for file in files
        for each in ast.walk(ast.parse((ROOT / "tests/workbench" / file).read_text(encoding="utf-8")))
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {each for row in named for each in row} <= there
