"""Objects of the sample repository, each changed in one place: the diff shows the change, and the line it comes from.

`WB_MUTATED_OBJECTS=5000` tries so many instead of a few; what was tried is printed with `-s`.
"""

from __future__ import annotations

import copy
import itertools
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtimes.base import KubernetesId, Resource, TerraformId, format_path
from tests.workbench.engine.fake_cluster import LIST_KEYS, FakeCluster
from tests.workbench.engine.fake_workspace import COMPUTED, FakeWorkspace
from workbench.engine.changes import Change, FieldChange, Op
from workbench.engine.compiled import CompileInputs
from workbench.engine.diff import same
from workbench.engine.fields import find
from workbench.engine.masking import Seal
from workbench.engine.places import ClusterPlace, WorkspacePlace
from workbench.engine.places.surveying import Seals
from workbench.engine.spec import Spec
from workbench.engine.survey import survey
from workbench.present.diff import SOURCE_WIDTH, detail_rows, field_lines
from workbench.present.glyphs import UNICODE
from workbench.present.text_changes import cells, looks_same
from workbench.session import Session
from workbench.settings import Settings

SAMPLE = Path(__file__).parents[3] / "sample-konfig"
OBJECTS = int(os.environ.get("WB_MUTATED_OBJECTS", "120"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WIDTH = 90
LONG = " ".join(f"--flag{index}=value{index}" for index in range(40))
MANY = "\n".join(f"line {index} of a long text" for index in range(300))
STRINGS = {
    "a character": lambda text: text[: len(text) // 2] + "#" + text[len(text) // 2 :],
    "a space at the end": lambda text: f"{text} ",
    "a newline at the end": lambda text: f"{text}\n",
    "a letter of another script": lambda text: f"{text}\u0430",
    "nothing to see": lambda text: f"{text}\u200b",
    "beyond the basic plane": lambda text: f"{text}\U0001f680",
    "upper case": lambda text: text.upper() if text.upper() != text else f"{text}X",
    "emptied": lambda text: "" if text else "x",
    "in a long line": lambda text: f"{LONG} {text} {LONG}",
    "a number": lambda text: 7,
}
DOCUMENTS = {
    "a long line": lambda value: f"{LONG} --level={value} {LONG}",
    "many lines": lambda value: f"{MANY}\nlevel = {value}\n{MANY}",
    "a line of JSON": lambda value: json.dumps({"hosts": LONG.split(), "level": value, "more": LONG.split()}),
    "lines of JSON": lambda value: json.dumps({"hosts": LONG.split(), "level": value}, indent=2),
    "YAML": lambda value: f"hosts: {LONG.split()}\nlevel: {value}\nmore:\n- a\n# the end\n",
    "YAML with a comment": lambda value: f"level: 7 # it was {value}\n{'- '.join(['more:', *['a']])}\n",
}
IDENTIFYING = frozenset(name for names in LIST_KEYS.values() for name in names)
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Mutation:
    """`before` is the body as it is live, `after` as it is configured."""

    kind: str
    path: Place
    before: Any
    after: Any


def places(value: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    if path:
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in inner:
        yield from places(each, (*path, step))


def is_identity(path: Place) -> bool:
    named = (("metadata", "name"), ("metadata", "namespace"))
    return path[0] in ("apiVersion", "kind", "stringData") or path[:2] in named


def mutate(body: Any, rng: random.Random) -> Mutation | None:
    """Changes one leaf, list or mapping; None where there is nothing to change."""
    candidates = [each for each in places(body) if not is_identity(each[0]) and each[0] != ("metadata",)]
    if not candidates:
        return None
    path, value = rng.choice(candidates)
    before, changed = copy.deepcopy(body), copy.deepcopy(body)
    holder = find(changed, path[:-1])
    match value:
        case bool():
            kind, holder[path[-1]] = "bool", not value
        case int() | float():
            kind, holder[path[-1]] = "number", value + rng.choice([1, -1, 1000])
        case str() if rng.random() < 0.3:
            document = rng.choice(sorted(DOCUMENTS))
            kind = f"a value in {document}"
            find(before, path[:-1])[path[-1]], holder[path[-1]] = DOCUMENTS[document](1), DOCUMENTS[document](2)
        case str():
            how = rng.choice(sorted(STRINGS))
            kind, holder[path[-1]] = f"text: {how}", STRINGS[how](value)
        case list() if value:
            is_plain = not any(isinstance(each, dict | list) for each in value)
            # what is identified by its fields can't be there twice, and its order is the cluster's
            more = ["list: one more", "list: one twice", "list: turned round"] if is_plain else []
            kind = rng.choice(["list: one less", *more])
            new = list(value)
            if kind == "list: one more":
                new.append("one more")
            elif kind == "list: one less":
                new.pop(rng.randrange(len(new)))
            elif kind == "list: turned round":
                new.reverse()
            else:
                new.insert(0, new[-1])
            holder[path[-1]] = new
        case dict() if value:
            kind = rng.choice(["mapping: a key more", "mapping: a key less"])
            if kind == "mapping: a key more":
                holder[path[-1]] = {**value, "another": "value"}
            else:
                gone = rng.choice(sorted(value))
                if gone in IDENTIFYING:  # no cluster would take that
                    return None
                holder[path[-1]] = {key: each for key, each in value.items() if key != gone}
        case _:
            kind, holder[path[-1]] = "emptiness", "something"
    return Mutation(kind, path, before, changed) if not same(changed, before) else None


def is_seen(field: FieldChange, rows: str) -> bool:
    """Whether old and new look different, and stand in the rows."""
    shown = list(field_lines(field, WIDTH - 4, UNICODE))
    old = "\n".join(str(each.before) for each in shown if each.before is not None)
    new = "\n".join(str(each.after) for each in shown if each.after is not None)
    signs = [each.sign for each in shown]
    differ = not looks_same(old, new) or signs.count("-") != signs.count("+")
    in_one = f"{format_path(field.path)}: " in rows and " → " in rows
    whole = all(str(each.line).strip() in rows for each in shown)
    return bool(shown) and differ and (whole or in_one or field.op in (Op.ADD, Op.REMOVE))


def told_wrong(change: Change, spec: Spec, mutation: Mutation, root: Path) -> str:
    """Says what is wrong with how a change is shown, empty where nothing is."""
    fields = [each for each in change.fields if each.op is not Op.KEPT]
    if not fields:
        return "no field is shown"
    plain = [tuple(step for step in each.path if isinstance(step, str)) for each in fields]
    # elements of lists are told by what identifies them, which may be what changed
    wanted = tuple(itertools.takewhile(lambda step: isinstance(step, str), mutation.path))
    if not any(each[: len(wanted)] == wanted or wanted[: len(each)] == each for each in plain):
        return f"shown at {plain}"
    rows = detail_rows(change, spec, (root,), UNICODE, NOW, width=WIDTH)
    text = "\n".join(str(row.cells[0]) for row in rows)
    longest = max(len(row.cells[1]) for row in rows)
    if longest > SOURCE_WIDTH:
        return "a source is too long"
    if any(cells(str(row.cells[0])) > WIDTH - (longest + 1 if len(row.cells[1]) else 0) for row in rows):
        return "a row is cut"
    for each in fields:
        if not is_seen(each, text):
            return f"{format_path(each.path)}: the change is not seen"
        if not each.source:
            return f"{format_path(each.path)}: no line"
        site = each.source[0]
        if not site.file.is_file() or not 0 < site.line <= len(site.file.read_text().splitlines()):
            return f"{format_path(each.path)}: {site} is nowhere"
        if not any(f":{site.line}" in str(row.cells[1]) for row in rows):
            return f"{format_path(each.path)}: line {site.line} is not shown"
    # another name makes another element: all of the old one goes
    if len(rows) > (200 if mutation.path[-1] in IDENTIFYING else 40):
        return f"{len(rows)} rows"
    return ""


async def surveyed(spec: Spec, resource: Resource, mutated: Resource) -> Change:
    cluster, cloud = FakeCluster("hz"), FakeWorkspace()
    cluster.put(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": resource.attributes.get("metadata", {}).get("namespace", "x")},
        }
    )
    is_cloud = isinstance(resource.id, TerraformId)
    if is_cloud:
        recorded = {**resource.attributes, **{key: f"{key}-1" for key in COMPUTED}}
        cloud.cloud[resource.id], cloud.state[resource.id] = dict(recorded), dict(recorded)
    else:
        cluster.put(resource.attributes, manager="workbench")
    found = await survey(
        replace(spec, resources=(mutated,)),
        [ClusterPlace("hz", cluster), *([WorkspacePlace("terraform", cloud)] if is_cloud else [])],
        prior=None,
        labels={},
        prune=False,
        at=NOW,
        seals=Seals(Seal.random(), Seal.random(), Seal.random()),
    )
    assert not found.problems, found.problems
    [change] = found.changes
    return change


async def compiled(home: Path) -> list[Spec]:
    found = []
    async with Session.open(SAMPLE, settings=Settings(home, home)) as session:
        stacks = list(session.tree().stacks())
        for stack in stacks if OBJECTS > 1000 else stacks[:: max(1, len(stacks) // 4)]:
            spec = (await session.compile(stack, CompileInputs())).spec
            found.append(spec)
    return found


async def test_the_change_of_a_mutated_object_is_shown_with_its_line(tmp_path: Path) -> None:
    rng = random.Random(13)
    tried: Counter[str] = Counter()
    wrong: list[str] = []
    objects = [(spec, each) for spec in await compiled(tmp_path) for each in spec]
    while tried.total() < OBJECTS:
        spec, resource = rng.choice(objects)
        if isinstance(resource.id, KubernetesId) and resource.id.kind == "Namespace":
            continue
        body = copy.deepcopy(dict(resource.attributes))
        if "$kusion_path" in repr(body) or (mutation := mutate(body, rng)) is None:
            continue
        tried[mutation.kind] += 1
        old, new = (replace(resource, attributes=each) for each in (mutation.before, mutation.after))
        change = await surveyed(spec, old, new)
        if what := told_wrong(change, spec, mutation, SAMPLE):
            wrong.append(f"{resource.id} {format_path(mutation.path)} ({mutation.kind}): {what}")
    sys.stdout.write(f"\n{tried.total()} objects, {len(wrong)} not shown: {dict(sorted(tried.items()))}\n")
    assert not wrong, "\n".join(wrong[:20])
