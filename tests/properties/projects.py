"""Programs of several files, to be mutated: main packages whose files are joined, and packages they import."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kcl.loader import load_yaml
from tests.differential.programs import program
from tests.properties.mutation import mutated
from tests.properties.seeds import SEEDS

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
_STACKS = ("storefront/checkout/prod", "storefront/orders/dev", "storefront/catalog/prod", "payments/ledger/pre")
_FIRST_MATTERS = ("'", '"', "r", "R", " ", "\t")
_STATEMENT = re.compile(r"^(?=[^\s#})\]])(?!elif|else)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Project:
    """Texts by path, below a root that holds a kcl.mod; `main` are the files of the main package in their order."""

    texts: Mapping[str, str]
    main: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    changed: str = ""
    """The file that `mutated` changed."""

    def mutated(self, rng: random.Random) -> Project:
        """One file, of the main package more often than not, with random changes."""
        chosen = rng.choice(self.main if rng.random() < 0.7 else [*self.texts])
        text = mutated(rng, self.texts[chosen], [*self.texts.values()])
        return replace(self, texts={**self.texts, chosen: text}, changed=chosen)

    def shifted(self) -> tuple[Project, dict[str, int]]:
        """The same with a comment above each file, of another length each, and those lengths.

        A file stays whose first character means something there: a text documents the file, a blank is wrong.
        """
        texts, lengths = {}, {}
        for place, (path, text) in enumerate(self.texts.items()):
            above = "" if text[:1] in _FIRST_MATTERS else f"# {'x' * (place * 7 + 1)}\n" * (place + 1)
            texts[path], lengths[path] = above + text, len(above)
        return replace(self, texts=texts), lengths


_JOINED = Project(
    {
        "base.k": """\
import models as m
import models.parts

web: m.Server {
    name = "web"
    ports = [{number = 80}]
    labels.app = "web"
    part = parts.Part {size = 3}
}
_shared: {str:} = {a = 1, b = [1, 2]}
names = [each.name for each in m.Server.instances()]
""",
        "main.k": """\
import models as m

web: m.Server {
    replicas = 2
    ports += [{number = 81}]
    labels: {tier = "front", "x/y" = "z"}
    part: {label = "${name}-part"}
    shown = lambda p: int -> str { "port ${p}" }
}
_shared |= {c = "d"}
limited = web.replicas if web.replicas < 5 else 5
assert limited < 6, "too many: ${limited}"
""",
        "last.k": """\
import models.parts as q
import models as m

web: m.Server {
    replicas = 3
}
alone = q.Part {size = len(names)}
copied = {k: v for k, v in _shared}
untyped = lambda v { v.size + alone.size }(alone)
if alone.size > 2:
    _grown = True
else:
    _grown = False
""",
        "models/server.k": """\
import .parts

schema Named:
    name: str
    labels?: {str:str}

schema Server(Named):
    replicas: int = 1
    ports: [Port] = []
    part?: parts.Part
    shown?: (int) -> str
    [key: str]: any
    check:
        replicas > 0, "no replicas for ${name}"
        len(name) < 20 if name

schema Port:
    number: int
    protocol: "TCP" | "UDP" = "TCP"
""",
        "models/parts/parts.k": """\
type Size = int

schema Part:
    size: Size
    label?: str
    if size > 2:
        large = True
    check:
        size < 100
""",
    },
    ("base.k", "main.k", "last.k"),
)


def _stack(name: str) -> Project:
    """A stack of the sample repository with all the packages it can import."""
    folder = SAMPLE / name
    settings = load_yaml((folder / "kcl.yaml").read_text())
    named = [str(each).replace("${KCL_MOD}", str(SAMPLE)) for each in settings["kcl_cli_configs"]["file"]]
    main = tuple((folder / each).resolve().relative_to(SAMPLE).as_posix() for each in named)
    packages = [path.relative_to(SAMPLE).as_posix() for path in sorted((SAMPLE / "models").rglob("*.k"))]
    texts = {path: (SAMPLE / path).read_text() for path in dict.fromkeys([*main, *packages])}
    return Project(texts, main, {str(item["key"]): str(item["value"]) for item in settings.get("kcl_options") or []})


def _split(text: str) -> Project:
    """A program of one file made one of two, the statements of the second half in the other."""
    starts = [match.start() for match in _STATEMENT.finditer(text)]
    if len(starts) < 2:
        return Project({"main.k": text}, ("main.k",))
    imports = "".join(line for line in text.splitlines(keepends=True) if line.startswith("import "))
    middle = starts[len(starts) // 2]
    return Project({"base.k": text[:middle], "main.k": imports + text[middle:]}, ("base.k", "main.k"))


def stacks() -> list[Project]:
    return [_stack(name) for name in _STACKS]


def small() -> list[Project]:
    return [_JOINED, *map(_split, SEEDS)]


def projects() -> list[Project]:
    """What mutations begin with: stacks of the sample, small programs of several files, generated ones split in two.

    Of each sort about as many.
    """
    return [*stacks() * 12, *small() * 12, *(_split(program(number)) for number in range(50))]
