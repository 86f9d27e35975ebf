"""Every command in every format, from the first look to the end: none shows, keeps or hands on a canary.

The table is complete by construction: a command or a format that is not in it fails a test. Left out are the repository
itself, and `wb compile` to a pipe, which is what its user asked for.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest

from tests.attacks.opened_vault import Opened, opened_vault
from tests.attacks.secret_repository import ENVIRONMENT
from tests.kcl.tools.lsp.editor import Editor
from tests.workbench.cli.command import Ended, Wb
from tests.workbench.serving.conftest import piped
from workbench.cli.main import wb as COMMAND

GIT = shutil.which("git")
Surface = tuple[str, str]
"""The words of a command, and a format: empty where it has but one."""
KNOW_NO_REPOSITORY = ("demo", "sandbox ")
"""Begin the names of those that work on clusters, clouds and a repository of their own, which have no secrets."""
SERVES_EDITORS = "lsp"
"""Has a test of its own: what it tells it tells by its protocol."""


@pytest.fixture
async def opened(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opened]:
    async with opened_vault(wb, tmp_path, monkeypatch) as found:
        yield found


def surfaces(command: click.Command = COMMAND, words: str = "") -> Iterator[Surface]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from surfaces(_below(command, name), f"{words} {name}".strip())
        return
    chosen = [each.type for each in command.params if "-o" in each.opts and isinstance(each.type, click.Choice)]
    yield from ((words, format_) for format_ in (map(str, chosen[0].choices) if chosen else ("",)))


def _below(group: click.Group, name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None, name
    return found


def surface(arguments: tuple[str, ...]) -> Surface:
    """Returns which surface a command line shows."""
    command: click.Command = COMMAND
    words: list[str] = []
    for each in arguments:
        if not isinstance(command, click.Group):
            break
        command = _below(command, each)
        words.append(each)
    option = next((each for each in command.params if "-o" in each.opts and isinstance(each.type, click.Choice)), None)
    if option is None:
        return " ".join(words), ""
    format_ = arguments[arguments.index("-o") + 1] if "-o" in arguments else option.default
    return " ".join(words), str(format_)


TAKEN = ("--project", "taken", "--stack", "in")
CONFIGURED = (
    ("Secret/texts", "stringData.text-0"),
    ("Secret/texts",),
    ("ConfigMap/settings", "data"),
    ("Deployment/web", "spec.template.spec.containers[name=web].env"),
)
NEW = (
    *(("compile", "-o", format_, "vault/dev") for format_ in ("table", "json", "yaml")),
    *((verb, "-o", format_, "vault/dev") for verb in ("diff", "plan") for format_ in ("table", "json", "yaml")),
    ("compile", "--all", "--into", "../into"),
    ("compile", "--all", "--since", "HEAD", "--into", "../into"),
    *(("impact", "--git", "HEAD~1", "-o", format_) for format_ in ("table", "json", "yaml")),
    ("ci", "--git", "HEAD~1..HEAD", "--annotations", "github", "--sarif", "../out/wb.sarif"),
    ("ci", "--git", "HEAD~1..HEAD", "--annotations", "gitlab", "--code-quality", "../out/quality.json"),
    ("explain", "vault/dev", "Secret/texts", "stringData.text-0"),
    ("explain", "vault/dev", "Secret/encoded", "data.word-0"),
    ("explain", "vault/dev", "Secret/given", "stringData.door"),
    ("explain", "vault/dev", "ConfigMap/settings", "data.url-word"),
    ("explain", "vault/dev", "ConfigMap/settings", "."),
    ("explain", "vault/dev", "ConfigMap/settings"),
    ("explain", "vault/dev", "ConfigMap/again", "data.in_jwt"),
    ("explain", "vault/dev", "Deployment/web", "spec.template.spec.containers[name=web].env[name=JWT].value"),
    ("explain", "vault/dev", "CronJob/night", "spec.jobTemplate.spec.template.spec.containers[name=job].env"),
    *(
        ("set", "vault/dev", "Secret/texts", "stringData.text-0=other", "--where", where, "--dry-run", "-o", format_)
        for where in ("source", "here")
        for format_ in ("text", "json", "yaml")
    ),
    ("set", "vault/dev", "Secret/encoded", "data.word-0=other", "--dry-run"),
    ("set", "vault/dev", "ConfigMap/settings", "data.url-word=other", "--dry-run"),
    *(
        ("import", kind, "../own/manifests.json", *TAKEN, "--dry-run", "-o", format_)
        for kind in ("yaml", "helm", "kustomize")
        for format_ in ("text", "json")
    ),
    *(
        ("import", "live", "--cluster", "hz", "--namespace", "default", *TAKEN, "-o", format_)
        for format_ in ("text", "json")
    ),
    *(
        (*words, "--dry-run", "-o", format_)
        for words in (
            ("new", "project", "copied", "--like", "vault"),
            ("new", "stack", "copied", "--like", "vault/dev"),
            ("new", "component", "copied", "--like", "vault/web"),
            ("new", "site", "wuhan"),
            ("new", "site", "broken"),
        )
        for format_ in ("text", "json")
    ),
    *(("update", "images", "vault/dev", "--dry-run", "-o", format_) for format_ in ("text", "json")),
    ("migrate", "--check", "vault/dev"),
    ("migrate", "vault/dev"),
    *(("config", "get", *value, "-o", format_) for value in CONFIGURED for format_ in ("table", "json", "yaml")),
    *(("config", "diff", "env=dev", "env=prod", "-o", format_) for format_ in ("table", "json", "yaml")),
    *(("config", "check", "-o", format_) for format_ in ("table", "json", "yaml")),
    *(("policy", "vault/dev", "-o", format_) for format_ in ("table", "json", "yaml", "sarif")),
    *(("state", "list", "vault/dev", "-o", format_) for format_ in ("table", "json", "yaml")),
    *(("state", "show", "vault/dev", "any", "-o", format_) for format_ in ("table", "json", "yaml")),
    *(("outputs", "vault/dev", "-o", format_) for format_ in ("table", "json", "yaml")),
    ("state", "migrate", "vault/dev", "--yes"),
    ("state", "unlock", "vault/dev", "none"),
    ("state", "forget", "vault/dev", "any", "--dry-run"),
    ("plan", "vault/dev", "--out", "../out/a.plan"),
    *(("plan", "--stacks", "vault/*", "-o", format_) for format_ in ("table", "json", "yaml")),
    ("plan", "vault/*", "--out", "../out/many.plan"),
    ("apply", "vault/*", "--dry-run"),
    ("apply", "vault/dev", "--dry-run"),
    ("run", "vault/dev/main.k"),
    ("run", "vault/dev/main.k", "-o", "json"),
)
OF_THE_REPOSITORY = (
    *(("ls", "-o", format_) for format_ in ("table", "json", "yaml", "name")),
    *(("trust", "list", "-o", format_) for format_ in ("table", "json")),
    *(("cache", "info", "-o", format_) for format_ in ("table", "json")),
    *(("keys", "-o", format_) for format_ in ("table", "json", "yaml")),
    ("plugins", "list"),
    ("plugins", "trust", "safe"),
    ("trust", "plugin", "safe"),
    ("trust", "provider", "vault/dev"),
    ("trust", "backend", "vault/dev"),
    ("trust", "secrets", "vault/dev"),
    ("trust", "kubeconfig", "kubeconfig"),
    ("trust", "repository"),
    ("trust", "revoke", "--all"),
)
EDITED = (
    *(("impact", "-o", format_) for format_ in ("table", "json", "yaml")),
    ("ci", "--annotations", "github", "--summary", "../out/summary.md", "--sarif", "../out/edited.sarif"),
    ("ci", "--annotations", "gitlab", "--code-quality", "../out/edited.json"),
)
"""Where texts of the program are others than in the last commit: what they were and what they are is shown."""
ALL = os.environ.get("KONFIG_WORKBENCH_CANARIES") == "all"
"""Also what shows the same by the same code once more, and what waits."""
DRIFTED = (
    ("diff", "-o", "table", "vault/dev"),
    ("plan", "-o", "json", "vault/dev"),
    *((verb, "-o", format_, "vault/dev") for verb in ("diff", "plan") for format_ in ("table", "json", "yaml") if ALL),
    *(("outputs", "vault/dev", "-o", format_) for format_ in ("table", "json", "yaml")),
    ("diff", "vault/dev", "--drift"),
    ("drift", "vault/dev", "-o", "markdown"),
    *((verb, "vault/dev", "-o", format_) for verb in ("drift", "fleet") for format_ in ("table", "json", "yaml")),
    *(("watch", "vault/dev", "--timeout", "1", "-o", format_) for format_ in ("table", "json")),
    ("apply", "vault/dev", "--force", "--confirm", "vault/dev", "--timeout", "1"),
)
RELEASED = (
    *(("release", "list", "vault/dev", "-o", format_) for format_ in ("table", "json")),
    ("release", "show", "vault/dev"),
    *(("release", "replay", "vault/dev", "-o", format_) for format_ in ("table", "json")),
    *(("release", "diff", "vault/dev", "-o", format_) for format_ in ("table", "json")),
    ("release", "diff", "vault/dev", "1"),
    ("rollback", "vault/dev", "--to", "1", "--dry-run"),
    ("release", "forget", "vault/dev", "--cluster", "elsewhere"),
    ("release", "move", "../repo"),
    ("release", "unlock", "vault/dev"),
    *(("audit", "-o", format_) for format_ in ("table", "json")),
    ("audit", "-o", "json", "--verify"),
)
ROLLED_OUT = (
    ("rollout", "start", "vault/dev", "--dry-run", "-o", "json"),
    ("rollout", "start", "vault/dev", "--yes", "-o", "table"),
    *(("rollout", "status", "-o", format_) for format_ in ("table", "json")),
    ("rollout", "pause"),
    ("rollout", "unlock"),
    ("rollout", "approve", "all"),
    ("rollout", "resume"),
    *(("rollout", "list", "-o", format_) for format_ in ("table", "json")),
    ("rollout", "rollback", "--yes"),
    ("rollout", "abort"),
)
LAST = (
    ("destroy", "vault/dev", "--dry-run"),
    *((("destroy", "vault/dev", "--confirm", "vault/dev"),) if ALL else ()),
    ("cache", "clear"),
)
APPLIED = ("apply", "../out/a.plan", "--confirm", "yes", "--timeout", "1")
SERVED = (("serve",),)
"""What a server answers has a test of its own."""
EVERY = (*SERVED, *NEW, *OF_THE_REPOSITORY, APPLIED, *DRIFTED, *RELEASED, *ROLLED_OUT, *LAST)
TAKE_OPTIONS = (
    *(
        "compile",
        "diff",
        "impact",
        "ci",
        "drift",
        "fleet",
        "plan",
        "apply",
        "destroy",
        "watch",
        "explain",
        "set",
        "migrate",
    ),
    *("config get", "config diff"),
    *("policy", "run", "rollback", "release diff", "rollout start", "rollout resume", "rollout rollback"),
)
WRONG = ("config diff", "release forget", "release move", "run", "trust provider", "trust backend", "watch", "migrate")
"""Those that have nothing to do here and say so, or whose code tells of the cluster."""


def test_every_command_and_every_format_is_in_the_table() -> None:
    known = {(words, format_) for words, format_ in surfaces() if not words.startswith(KNOW_NO_REPOSITORY)}
    known -= {(SERVES_EDITORS, "")}
    assert {*map(surface, EVERY)} == known and len(known) > 40


def declare_sites(opened: Opened) -> None:
    """A site like the vault, and one whose declaration has a secret and fails over it.

    One that stacks import is kept as other packages are, parsed: secrets are referred to there, not written.
    """
    secret = opened.vault.canaries.put("stringData", "sites", "cnry-of-a-site/Kq7+Zx99==w")
    site = 'site = {name = "wuhan", clusters = ["hz"], applications.vault.like = "vault/dev"}\n'
    Path("sites").mkdir()
    Path("sites/wuhan.k").write_text(site)
    Path("sites/broken.k").write_text(f'password = "{secret}"\nassert False, "not " + password\n{site}')


async def test_no_command_shows_keeps_or_hands_on_a_secret(opened: Opened) -> None:
    leaking: dict[str, list[str]] = {}
    shown: dict[str, str] = {}
    opened.log_in_by_program()
    (opened.home / "out").mkdir()
    await opened.write_manifests()
    shutil.copy(os.environ["KUBECONFIG"], "kubeconfig")
    declare_sites(opened)
    if GIT:
        opened.listen_to("git", GIT)
        who = "-c user.name=a -c user.email=b@c"
        for words in ("init -q .", f"{who} commit -qm none --allow-empty", "add -A", f"{who} commit -qm x"):
            await asyncio.to_thread(subprocess.run, [GIT, *words.split()], check=True)

    async def look(*arguments: str) -> None:
        takes_options = " ".join(arguments).startswith(TAKE_OPTIONS) and "--all" not in arguments
        run = opened.on_terminal if takes_options else lambda *words: opened(*words, given=False)
        ended: Ended = await run(*arguments)
        name = " ".join(arguments)
        assert "Traceback" not in ended.text, f"{name}: {ended.text}"
        leaking[name], shown[name] = opened.leaks(ended), ended.text
        assert ended.code in (0, 1, 4, 5, 6) or name.startswith(WRONG), f"{name}: {ended.code} {ended.text}"
        running = command_lines()
        leaking[f"what runs after {name}"] = opened.leaks(running)

    if GIT:
        with edited(Path("vault/dev/main.k")):
            for arguments in EDITED:
                await look(*arguments)
        assert "masked#" in shown["impact -o json"] and "masked#" in shown["impact -o table"]
    for arguments in (*NEW, *OF_THE_REPOSITORY, APPLIED):
        await look(*arguments)
    opened.change_by_hand()
    for arguments in (*DRIFTED, *RELEASED):
        await look(*arguments)
    opened.delete_by_hand()
    for arguments in (*ROLLED_OUT, *LAST[:1]):
        await look(*arguments)
    assert "output" in shown["outputs vault/dev -o json"] and "masked#" in shown["outputs vault/dev -o json"]
    assert "1 of 1 targets ready" in shown["rollout resume"]
    assert any((opened.home / "state").rglob("*.json"))
    leaking["files"] = [f"{name}: {found}" for name, found in opened.leaking_files().items()]
    for arguments in LAST[1:]:
        await look(*arguments)
    leaking["releases in the clusters"] = opened.leaking_records()
    leaking["files in the end"] = [f"{name}: {found}" for name, found in opened.leaking_files().items()]
    for name in ("log-in", *(["git"] if GIT else [])):
        given = opened.given_to(name)
        leaking[f"given to {name}"] = [each for each in opened.leaks(given) if each not in of_the_shell(name)]
    assert not any(leaking.values()), {name: found for name, found in leaking.items() if found}
    assert "masked#" in shown["diff -o json vault/dev"] and "drift" in shown["diff -o table vault/dev"]


async def test_no_secret_gets_into_the_files_of_an_import(opened: Opened) -> None:
    file = await opened.write_manifests()
    ended = await opened("import", "yaml", str(file), "--project", "taken", "--stack", "in", given=False)
    assert ended.code == 0 and opened.leaks(ended) == [], ended.text
    taken = opened.home / "repo" / "taken"
    assert any(taken.rglob("*.k"))
    assert opened.vault.canaries.leaking_files(taken) == {}


async def test_an_editor_is_told_no_secret(opened: Opened) -> None:
    told = await asyncio.to_thread(_told_in_an_editor, Path("vault/dev/main.k"), opened.vault.arguments)
    assert "`stringData.text-0` of `v1:Secret:" in told and "all 1 stack looked at" in told and "live on " in told
    assert not opened.leaks(told)


def _told_in_an_editor(file: Path, given: Sequence[str]) -> str:
    """All that hovers and lenses of a file say, but for the name that is pointed at: it is in the file."""
    file = file.resolve()
    root, document = file.parents[2], {"textDocument": {"uri": file.as_uri()}}
    told = []
    with Editor(root, command=("workbench", "-w", str(root), "lsp", "--live", *given)) as editor:
        editor.open(file)
        lines = file.read_text().splitlines()
        editor.lenses(file, lambda told: any(each.startswith("sets ") for each in told.values()))
        for number, line in enumerate(lines):
            position = {"line": number, "character": len(line) - len(line.lstrip()) + 1}
            found = editor.ask("textDocument/hover", document | {"position": position})
            said = "" if found is None else found["contents"]["value"]
            told.append(re.sub(r"^```kcl\n[\w$]+:", "", said))
        told += editor.lenses(file, lambda told: any("live on " in each for each in told.values())).values()
        texts = r'("(?!apiVersion|kind|name|image|type)[^"\n]+": ")([^"\n\\]{3,})"'
        editor.edit(file, {"text": re.sub(texts, r'\1\2x"', file.read_text())})
        told.append(editor.ask("workspace/executeCommand", {"command": "kcl.effect", "arguments": []}))
        assert "masked#" in told[-1]
        secret = next(number for number, line in enumerate(lines) if "stringData" in line)
        for number in (secret, secret + 1):
            asked = {"command": "kcl.live", "arguments": [file.as_uri(), number]}
            told.append(editor.ask("workspace/executeCommand", asked))
    return "\n".join(told)


async def test_no_answer_of_the_server_has_a_secret(opened: Opened) -> None:
    """Nor what it says beside. The stack is asked for as it is, with the options that its user gives."""
    words = opened.vault.arguments
    options = dict(each.split("=", 1) for flag, each in pairwise(words) if flag == "-D")
    settings = [each for flag, each in pairwise(words) if flag == "-Y"]
    stack: dict[str, Any] = {"stack": "vault/dev", "options": options, "settings": settings}
    files, settings_files = found("*.k"), found("settings.yaml")
    given = {
        **options,
        **{each["key"]: each["value"] for each in json.loads(text_of(settings_files[0]))["kcl_options"]},
    }
    args = [{"name": name, "value": json.dumps(value)} for name, value in given.items()]
    code = re.sub(r"^_plugged = .*$", "_plugged = {issued = 1, door = 1, file = 1}", text_of(files[0]), flags=re.M)
    code = code.replace("import kcl_plugin.safe\n", "")  # official methods have no plugins
    run = {"k_filename_list": files, "k_code_list": [code], "args": args}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("wb.methods", {}),
        ("wb.stacks", {}),
        *((f"wb.{verb}", stack) for verb in ("compile", "diff", "plan")),
        ("wb.watch", {**stack, "timeoutSeconds": 1}),
        ("wb.explain", {**stack, "resource": "Secret/texts", "path": "stringData.text-0"}),
        ("wb.explain", {**stack, "resource": "ConfigMap/settings"}),
        ("wb.set", {**stack, "resource": "Secret/texts", "values": {"stringData.text-0": "other"}}),
        ("wb.outputs", {"stack": "vault/dev"}),
        ("wb.apply", {"plan": "none"}),
        ("KclService.ExecProgram", run),
        ("KclService.GetSchemaTypeMapping", {"exec_args": run}),
        ("KclService.ListVariables", {"files": files}),
        ("KclService.ListOptions", {"paths": files}),
        ("KclService.LoadPackage", {"parse_args": {"paths": files}}),
        ("KclService.ParseProgram", {"paths": files}),
        ("KclService.LintPath", {"paths": files}),
        ("KclService.LoadSettingsFiles", {"files": settings_files}),
    ]
    sent = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests)
    ]
    ended, replies, said = await piped(sent="\n".join(sent).encode())
    by_id = {each["id"]: each for each in replies if "id" in each}
    leaking = {
        f"{method} {sorted(params)}": opened.leaks(json.dumps(by_id[number], ensure_ascii=False))
        for number, (method, params) in enumerate(requests)
    }
    assert {name: what for name, what in leaking.items() if what} == {}
    assert (ended, opened.leaks(said), opened.leaks(json.dumps(replies))) == (0, [], [])
    failed = {requests[number][0]: each["error"] for number, each in by_id.items() if "error" in each}
    # what was watched ends with the input, and a tree has secrets at places that do not tell
    assert failed.keys() == {"wb.apply", "wb.watch", "KclService.ParseProgram"}, failed
    ran = by_id[next(number for number, (method, _) in enumerate(requests) if method == "KclService.ExecProgram")]
    assert len(ran["result"]["yaml_result"]) > 5000 and "«" in ran["result"]["log_message"], ran


def text_of(name: str) -> str:
    return Path(name).read_text()


def found(glob: str) -> list[str]:
    return [str(each) for each in sorted(Path("vault/dev").glob(glob))]


@contextmanager
def edited(file: Path) -> Iterator[None]:
    """Adds a letter to texts of a program, for a while."""
    before = file.read_text()
    texts = r'("(?!apiVersion|kind|name|image|type)[^"\n]+": ")([^"\n\\]{3,})"'
    file.write_text(re.sub(texts, r'\1\2x"', before))
    assert file.read_text() != before
    yield
    file.write_text(before)


def of_the_shell(program: str) -> list[str]:
    """What a program of the user may be given: one that logs in may take its own from anywhere in the environment."""
    return [f"environment {name}" for name in ENVIRONMENT] if program == "log-in" else []


def command_lines() -> str:
    """Returns the command lines of all processes that this one started and that still run."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append((each / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return "\n".join(found)
