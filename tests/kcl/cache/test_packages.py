"""Packages that one process parsed and checked are taken by the next, exactly while they would come out the same."""

from __future__ import annotations

import marshal
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from kcl import api
from kcl.cache.objects import BROKEN, from_bytes, to_bytes
from kcl.cache.packages import PACKAGES
from kcl.cache.store import Store
from kcl.loader.queries import PACKAGE, LoadedPackage
from kcl.loader.texts import PARSED, reading
from kcl.semantic.checked import CHECKED
from kcl.semantic.types import ANY, DictType, ListType, SchemaInfo, SchemaType
from kcl.syntax import ast
from tests.kcl.clocks import later, let_tick
from tests.kcl.memos import answers, walks

SAMPLE = Path(__file__).parents[3] / "sample-konfig"
MAIN = "import facade\n\na = facade.Facade {size = facade.limit}\n"
FACADE = """import model

schema Facade(model.Model):
    other: model.Sizes = []

limit = model.limit
"""
MODEL = """schema Model:
    size: int = 1
    more: {str:} = {a = 1}

type Sizes = [int]
limit = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    (folder / "model").mkdir(parents=True)
    (folder / "facade").mkdir()
    (folder / "kcl.mod").write_text('[package]\nname = "p"\nedition = "v0.11.0"\nversion = "0.0.1"\n')
    (folder / "main.k").write_text(MAIN)
    (folder / "facade" / "facade.k").write_text(FACADE)
    (folder / "model" / "model.k").write_text(MODEL)
    let_tick(tmp_path)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "kept"))


def _run(folder: Path, store: Store | None) -> tuple[api.RunResult, api.ParseCache]:
    """As a process would that has just begun, and finds no results."""
    cache = api.ParseCache(clock=later, store=store, results=False)
    return api.run(["main.k"], work_dir=folder, cache=cache), cache


def _rewritten(store: Store, change: Callable[[LoadedPackage], LoadedPackage | None]) -> int:
    """Writes other packages in the place of those that were parsed; answers how many."""
    changed = 0
    for entry in Path(store.folder).glob("parsed-*.entry"):
        content = store.read(entry.stem)
        assert content is not None
        inputs, body = marshal.loads(content)
        known = change(PACKAGES.from_bytes(body))
        if known is not None:
            store.write(entry.stem, marshal.dumps((inputs, PACKAGES.to_bytes(known))))
            changed += 1
    return changed


def test_the_next_process_takes_the_packages_as_they_were_parsed(folder: Path, store: Store) -> None:
    first, _ = _run(folder, store)
    kinds = Counter(each.name.partition("-")[0] for each in Path(store.folder).glob("*.entry"))
    assert kinds - Counter({"compiled": 1}) == {"parsed": 2, "checked": 2, "said": 1}, "compiled where something was"

    def other(value: LoadedPackage) -> LoadedPackage | None:
        if value.package.path != "model":
            return None
        (module,) = value.package.modules
        tree = api.parse(MODEL.replace("limit = 3", "limit = 7"), module.name).module
        return replace(value, package=replace(value.package, modules=(replace(module, tree=tree),)))

    assert _rewritten(store, other) == 1
    again, _ = _run(folder, store)
    assert first.documents == ({"a": {"size": 3, "more": {"a": 1}, "other": []}},)
    assert again.documents == ({"a": {"size": 7, "more": {"a": 1}, "other": []}},)


def test_the_next_process_takes_the_packages_as_they_were_checked(folder: Path, store: Store) -> None:
    with walks() as walked:
        _run(folder, store)
    assert walked == ["model", "facade", "__main__"]
    (folder / "model" / "model.k").write_text("# one line more\n" + MODEL)
    let_tick(folder)
    with walks() as walked:
        _, cache = _run(folder, store)
    assert walked == ["model", "__main__"], "facade is taken from disk, where its places are those of another text"
    checked = _checked(cache)
    facade, model = checked["facade"].scope.names, checked["model"].scope.names
    assert facade["Facade"].type.info.base is model["Model"].type.info
    assert model["Model"].type.info.attributes["more"].type.value is ANY


def _checked(cache: api.ParseCache) -> dict[str, Any]:
    return {each.path: each for each in answers(cache.memo, CHECKED).values()}


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        ("limit = 3", "limit = 5", 5),
        ("size: int = 1", "size: int = 1\n    # none", 3),
        ("limit = 3", "limit = 9.5", None),
    ],
)
def test_a_change_on_disk_is_seen(folder: Path, store: Store, old: str, new: str, size: int | None) -> None:
    _run(folder, store)
    model = folder / "model" / "model.k"
    model.write_text(MODEL.replace(old, new))
    let_tick(folder)
    for _ in range(2):
        if size is None:
            with pytest.raises(api.ProgramError) as caught:
                _run(folder, store)
            with pytest.raises(api.ProgramError) as cold:
                _run(folder, None)
            assert caught.value.render() == cold.value.render()
        else:
            assert _run(folder, store)[0].documents[0]["a"]["size"] == size


def test_other_times_alone_have_files_read_and_not_parsed(folder: Path, store: Store) -> None:
    _, cold = _run(folder, store)
    os.utime(folder / "model" / "model.k", ns=(10**18, 10**18))
    result, cache = _run(folder, store)
    assert result.documents == ({"a": {"size": 3, "more": {"a": 1}, "other": []}},)
    ((warm,), (cold_one,)) = (_checked(each)["model"].package.modules for each in (cache, cold))
    warm_tree, cold_tree = warm.tree, cold_one.tree
    assert warm_tree is not cold_tree
    path = str(folder / "model" / "model.k")
    _, tree, _ = reading(cache.memo, lambda name: MODEL).get(PARSED, (path, True))
    assert tree is warm_tree


def _schema(folder: Path, store: Store) -> ast.Schema:
    """A schema as a process finds it that has just begun."""
    _, cache = _run(folder, store)
    (known,) = (each for each in answers(cache.memo, PACKAGE).values() if each.package.path == "model")
    (schema,) = (each for each in known.package.modules[0].tree.body if isinstance(each, ast.Schema))
    return schema


def test_a_schema_is_read_when_somebody_asks_for_what_is_in_it(folder: Path, store: Store) -> None:
    (folder / "main.k").write_text("import model\n\na = model.limit\n")
    let_tick(folder)
    made = _schema(folder, store)
    schema = _schema(folder, store)
    assert made is not schema and schema.name == "Model" and (schema.start, schema.end) == (made.start, made.end)
    assert hasattr(schema, "_read") and not hasattr(made, "_read"), "declared, and not read"
    assert repr(schema) == repr(made) and not hasattr(schema, "_read")
    assert schema.body is schema.body
    with pytest.raises(AttributeError, match="'Schema' object has no attribute 'bodies'"):
        schema.bodies  # noqa: B018


def _described(info: SchemaInfo | None) -> object:
    if info is None:
        return None
    return (
        *(info.full, info.is_mixin, info.is_protocol, info.is_rule, info.required, str(info.signature)),
        *(other and other.full for other in (info.base, info.protocol, *info.mixins)),
        [(name, str(each.type), each.optional, each.span) for name, each in info.attributes.items()],
        [(each.name, str(each.type), each.has_default) for each in info.function.params],
    )


def test_what_was_found_out_of_schemas_is_read_when_somebody_asks_for_it(store: Store) -> None:
    root = Path(__file__).parents[3] / "sample-konfig"
    stack = root / "storefront" / "checkout" / "prod"

    def infos() -> list[SchemaInfo]:
        cache = api.ParseCache(clock=later, store=store, results=False)
        api.run(work_dir=stack, settings=["kcl.yaml"], cache=cache)
        scopes = [each.scope for key, each in sorted(answers(cache.memo, CHECKED).items()) if key[2] != "__main__"]
        types = [each.type for scope in scopes for each in scope.names.values()]
        return [each.info for each in types if isinstance(each, SchemaType) and not each.is_instance]

    made, read = infos(), infos()
    unread = [hasattr(each, "_read") for each in read]
    assert not any(hasattr(each, "_read") for each in made)
    assert unread.count(True) > 0.5 * len(unread), "most of what models declare a stack has no use for"
    assert [*map(_described, made)] == [*map(_described, read)]
    assert not any(hasattr(each, "_read") for each in read)
    by_name = {each.full: each for each in read}
    bases = [each.base for each in read if each.base is not None]
    assert bases and all(each is by_name[each.full] for each in bases), "one object for one schema"


CIRCLES = """schema One(Other):
    other?: Other

schema Other(One):
    one?: One

schema Twice:
    first?: One

schema Twice:
    second?: Twice
"""


def test_schemas_that_are_wrong_are_read_as_they_were_checked(folder: Path, store: Store) -> None:
    (folder / "model" / "model.k").write_text(MODEL + CIRCLES)
    let_tick(folder)
    cold = _said(folder, None)
    assert "circular reference" in cold and "Twice" in cold
    assert [_said(folder, store) for _ in range(3)] == [cold] * 3


def test_threads_that_ask_at_once_for_what_is_in_a_schema_get_the_same(folder: Path, store: Store) -> None:
    (folder / "main.k").write_text("import model\n\na = model.limit\n")
    let_tick(folder)
    _run(folder, store)
    for _ in range(20):
        schema, ready = _schema(folder, store), Barrier(4)

        def ask(schema: ast.Schema = schema, ready: Barrier = ready) -> list[ast.Stmt]:
            ready.wait()
            return schema.body

        with ThreadPoolExecutor(4) as pool:
            bodies = [each.result() for each in [pool.submit(ask) for _ in range(4)]]
        assert len({*map(id, bodies)}) == 1


def test_a_new_file_of_a_package_is_seen(folder: Path, store: Store) -> None:
    _run(folder, store)
    (folder / "model" / "another.k").write_text("schema Another:\n    a: int = 1\n")
    (folder / "main.k").write_text(MAIN + "import model\n\nb = model.Another {}\n")
    assert _run(folder, store)[0].documents[0]["b"] == {"a": 1}


def test_what_is_damaged_or_foreign_is_made_anew(folder: Path, store: Store) -> None:
    first, _ = _run(folder, store)
    entries = sorted(Path(store.folder).glob("*.entry"))
    for number, entry in enumerate(entries):
        store.write(entry.stem, [b"", b"nothing of ours", to_bytes(["a list"]), to_bytes(Path("x"))][number % 4])
    again, _ = _run(folder, store)
    assert again.documents == first.documents
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-1])
    assert _run(folder, store)[0].documents == first.documents


def _said(folder: Path, store: Store | None) -> str:
    """What a process says that has just begun, "" of a program that is right."""
    try:
        _run(folder, store)
    except api.ProgramError as problem:
        return problem.render()
    return ""


def test_the_next_process_takes_what_was_found_wrong_with_a_package(folder: Path, store: Store) -> None:
    (folder / "facade" / "facade.k").write_text(FACADE + "wrong: int = 'x'\n")
    let_tick(folder)
    first = _said(folder, store)
    assert "expected int, got str(x)" in first
    for entry in Path(store.folder).glob("checked-*.entry"):
        content = store.read(entry.stem)
        assert content is not None
        store.write(entry.stem, content.replace(b"expected int, got", b"EXPECTED int, got"))
    assert _said(folder, store) == first.replace("expected", "EXPECTED")
    (folder / "main.k").write_text(f"# another text\n{MAIN}")
    let_tick(folder)
    assert _said(folder, store) == first.replace("expected", "EXPECTED")


_EDITS: dict[str, tuple[str, ...]] = {
    "main.k": (
        MAIN,
        f"# a line more\n{MAIN}",
        MAIN.replace("facade.limit", '"much"'),
        "import facade\na = facade.none\n",
    ),
    "facade/facade.k": (
        FACADE,
        f"\n{FACADE}",
        FACADE + "wrong = model.Model {size = 'x'}\n",
        FACADE + "\nwrong = model.Model {seize = 1}\nother: int = model.limit\n",
        FACADE + "import gone\nwrong = gone.x + 1\nmore: int = 'x'\n",
        FACADE + "broken = [\n",
    ),
    "model/model.k": (
        MODEL,
        f"# a line more\n{MODEL}",
        MODEL.replace("limit = 3", "limit = 'x'"),
        MODEL.replace("size: int", "size: str"),
        MODEL.replace("schema Model", "schema Made"),
    ),
    "gone/gone.k": ("x = 1\n", "x = 'a'\n", ""),
}


@pytest.mark.parametrize("seed", range(int(os.environ.get("KONFIG_WORKBENCH_EDIT_SEQUENCES", "3"))))
def test_what_is_wrong_is_told_as_if_nothing_had_been_kept(folder: Path, store: Store, seed: int) -> None:
    """Each step in a process of its own, and in one that goes on, after edits of files that import each other."""
    rng = random.Random(seed)
    resident = api.ParseCache(clock=later, store=store, results=False)
    (folder / "gone").mkdir()
    wrong = 0
    for _ in range(12):
        for _ in range(rng.choice((1, 1, 2))):
            name = rng.choice(list(_EDITS))
            text = rng.choice(_EDITS[name])
            if text:
                (folder / name).write_text(text)
            else:
                (folder / name).unlink(missing_ok=True)
        let_tick(folder)
        cold = _said(folder, None)
        wrong += bool(cold)
        assert _said(folder, store) == cold
        try:
            api.run(["main.k"], work_dir=folder, cache=resident)
            assert cold == ""
        except api.ProgramError as problem:
            assert problem.render() == cold
    assert wrong


def test_what_is_wrong_is_told_with_the_right_places(folder: Path, store: Store) -> None:
    _run(folder, store)
    (folder / "main.k").write_text(MAIN.replace("facade.limit", '"much"'))
    for _ in range(2):
        with pytest.raises(api.ProgramError) as caught:
            _run(folder, store)
        with pytest.raises(api.ProgramError) as cold:
            _run(folder, None)
        assert caught.value.render() == cold.value.render()
        (folder / "model" / "model.k").write_text("# one line more\n" + MODEL)
        let_tick(folder)


def test_generated_code_is_kept_and_the_same_in_every_process(folder: Path, store: Store) -> None:
    many = MAIN + "b = [facade.Facade {size = each} for each in range(100)]\n"
    own = "schema Own:\n    said: str = 'never on disk'\n\nc = [Own {} for each in range(20)]\n"
    (folder / "main.k").write_text(many + own)
    first, _ = _run(folder, store)
    kept = {entry.name: entry.read_bytes() for entry in Path(store.folder).glob("code-*.entry")}
    assert kept
    assert not any(b"never on disk" in each.read_bytes() for each in Path(store.folder).iterdir())
    for seed in ("1", "2"):
        script = (
            "import sys; from kcl import api; "
            "cache = api.ParseCache(store=api.Store(sys.argv[2]), results=False); "
            "api.run(['main.k'], work_dir=sys.argv[1], cache=cache)"
        )
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", script, folder, store.folder], env=environment, check=True, timeout=60)
    assert {entry.name for entry in Path(store.folder).glob("code-*.entry")} == kept.keys()
    for name in kept:
        store.write(name.removesuffix(".entry"), b"no code at all")
    again, _ = _run(folder, store)
    assert again.documents == first.documents
    assert {entry.name for entry in Path(store.folder).glob("code-*.entry")} == kept.keys()


def test_threads_that_share_a_cache_keep_nothing_wrong_and_the_next_run_keeps_the_rest(
    folder: Path, store: Store
) -> None:
    """Of a package that several check at once what they found may belong to each other's imports: it is left out."""
    first, _ = _run(folder, None)
    cache = api.ParseCache(clock=later, store=store, results=False)
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(api.run, ["main.k"], work_dir=folder, cache=cache) for _ in range(16)]
        assert all(each.result(timeout=60).documents == first.documents for each in runs)
    for _ in range(2):
        again, _ = _run(folder, store)
        assert again.documents == first.documents
    (folder / "model" / "model.k").write_text("# one line more\n" + MODEL)
    let_tick(folder)
    with walks() as walked:
        _run(folder, store)
    assert walked == ["model", "__main__"]


def test_files_in_memory_are_not_kept(folder: Path, store: Store) -> None:
    overlay = api.OverlayFileSystem(api.OsFileSystem(), {str(folder / "model" / "model.k"): MODEL})
    api.run(["main.k"], work_dir=folder, file_system=overlay, cache=api.ParseCache(clock=later, store=store))
    names = b"".join(entry.read_bytes() for entry in Path(store.folder).glob("*.entry"))
    assert b"schema Model" not in names


def test_bytes_name_nothing_but_classes_of_the_language() -> None:
    with pytest.raises(BROKEN):
        from_bytes(to_bytes(os.system), ("kcl.",))
    with pytest.raises(BROKEN):
        from_bytes(to_bytes(api.parse), ("kcl.",))
    with pytest.raises(BROKEN):
        from_bytes(to_bytes(ListType(ANY)), ("kcl.syntax.",))
    read = from_bytes(to_bytes([DictType(ANY, ANY)]), ("kcl.semantic.",))
    assert isinstance(read[0], DictType)


def test_processes_that_find_other_texts_each_time_compile_as_if_nothing_were_kept(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    shutil.copytree(SAMPLE, root)
    store, rng = Store(str(tmp_path / "kept")), random.Random(7)
    stacks = sorted(each.parent for each in root.rglob("kcl.yaml"))
    shared = sorted(each for each in (root / "models").rglob("*.k"))
    let_tick(tmp_path)
    for _ in range(12):
        stack = rng.choice(stacks)
        outcomes = []
        for kept in (store, store, None):
            try:
                result = api.run(work_dir=stack, settings=["kcl.yaml"], cache=api.ParseCache(clock=later, store=kept))
                outcomes.append((result.yaml(), repr(result.diagnostics), result.dependencies))
            except api.ProgramError as problem:
                outcomes.append((problem.render(), "", frozenset()))
        assert outcomes[0] == outcomes[1] == outcomes[2]
        file = rng.choice(shared)
        lines = file.read_text().split("\n")
        at = rng.randrange(len(lines))
        lines[at : at + 1] = [[], [lines[at], ""], [lines[at], lines[at]], [lines[at], "# said"]][rng.randrange(4)]
        file.write_text("\n".join(lines))
