"""A recovery program → its document: one KCL file with what it imports, told the incident by options."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kcl import api, regular
from kcl.records import replace
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import KubernetesId
from runtimes.base.secret_texts import telling
from workbench.engine.compile import Listening, failed, heard, read_from, with_settings_of, written_secrets
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EngineError
from workbench.engine.masking import secret_looks, secret_names, sensitive_paths, sensitive_texts
from workbench.engine.recovery import document
from workbench.engine.recovery.document import RecoveryDocument
from workbench.engine.recovery.withheld import Withheld
from workbench.engine.secret_options import named_secret
from workbench.project import named, top


def compile_now(
    file: Path,
    inputs: CompileInputs,
    *,
    plugins: api.PluginFinder | None = None,
    cache: api.ParseCache | None = None,
    rules: SecretRules = BUILT_IN,
) -> RecoveryDocument:
    """Compiles here and now, in this process and without limits; see `workbench.engine.shipped`.

    Raises `EngineError`, `CompileFailed` (the KCL is wrong) or `InvalidRecovery`.
    """
    if not file.is_file() and file not in inputs.overlay:
        raise EngineError(regular.why_none(file), where=str(file), hint="name a KCL file such as ops/AppRecovery.k")
    if file not in inputs.overlay:
        file = named(file, Path.cwd())
    root = top(file.parent)
    file_system = read_from(root, file.parent, inputs)
    told = with_settings_of(file.parent, inputs.settings, inputs)
    listening = None if plugins is None else Listening(plugins, rules)
    try:
        result = api.run(
            [str(file)],
            work_dir=file.parent,
            settings=list(inputs.settings),
            options={name: api.argument_value(text) for name, text in inputs.options.items()},
            file_system=file_system,
            cache=cache,
            plugins=listening,
            needs_sums=True,
        )
    except api.ProgramError as error:
        written = {text for each in error.sources.values() for text in written_secrets(each, rules)}
        raise failed(error, str(file), told, rules, heard(listening) | written) from None
    known = {
        *named_secret(told.options, rules),
        *heard(listening),
        *_of_documents(result.documents, rules),
        *_of_sources((str(file), *result.dependency_names), root, file_system, rules),
    }
    withheld = Withheld(telling(known), rules)
    with withheld.failures():
        found = document.find(result.documents, where=str(file))
    return replace(found, withheld=Withheld(telling(known, _public(found)), rules))


def _of_documents(documents: Iterable[Any], rules: SecretRules) -> Iterator[str]:
    """Yields what is secret in all that the program says, whatever a recovery takes of it."""
    for each in documents:
        yield from _of_body({"": each}, rules)
        for body in (each, *(each.values() if isinstance(each, Mapping) else each if isinstance(each, list) else ())):
            if isinstance(body, Mapping):
                id_ = KubernetesId(str(body.get("apiVersion")), str(body.get("kind")), "", "")
                yield from sensitive_texts(body, sensitive_paths(id_, body, rules))


def _of_body(body: Mapping[str, Any], rules: SecretRules) -> Iterator[str]:
    yield from sensitive_texts(body, secret_names(body, rules))
    yield from secret_looks(body, rules)


def _of_sources(names: Iterable[str], root: Path, file_system: api.FileSystem, rules: SecretRules) -> Iterator[str]:
    """Yields what sources of the checkout give to names that tell: `_password = "..."` is in no output."""
    for each in dict.fromkeys(names):
        if each.endswith(".k") and Path(each).is_relative_to(root):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                yield from written_secrets(file_system.read_text(each), rules)


def _public(found: RecoveryDocument) -> frozenset[str]:
    """What objects of clusters are called: everybody may know it, whatever else is called so."""
    places = ((each.cluster, each.namespace, each.pod, each.node, each.uid) for each in found.hosts)
    return frozenset(name for each in places for name in each)
