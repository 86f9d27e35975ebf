"""Reads files as the product does, in a process of its own: a JSON line in, a JSON line out. Used by `documents`.

Each kind of file is put where it belongs, in a small repository or in a folder of records, and what reads it is run.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kcl.diagnostics import KclError
from kcl.reach import Bounds
from runtimes.base.errors import RuntimeFailure
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.terraform import former, last_state, record
from runtimes.terraform.folder import Folder
from runtimes.terraform.state import UnreadableState, read_prior
from workbench.audit import AuditTrail
from workbench.engine import plan_file
from workbench.engine.compiled_index import INDEX_FILE, Index
from workbench.engine.rollout.progress import Progress
from workbench.present.glyphs import UNICODE
from workbench.present.rollout import Shown, document, progress_lines, row
from workbench.project import WorkbenchError
from workbench.project.plugins import read_allowed_plugins
from workbench.project.readiness import read_readiness
from workbench.project.rollout import read_rollout
from workbench.release import encoding, rollout_packing, stored
from workbench.release.former_rollouts import FormerRollouts
from workbench.release.recoveries import RecoveryStore
from workbench.release.rollout_listing import RolloutEntry
from workbench.release.rollout_packing import stands
from workbench.release.stored_rollouts import Runner
from workbench.session import Session
from workbench.settings import Settings

_MEMORY: Final = 3 << 30
_FINDINGS: Final = (WorkbenchError, KclError, RuntimeFailure, encoding.BrokenRecord, UnreadableState)
INCIDENT: Final = "0" * 16
ROLLOUT: Final = "r-00000000"

REPOSITORY: Final[Mapping[str, str]] = {
    "kcl.mod": '[package]\nname = "shop"\nedition = "v0.11.0"\nversion = "0.1.0"\n\n[profile]\nentries = ["main.k"]\n',
    "clusters.yaml": "clusters:\n  hangzhou:\n    context: hz\nplacements:\n- stacks: ['*']\n  clusters: [hangzhou]\n",
    "readiness.yaml": "rules: []\n",
    "policy.yaml": "policies: []\n",
    "dimensions.yaml": "dimensions: [{name: env, values: {dev: [shop/dev/main.k]}}]\n",
    "rollout.yaml": "stages: [{name: a, stacks: ['*/*']}]\n",
    "plugins.yaml": "plugins: {}\n",
    "shop/project.yaml": "name: shop\n",
    "shop/dev/stack.yaml": "name: dev\n",
    "shop/dev/kcl.yaml": "kcl_cli_configs:\n  file: [main.k]\nkcl_options:\n- key: env\n  value: dev\n",
    "shop/dev/main.k": 'apiVersion = "v1"\nkind = "ConfigMap"\nmetadata = {name = "a", namespace = "b"}\n',
    "shop/crd/a.yaml": "",
}


def _settings(home: Path) -> Settings:
    return Settings(home / "state", home / "cache", user="ann", host="box")


def _browse(home: Path) -> None:
    root = home / "repository"
    session = Session.open(root, settings=_settings(home))
    tree = session.tree()
    with suppress(*_FINDINGS):
        read_readiness(root)
    with suppress(*_FINDINGS):
        read_allowed_plugins(root)
    with suppress(*_FINDINGS):
        read_rollout(root)
    with suppress(*_FINDINGS):
        asyncio.run(session.judge(tuple(tree.stacks())))
    for project in tree.projects:
        for stack in project.stacks:
            asyncio.run(session.compile(stack))


def _state(home: Path) -> None:
    read_prior((home / "terraform.tfstate").read_bytes())


def _workspace(home: Path) -> None:
    folder = Folder(home)
    record.load(folder)
    last_state.load(folder)
    tuple(former.load(folder))


def _audit(home: Path) -> None:
    trail = AuditTrail(home)
    trail.entries(limit=50)
    trail.verify()


def _kubeconfig(home: Path) -> None:
    found = Kubeconfig([home / "config"])
    for each in found.contexts:
        with suppress(*_FINDINGS):
            found.connection(each)


def _recovery(home: Path) -> None:
    store = RecoveryStore(home, home / "repository")
    store.ledger(INCIDENT)


def _rollout(home: Path) -> None:
    """One as an older version left it."""
    records = FormerRollouts(home).records(ROLLOUT)
    assert records is not None
    _show(stands(records, ROLLOUT))


def _kept_rollout(home: Path) -> None:
    """One as it is kept now, and the lease of whoever carries it out."""
    data = (home / "kept-rollout").read_bytes()
    name = rollout_packing.name("shop", ROLLOUT)
    secret = stored.read_secret(data, "rollouts", name, "1")
    for found in rollout_packing.stored([secret] if secret is not None else [], "shop"):
        _show(found.progress())


def _show(at: Progress) -> None:
    shown = Shown(RolloutEntry(at, "hangzhou", Runner("ann@box", at.began.at, 45.0)), at.began.at)
    document(shown)
    tuple(progress_lines(shown, UNICODE))
    row(shown)


def _placed(home: Path) -> str:
    """Where the file of an incident is."""
    return str(RecoveryStore(home, home / "repository")._path(INCIDENT).relative_to(home))


KINDS: Final[Mapping[str, tuple[str | Callable[[Path], str], Callable[[Path], object]]]] = {
    **{f"repository/{name}": (f"repository/{name}", _browse) for name in REPOSITORY if not name.endswith(".k")},
    "repository/kcl.mod.lock": ("repository/kcl.mod.lock", _browse),
    INDEX_FILE: (INDEX_FILE, lambda home: Index.load(home, Bounds(str(home)))),
    "plan": ("plan", lambda home: plan_file.load(home / "plan", home / "repository")),
    "release": ("release", lambda home: encoding.decode((home / "release").read_bytes())),
    "events": ("events", lambda home: list(encoding.decode_events((home / "events").read_bytes().split(b"\n")))),
    "kubeconfig": ("config", _kubeconfig),
    "terraform.tfstate": ("terraform.tfstate", _state),
    "run.json": (lambda home: Folder(home).run.name, _workspace),
    "seen.json": (lambda home: Folder(home).seen.name, _workspace),
    "former.json": ("former.json", _workspace),
    "audit": ("audit/2026-11.jsonl", _audit),
    "recovery": (_placed, _recovery),
    "rollout": (f"{ROLLOUT}.jsonl", _rollout),
    "kept rollout": ("kept-rollout", _kept_rollout),
}


def _answer(kind: str, content: bytes, home: Path) -> dict[str, Any]:
    where, read = KINDS[kind]
    for name, text in REPOSITORY.items():
        file = home / "repository" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    file = home / (where if isinstance(where, str) else where(home))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    try:
        read(home)
    except _FINDINGS as error:
        return {"said": f"{type(error).__name__}: {getattr(error, 'message', '') or error}"[:300]}
    except BaseException:  # a crash is what is looked for, of whatever kind
        return {"crash": traceback.format_exc()[-3_000:]}
    return {"said": "read"}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    os.environ["KCL_RUN_CACHE"] = "off"
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    home = Path(tempfile.mkdtemp())
    try:
        for line in sys.stdin:
            question = json.loads(line)
            answers.write(json.dumps(_answer(question["kind"], base64.b64decode(question["content"]), home)) + "\n")
            answers.flush()
            shutil.rmtree(home)
            home.mkdir()
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
