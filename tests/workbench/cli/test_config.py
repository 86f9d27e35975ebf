"""`wb config`: a value over the cube, two points of it, and conflicts of dimensions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.dimensioned import settings, write, write_company
from tests.kcl.clocks import wait_until_settled
from tests.workbench.cli.command import Wb
from workbench.engine.final_inputs import FinalOverridden
from workbench.exit_codes import ExitCode
from workbench.session import Session
from workbench.session.configuring import ValueOverCube
from workbench.settings import Settings

SAMPLE = Path(__file__).parents[3] / "sample-konfig"
STACK = "app000/hangzhou-birch-prod"
SITE = "site hangzhou dimensions/site/hangzhou.k:5"
TENANT = "tenant birch dimensions/tenant/birch.k:5"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two applications at two sites for two tenants in two environments: 16 stacks. The command stands in it."""
    root = tmp_path / "company"
    write_company(root)
    monkeypatch.chdir(root)
    return root


def append(root: Path, name: str, text: str) -> None:
    path = root / name
    path.write_text(path.read_text() + text)


def test_a_value_is_shown_in_each_stack_with_its_dimension_and_line(root: Path, wb: Wb) -> None:
    ended = wb("config", "get", "web.replicas", "--where", "site=hangzhou,env=prod")
    assert (ended.code, ended.err) == (ExitCode.OK, "")
    assert [line.split() for line in ended.out.splitlines()] == [
        ["STACK", "SITE", "TENANT", "ENV", "VALUE", "FROM", "LINE"],
        f"app000/hangzhou-acorn-prod hangzhou acorn prod 3 {SITE}".split(),
        f"app000/hangzhou-birch-prod hangzhou birch prod 5 {TENANT}".split(),
        f"app001/hangzhou-acorn-prod hangzhou acorn prod 3 {SITE}".split(),
        f"app001/hangzhou-birch-prod hangzhou birch prod 5 {TENANT}".split(),
    ]


def test_a_field_of_a_resource_is_found_in_lists_and_others_are_counted(root: Path, wb: Wb) -> None:
    path = "spec.template.spec.containers[name=app001].resources.requests.cpu"
    ended = wb("config", "get", "Deployment/app001", path, "--where", "si=shanghai,tenant=acorn", "-o", "json")
    assert ended.code == ExitCode.OK
    assert ended.err == "2 more stacks have no Deployment/app001\n"
    said = ended.json()
    assert (said["status"], said["without"]) == ("ok", 2)
    assert [(each["stack"], each["value"]) for each in said["values"]] == [
        ("app001/shanghai-acorn-pre", "200m"),
        ("app001/shanghai-acorn-prod", "500m"),
    ]
    assert said["values"][1]["sources"] == [{"from": "env prod", "source": "dimensions/env/prod.k:5"}]


def test_values_with_fields_and_those_of_projects_stacks_and_models_have_their_origin(root: Path, wb: Wb) -> None:
    write(root, f"apps/{STACK}/main.k", 'import models\n\nweb: models.App {\n    config.DEBUG = "on"\n}\n')
    point = "site=hangzhou,tenant=birch,env=prod"

    def of(path: str) -> tuple[object, list[dict[str, str]]]:
        first = wb("config", "get", path, "--where", point, "-o", "json").json()["values"][0]
        return first["value"], first["sources"]

    assert of("web.config") == (
        {"ZONE": "hangzhou-0", "DEBUG": "on"},
        [
            {"from": "site hangzhou", "source": "dimensions/site/hangzhou.k:4"},
            {"from": "stack", "source": f"apps/{STACK}/main.k:4"},
        ],
    )
    assert of("web.image") == (
        "registry.orchard.example/app000:1.0",
        [{"from": "project", "source": "apps/app000/base/base.k:5"}],
    )
    missing = wb("config", "get", "web.config.DEBUG", "--where", "tenant=birch,env=prod|pre,site=hangzhou")
    assert missing.code == ExitCode.OK and missing.out.count("not set") == 3 and " on " in missing.out


def test_what_can_not_be_compiled_has_a_row_that_says_so(root: Path, wb: Wb) -> None:
    append(root, f"apps/{STACK}/main.k", "broken = nothing\n")
    for _ in range(2):
        ended = wb("config", "get", "web.replicas", "--where", "site=hangzhou,env=prod")
        assert ended.code == ExitCode.DIFF_FAILED
        rows = {line.split()[0]: line for line in ended.out.splitlines()}
        assert "name 'nothing' is not defined" in rows[STACK] and "main.k:" in rows[STACK]
        assert " 5 " in rows["app001/hangzhou-birch-prod"]
    document = wb("config", "get", "web.nothing", "-o", "json")
    assert document.code == ExitCode.DIFF_FAILED and document.json()["status"] == "unknown"


def test_stacks_that_may_be_missing_make_the_answer_uncertain(root: Path, wb: Wb) -> None:
    write(root, f"apps/{STACK}/stack.yaml", "name: [\n")
    ended = wb("config", "get", "web.replicas")
    assert ended.code == ExitCode.DIFF_FAILED and "is not valid YAML" in ended.err
    assert wb("config", "get", "web.replicas").code == ExitCode.DIFF_FAILED


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("wbe.replicas",), "no stack has a variable or resource 'wbe'"),
        (("web.replica",), "no stack has 'replica' in web"),
        (("web.replica",), "did you mean replicas"),
        (("Deployment/ap001", "spec.replicas"), "did you mean Deployment/app001"),
        (("Deployment/app001", "spec.replica"), "did you mean spec.replicas"),
        (("web.replicas", "--where", "sit3=a"), "there is no dimension 'sit3', did you mean site?"),
        (("web.replicas", "--where", "env=prd"), "env has no value 'prd', did you mean prod?"),
        (("web.replicas", "--where", "env"), "'env' is not of the form DIMENSION=VALUE"),
        (("web.replicas", "--where", "env=pre,env=prod"), "env is named twice"),
        (("[0]",), "names no variable"),
        (("web..x",), "can't be read from"),
    ],
)
def test_what_is_not_there_is_an_error_with_the_nearest_name(
    root: Path, wb: Wb, arguments: tuple[str, ...], expected: str
) -> None:
    ended = wb("config", "get", *arguments)
    assert ended.code == ExitCode.ERROR and expected in ended.err and ended.out == ""


def test_options_are_given_and_what_they_make_is_not_kept(root: Path, wb: Wb, tmp_path: Path) -> None:
    append(root, "dimensions/global.k", 'level = option("level", default="low")\n')
    where = ("--where", "site=hangzhou,tenant=birch")
    assert wb("config", "get", "level", *where).out.count(" low ") == 4
    given = wb("config", "get", "level", *where, "-D", "level=high")
    assert given.out.count(" high ") == 4 and "dimensions/global.k:8" in given.out
    assert wb("config", "get", "level", *where).out.count(" low ") == 4


def test_a_point_where_no_stack_lies_is_an_error(root: Path, wb: Wb) -> None:
    shutil.rmtree(root / "apps/app000")
    for each in (root / "apps/app001").glob("*-prod"):
        shutil.rmtree(each)
    ended = wb("config", "get", "web.replicas", "--where", "env=prod")
    assert ended.code == ExitCode.ERROR and "no stack lies at env=prod" in ended.err


def test_a_repository_without_dimensions_has_values_too(wb: Wb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLE)
    ended = wb("config", "get", "sessionCache.size.cpu", "-o", "json")
    assert ended.code in (ExitCode.OK, ExitCode.DIFF_FAILED)
    ended = wb("config", "get", "Deployment/web", "spec.replicas", "--where", "env=prod")
    assert ended.code == ExitCode.ERROR and "declares no dimensions with values" in ended.err
    ended = wb("config", "check")
    assert ended.code == ExitCode.OK and "declares no dimensions: dimensions.yaml" in ended.err


# --- what is asked again


class Asking:
    """Asks with a cache of its own, and without any: both say the same."""

    def __init__(self, root: Path, tmp_path: Path) -> None:
        self.root, self._tmp_path, self._count = root, tmp_path, 0

    def __call__(self, path: str = "web.replicas", where: str = "") -> int:
        """Returns how many stacks were evaluated."""
        wait_until_settled()
        self._count += 1
        found = self._ask(path, where, "cache")
        assert found.answers == self._ask(path, where, f"cache-{self._count}").answers
        return found.evaluated

    def cached(self, subject: str, path: str = "") -> ValueOverCube:
        """Returns what the cache of its own says, if need be after evaluating."""
        settings_ = Settings(self._tmp_path / "state", self._tmp_path / "cache", user="ann", host="box")
        return Session.open(self.root, settings=settings_).config_value(subject, path)

    def _ask(self, path: str, where: str, cache: str) -> ValueOverCube:
        settings_ = Settings(self._tmp_path / "state", self._tmp_path / cache, user="ann", host="box")
        return Session.open(self.root, settings=settings_).config_value(path, "", where)


def test_only_what_has_changed_is_evaluated_again(root: Path, tmp_path: Path) -> None:
    asking = Asking(root, tmp_path)
    assert asking(where="env=prod") == 8
    assert [asking(), asking(), asking("web.labels.tenant")] == [8, 0, 0]
    append(root, "dimensions/site/hangzhou.k", "web: models.App {\n    replicas = 7\n}\n")
    assert [asking(where="site=shanghai"), asking(), asking()] == [0, 8, 0]
    append(root, f"apps/{STACK}/main.k", "web: models.App {\n    replicas = 11\n}\n")
    assert [asking(), asking()] == [1, 0]


def test_definitions_of_a_project_belong_to_its_stacks(root: Path, tmp_path: Path) -> None:
    asking = Asking(root, tmp_path)
    assert asking(where="env=prod,site=hangzhou,tenant=birch") == 2
    definition = "apiVersion: a/v1\nkind: Definition\nmetadata: {name: d}\nspec: {size: %d}\n"
    for size in (1, 2):
        write(root, "apps/app000/crd/d.yaml", definition % size)
        wait_until_settled()
        found = asking.cached("Definition/d", "spec.size")
        assert {each.value for each in found.answers} == {size} and len(found.answers) == 8


def test_a_stack_without_a_list_is_read_from_its_folders(root: Path, tmp_path: Path) -> None:
    (root / f"apps/{STACK}/kcl.yaml").unlink()
    write(root, f"apps/{STACK}/main.k", "import manifests\n\nhere = 1\nmanifests.yaml_stream([])\n")
    wait_until_settled()
    asking = Asking(root, tmp_path)
    assert [each.value for each in asking.cached("here").answers] == [1]
    write(root, f"apps/{STACK}/more.k", "there = 2\n")
    wait_until_settled()
    assert [each.value for each in asking.cached("there").answers] == [2]
    write(root, "apps/app000/base/more.k", "above = 3\n")
    wait_until_settled()
    assert [each.value for each in asking.cached("above").answers] == [3]


def test_stacks_and_dimensions_that_come_and_go_are_noticed(root: Path, tmp_path: Path) -> None:
    asking = Asking(root, tmp_path)
    assert asking() == 16
    shutil.rmtree(root / "apps/app001")
    assert asking() == 0
    folder = root / f"apps/{STACK}"
    shutil.copytree(folder, folder.with_name("copy"))
    write(root, "apps/app000/copy/stack.yaml", "name: copy\ndimensions: {site: hangzhou, tenant: birch, env: prod}\n")
    assert asking() == 1
    write(root, "dimensions/tenant/cedar.k", 'import models\n\nweb: models.App {\n    labels.tenant = "cedar"\n}\n')
    write(root, "apps/app000/copy/stack.yaml", "name: copy\ndimensions: {site: hangzhou, tenant: cedar, env: prod}\n")
    write(root, "apps/app000/copy/kcl.yaml", settings("hangzhou", "cedar", "prod"))
    assert [asking("web.labels.tenant", "tenant=cedar"), asking()] == [1, 0]


def test_what_was_kept_and_damaged_is_made_again(root: Path, tmp_path: Path) -> None:
    asking = Asking(root, tmp_path)
    assert asking() == 16
    (folder,) = (tmp_path / "cache/cube").iterdir()
    for text in (b"", b"\xff" * 40, b"web"):
        for each in tuple(folder.iterdir()):
            each.write_bytes(each.read_bytes().replace(b"web", b"wbe") if text == b"web" else text)
        asking()
    head, *groups = sorted(folder.iterdir(), key=lambda each: each.name != "head")
    for each in groups:
        each.unlink()
    assert (head.name, asking()) == ("head", 16)


def test_a_program_that_asks_for_more_than_files_is_evaluated_each_time(root: Path, tmp_path: Path) -> None:
    asking = Asking(root, tmp_path)
    append(root, f"apps/{STACK}/main.k", 'import file\n\nhere = file.exists("main.k")\n')
    assert asking() == 16
    assert asking() == 1


# --- secrets


SECRET = "cnry-Secret/77x"


def _with_secret(root: Path, file: str, secret: str = SECRET) -> None:
    append(root, file, f'web: models.App {{\n    config.DB_PASSWORD = "{secret}"\n}}\n')


def test_secrets_are_in_no_answer_and_in_nothing_that_is_kept(root: Path, wb: Wb, tmp_path: Path) -> None:
    _with_secret(root, "dimensions/site/hangzhou.k")
    append(root, f"apps/{STACK}/main.k", f'copy = "x {SECRET} y"\n')
    said = [
        wb("config", "get", "web.config.DB_PASSWORD"),
        wb("config", "get", "web.config", "-o", "json"),
        wb("config", "get", "copy"),
        wb("config", "get", "Deployment/app000", "spec.template.spec.containers", "-o", "yaml"),
        wb("config", "diff", "site=hangzhou", "site=shanghai"),
        wb("config", "check"),
    ]
    assert all(SECRET not in each.text for each in said)
    assert "«masked»" in said[0].out and "«masked»" in said[1].out
    kept = [each.read_bytes() for each in (tmp_path / "cache").rglob("*") if each.is_file()]
    assert kept and not any(SECRET.encode() in each for each in kept)


def test_secrets_that_differ_have_other_masks(root: Path, wb: Wb) -> None:
    _with_secret(root, "dimensions/site/hangzhou.k")
    _with_secret(root, "dimensions/site/shanghai.k")
    same = wb("config", "diff", "site=hangzhou", "site=shanghai")
    assert same.code == ExitCode.DIFFERENT and "DB_PASSWORD" not in same.out
    _with_secret(root, "apps/app000/hangzhou-acorn-pre/main.k", "cnry-Another/77x")
    other = wb("config", "diff", "site=hangzhou", "site=shanghai")
    assert other.out.count("«masked#") >= 2 and "web.config.DB_PASSWORD" in other.out
    assert "cnry" not in other.text


# --- two points


def test_two_points_are_compared_value_by_value(root: Path, wb: Wb) -> None:
    ended = wb("config", "diff", "env=pre,site=hangzhou", "env=prod,site=hangzhou", "-o", "json")
    assert (ended.code, ended.err) == (ExitCode.DIFFERENT, "")
    found = {each["value"]: each for each in ended.json()["differences"]}
    assert {each for each in found if each.startswith("web.")} == {"web.cpu", "web.labels.env"}
    cpu = found["web.cpu"]
    assert (cpu["left"]["value"], cpu["right"]["value"]) == ("200m", "500m")
    assert cpu["left"]["sources"] == [{"from": "global", "source": "dimensions/global.k:4"}]
    assert cpu["right"]["sources"] == [{"from": "env prod", "source": "dimensions/env/prod.k:5"}]
    assert cpu["stacks"][0] == {"left": "app000/hangzhou-acorn-pre", "right": "app000/hangzhou-acorn-prod"}
    assert len(cpu["stacks"]) == 4
    rendered = found["Deployment/app000 spec.template.spec.containers[0].resources.requests.cpu"]
    assert rendered["left"]["value"] == "200m" and len(rendered["stacks"]) == 2


def test_points_that_are_alike_and_those_that_can_not_be_compared_end_otherwise(root: Path, wb: Wb) -> None:
    same = wb("config", "diff", "env=pre", "env=pre")
    assert (same.code, same.out.splitlines()[1:]) == (ExitCode.OK, [])
    append(root, f"apps/{STACK}/main.k", "broken = nothing\n")
    failed = wb("config", "diff", "env=pre,tenant=birch", "env=prod,tenant=birch")
    assert failed.code == ExitCode.DIFF_FAILED and f"{STACK} is not compared" in failed.err
    assert "web.cpu" in failed.out, "of the others it is known"
    for each in (root / "apps").glob("*/*-prod"):
        shutil.rmtree(each)
    alone = wb("config", "diff", "env=pre", "env=prod")
    assert alone.code == ExitCode.DIFF_FAILED and "nothing was compared" in alone.err
    assert "have no counterpart at the other point" in alone.err


# --- conflicts


def test_conflicts_are_told_with_both_lines_and_what_wins(root: Path, wb: Wb) -> None:
    ended = wb("config", "check", "-o", "json")
    assert ended.code == ExitCode.OK
    found = {(each["path"], each["wins"], each["over"]): each for each in ended.json()["conflicts"]}
    assert found.keys() == {
        ("web.cpu", "env prod", "global"),
        ("web.replicas", "site hangzhou", "global"),
        ("web.replicas", "site shanghai", "global"),
        ("web.replicas", "tenant birch", "site hangzhou"),
        ("web.replicas", "tenant birch", "site shanghai"),
    }
    one = found["web.replicas", "tenant birch", "site hangzhou"]
    assert (one["source"], one["overridden"]) == ("dimensions/tenant/birch.k:5", "dimensions/site/hangzhou.k:5")
    assert len(one["stacks"]) == 4 and "tenant wins over site by the order of dimensions.yaml" in one["why"]
    text = wb("config", "check", "app000/*")
    assert "in 2 stacks" in text.out and "5 conflicts that only the declared order decides" in text.out


def test_equal_values_and_merged_ones_are_no_conflict_and_replaced_ones_are(root: Path, wb: Wb) -> None:
    def conflicts(tenant: str) -> set[str]:
        write(root, "dimensions/tenant/birch.k", f"import models\n\nweb: models.App {{\n    {tenant}\n}}\n")
        found = wb("config", "check", "-o", "json").json()["conflicts"]
        return {each["path"] for each in found if each["wins"] == "tenant birch"}

    assert conflicts("replicas = 3") == set()
    assert conflicts('config.OTHER = "1"') == set()
    assert conflicts('config: {ZONE = "other"}') == {"web.config.ZONE"}
    assert conflicts('config = {OTHER = "1"}') == {"web.config"}


def test_findings_of_lists_and_of_baselines_are_told(root: Path, wb: Wb) -> None:
    text = settings("hangzhou", "birch", "prod")
    write(root, f"apps/{STACK}/kcl.yaml", "\n".join(each for each in text.split("\n") if "tenant" not in each))
    write(root, "dimensions/env/pre.k", "web: {\n")
    ended = wb("config", "check")
    assert ended.code == ExitCode.ERROR
    assert "does not list dimensions/tenant/birch.k, the baseline of tenant birch" in ended.err
    assert "the baseline of env pre can't be read: pre.k:" in ended.err
    assert wb("config", "check", "none/*").code == ExitCode.ERROR


def test_what_overrides_something_final_ends_the_check(root: Path, wb: Wb) -> None:
    text = (root / "dimensions.yaml").read_text()
    (root / "dimensions.yaml").write_text(text.replace("global.k]", "global.k]\n    final: [web.cpu]"))
    ended = wb("config", "check", "app000/*")
    assert ended.code == ExitCode.ERROR
    said = "env/prod.k:5: web.cpu is final for global at dimensions/global.k:4, and sets it otherwise, in 4 stacks"
    assert said in ended.err, ended.text


def declare_final(root: Path) -> None:
    file = root / "dimensions.yaml"
    said = "files: [dimensions/global.k]"
    file.write_text(file.read_text().replace(said, f"{said}\n    final: [web.cpu]"))


def test_what_is_final_is_not_set_by_what_a_command_is_given(root: Path, wb: Wb) -> None:
    """`-D` through an option of the baseline, `-Y` by an override; one that has a waiver is put up with."""
    declare_final(root)
    text = (root / "dimensions/global.k").read_text()
    (root / "dimensions/global.k").write_text(text.replace('cpu = "200m"', 'cpu = option("cpu", default="200m")'))
    write(root, "more.yaml", 'kcl_cli_configs:\n  overrides: [web.cpu="7"]\n')
    stack = "app000/hangzhou-acorn-pre"
    folder = f"apps/{stack}"
    given = wb("compile", stack, "-D", "cpu=1234m")
    said = "web.cpu is final for global at dimensions/global.k:4, and -D cpu would set it otherwise"
    assert (given.code, given.out) == (ExitCode.ERROR, "") and said in given.err and "1234m" not in given.err
    settings_ = wb("compile", stack, "-Y", str(root / "more.yaml"))
    assert settings_.code == ExitCode.ERROR and "more.yaml would set it otherwise" in settings_.err

    every = wb(
        "compile", "--all", "--into", str(root.parent / "specs"), "-D", "cpu=1234m", "--changed", f"{folder}/main.k"
    )
    assert every.code == ExitCode.ERROR and said in every.text
    waiver = "waivers: [{path: web.cpu, until: 2999-12-31, reason: trial}]\n"
    append(root, "dimensions.yaml", waiver)
    assert "1234m" in wb("compile", stack, "-D", "cpu=1234m").out


async def test_a_what_if_does_not_set_what_is_final_unless_in_the_baseline_itself(root: Path, tmp_path: Path) -> None:
    declare_final(root)
    settings_ = Settings(tmp_path / "state", tmp_path / "cache")
    async with Session.open(root, settings=settings_) as session:
        stack = session.select("app000/hangzhou-acorn-pre")
        main = stack.directory / "main.k"
        whatif = session.whatif(stack).edit(main, 'import models\n\nweb: models.App {\n    cpu = "9"\n}\n')
        with pytest.raises(FinalOverridden, match="edits that are not saved would set it otherwise") as raised:
            await session.compile(stack, whatif.inputs)
        assert raised.value.where.endswith("main.k:4")
        baseline = root / "dimensions/global.k"
        own = session.whatif(stack).edit(baseline, baseline.read_text().replace("200m", "300m"))
        await session.compile(stack, own.inputs)
