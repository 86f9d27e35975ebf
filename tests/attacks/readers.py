"""Reads every hostile document as each part of the product does: `python -m tests.attacks.readers FOLDER`.

Each document has a process of its own with a limit of memory and of time, for it may end the process. Prints JSON: for
every reader and document what came of it, `read`, `finding: …` for an error that users get as a message, or what else.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from kcl.diagnostics import KclError
from kcl.evaluator.value import ValueFailure
from kcl.loader.settings import argument_value, load_settings
from kcl.loader.toml_text import parse_toml
from kcl.source import OsFileSystem
from kcl.stdlib import documents
from runtimes.base.errors import RuntimeFailure
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.sandbox.api import requests
from runtimes.sandbox.decode import DecodeError, parse_json
from runtimes.sandbox.errors import ApiError
from runtimes.terraform.state import UnreadableState
from tests.attacks.hostile_documents import JSON, SLOW_TO_REFUSE, TOML, YAML
from workbench.engine import compile as engine_compile
from workbench.engine import plan_file, spec
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EngineError
from workbench.engine.fleet_plan import file as fleet_plan_file
from workbench.present import value_changes
from workbench.project.errors import ProjectError
from workbench.project.yaml_file import place_of, read_mapping
from workbench.release import encoding

_MEMORY_BYTES: Final = 1_500_000_000
_DEADLINE_SECONDS: Final = 120
_FINDINGS: Final = (
    ProjectError, EngineError, RuntimeFailure, KclError, ValueFailure, ApiError, DecodeError, encoding.BrokenRecord,
    UnreadableState,
)  # fmt: skip


def _mapping(file: Path) -> object:
    place_of(file, "a")
    return read_mapping(file)


def _settings(file: Path) -> object:
    return load_settings(str(file), OsFileSystem())


def _options(file: Path) -> object:
    return engine_compile._text_options(file.read_text())


def _definitions(file: Path) -> object:
    folder = file.parent / "crd"
    folder.mkdir()
    file.rename(folder / "a.yaml")
    stack = SimpleNamespace(project_directory=file.parent)
    return list(engine_compile._definitions(stack, CompileInputs()))  # type: ignore[arg-type]


def _spec(file: Path) -> object:
    return spec.load(file.read_text(), stack="a/b", where=str(file))


def _kubeconfig(file: Path) -> object:
    return Kubeconfig([file]).contexts


def _changed_value(file: Path) -> object:
    return value_changes._yaml(file.read_text())


def _decoded(name: str) -> Callable[[Path], object]:
    def decode(file: Path) -> object:

        function: Any = getattr(documents, name)
        return function(file.read_text())

    return decode


def _manifest(file: Path) -> object:
    return parse_toml(str(file), file.read_text())


def _plan(file: Path) -> object:
    return plan_file.load(file, file.parent)


def _fleet_plan(file: Path) -> object:
    return fleet_plan_file.load(file, file.parent)


def _release(file: Path) -> object:
    return encoding.decode(file.read_bytes())


def _patch(file: Path) -> object:
    return requests.read_applied(file.read_bytes(), "Warn", [])


def _body(file: Path) -> object:
    return requests.read_object(file.read_bytes(), "application/yaml", "ConfigMap")


def _json_body(file: Path) -> object:
    return parse_json(file.read_bytes())


def _argument(file: Path) -> object:
    return argument_value(file.read_text())


READERS: Final[Mapping[str, tuple[Mapping[str, str], Callable[[Path], object]]]] = {
    "project.yaml, stack.yaml, clusters.yaml, readiness.yaml, plugins.yaml": (YAML, _mapping),
    "kcl.yaml and -Y": (YAML, _settings),
    "kcl_options": (YAML, _options),
    "crd/*.yaml": (YAML, _definitions),
    "a Spec file": (YAML, _spec),
    "a kubeconfig": (YAML, _kubeconfig),
    "text of a field that changed": (YAML, _changed_value),
    "yaml.decode": (YAML, _decoded("yaml_decode")),
    "the sandbox's YAML patch": (YAML, _patch),
    "the sandbox's YAML body": (YAML, _body),
    "json.decode": (JSON, _decoded("json_decode")),
    "the sandbox's JSON body": (JSON, _json_body),
    "a plan": (JSON, _plan),
    "a plan over many stacks": (JSON, _fleet_plan),
    "a release": (JSON, _release),
    "-D": (JSON, _argument),
    "kcl.mod and kcl.mod.lock": (TOML, _manifest),
}

_FIRST_OF_LOADER: Final = frozenset({"a Spec file", "kcl.yaml and -Y", "kcl.mod and kcl.mod.lock"})


def _outcome(read: Callable[[Path], object], file: Path) -> str:
    try:
        found = read(file)
    except _FINDINGS as error:
        where = getattr(error, "where", "")
        return f"finding: {where} {error}"
    json.dumps(found, default=repr)  # what was read can be written, in the same bounds
    return "read"


def _apart(read: Callable[[Path], object], file: Path) -> str:
    """The outcome in a forked process, which may not survive."""
    inner, outer = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(_DEADLINE_SECONDS)
        try:
            told = _outcome(read, file)
        except BaseException as error:
            told = f"a traceback: {type(error).__name__}"
        os.write(outer, told[:2_000].encode("utf-8", "replace"))
        os._exit(0)
    os.close(outer)
    with os.fdopen(inner, "rb") as pipe:
        told = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return told if not os.WIFSIGNALED(status) else f"ended by {signal.Signals(os.WTERMSIG(status)).name}"


def main(folder: Path) -> None:
    outcomes: dict[str, dict[str, str]] = {}
    for reader, (hostile, read) in READERS.items():
        outcomes[reader] = {}
        for name, text in hostile.items():
            if name in SLOW_TO_REFUSE and reader not in _FIRST_OF_LOADER:
                continue
            place = folder / f"{len(outcomes)}-{len(outcomes[reader])}"
            place.mkdir(parents=True)
            file = place / "hostile"
            file.write_text(text)
            outcomes[reader][name] = _apart(read, file)
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
