"""`wb impact` and `wb ci` on a small repository with a history."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workbench.cli.command import Ended, Wb
from tests.workbench.cli.conftest import Place

_WHO = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *_WHO, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(root: Path, *words: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x", *words)


def edit(root: Path, file: str, old: str, new: str) -> None:
    path = root / file
    text = path.read_text()
    assert old in text, text
    path.write_text(text.replace(old, new))


@pytest.fixture
def shop(root: Path) -> Path:
    git(root, "init", "-q")
    commit(root)
    return root


def states(ended: Ended) -> dict[str, str]:
    return {each["stack"]: each["state"] for each in ended.json()["stacks"]}


def test_who_asks_clusters_is_not_told_to_ask_them_but_what_they_were_not_asked(wb: Wb, shop: Path) -> None:
    shutil.rmtree(shop / "web/dev")
    ended = wb("impact", "--live")
    assert ended.code == 1 and "web/dev is removed" in ended.out, ended.text
    assert ended.out.splitlines()[-1] == "clusters were not queried about what removed stacks have there"


def test_nothing_changed_is_zero_and_says_what_was_compared(wb: Wb, shop: Path) -> None:
    ended = wb("impact")
    assert ended.code == 0 and "nothing changes in 2 stacks" in ended.out and "clusters were not queried" in ended.out
    assert git(shop, "rev-parse", "--short=10", "HEAD") in ended.out


def test_a_shared_model_names_all_its_stacks_and_the_line_of_each_field(wb: Wb, shop: Path) -> None:
    edit(shop, "models/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    ended = wb("impact")
    assert ended.code == 1, ended.text
    assert "2 of 2 stacks change" in ended.out and "← web/prod/main.k:4" in ended.out, ended.out
    document = wb("impact", "-o", "json").json()
    (change,) = document["stacks"][0]["changes"]
    (field,) = change["fields"]
    assert (document["status"], field["path"], change["action"]) == ("different", "spec.replicas", "update")
    assert field["after"] == field["before"] + 1 and field["source"][0] == "web/dev/main.k:4"


def test_a_file_that_is_read_and_changes_nothing_is_told_apart(wb: Wb, shop: Path) -> None:
    edit(shop, "models/server.k", "schema Server:", "# what runs\nschema Server:")
    (shop / "README.md").write_text("read me\n")
    ended = wb("impact")
    assert ended.code == 0, ended.text
    assert "web/dev: reads models/server.k, and nothing changes" in ended.out
    assert "README.md: no stack reads it" in ended.out
    assert wb("impact", "-o", "json").json()["unread"] == ["README.md"]


def test_only_the_named_files_are_asked_about(wb: Wb, shop: Path) -> None:
    edit(shop, "models/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    edit(shop, "web/dev/main.k", "replicas = 1", "replicas = 1  # one")
    ended = wb("impact", "web/dev/main.k")
    assert ended.code == 0 and "web/dev: reads web/dev/main.k" in ended.out, ended.text
    assert "web/prod" not in ended.out
    assert set(states(wb("impact", "models", "-o", "json")).values()) == {"changed"}


def test_a_file_without_a_change_tells_who_reads_it(wb: Wb, shop: Path) -> None:
    ended = wb("impact", "models/server.k")
    assert ended.code == 0 and ended.out.count("reads models/server.k, and nothing changes") == 2
    assert wb("impact", "models/no.k").code == 3


def test_a_secret_is_masked_on_both_sides(wb: Wb, shop: Path, tmp_path: Path) -> None:
    secret = "correct-horse-battery-9"
    main = shop / "web/dev/main.k"
    main.write_text(main.read_text() + f'front: server.Server {{token = "{secret}"}}\n')
    commit(shop)
    main.write_text(main.read_text().replace(secret, secret[::-1]))
    for words in (("impact",), ("impact", "-o", "json"), ("impact", "-o", "yaml"), ("ci", "--annotations", "github")):
        ended = wb(*words)
        assert "masked#" in ended.text, ended.text
        assert secret not in ended.text and secret[::-1] not in ended.text


def test_the_same_text_behind_a_link_out_of_its_package_is_not_the_same(wb: Wb, shop: Path) -> None:
    with (shop / "kcl.mod").open("a") as manifest:
        manifest.write('[dependencies]\nparts = { path = "./lib/parts" }\n')
    for name, text in {"lib/parts/kcl.mod": '[package]\nname = "parts"\n', "elsewhere/s.k": "size = 1\n"}.items():
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(text)
    sizes = shop / "lib/parts/sizes"
    sizes.symlink_to("../../elsewhere")
    main = shop / "web/dev/main.k"
    main.write_text(f"import parts.sizes\n{main.read_text()}_size = sizes.size\n")
    commit(shop)
    sizes.unlink()
    (shop / "elsewhere").rename(sizes)
    ended = wb("impact")
    assert ended.code == 3 and "web/dev cannot be read or compiled before the change" in ended.out, ended.text
    assert "Cannot find the module parts.sizes" in ended.out and "web/prod" not in ended.out


def test_a_link_is_read_by_who_reads_through_it(wb: Wb, shop: Path) -> None:
    (shop / "models").rename(shop / "one")
    shutil.copytree(shop / "one", shop / "two")
    edit(shop, "two/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    (shop / "models").symlink_to("one")
    commit(shop)
    (shop / "models").unlink()
    (shop / "models").symlink_to("two")
    document = wb("impact", "-o", "json").json()
    assert [each["state"] for each in document["stacks"]] == ["changed", "changed"]
    assert [each["reads"] for each in document["stacks"]] == [["models"], ["models"]] and document["unread"] == []


@pytest.mark.parametrize("name", ["models/server.k", "real/server.k"])
def test_a_file_is_meant_by_all_its_names(wb: Wb, shop: Path, name: str) -> None:
    (shop / "real").mkdir()
    (shop / "models/server.k").rename(shop / "real/server.k")
    (shop / "models/server.k").symlink_to("../real/server.k")
    wb("compile", "--all", "--jobs", "1")
    commit(shop)
    edit(shop, "real/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    ended = wb("impact", name, "-o", "json")
    assert ended.code == 1 and states(ended) == {"web/dev": "changed", "web/prod": "changed"}, ended.text
    assert ended.json()["unread"] == []
    assert wb("compile", "--all", "--jobs", "1", "--changed", name).out.startswith("2 compiled in ")


def test_what_cannot_be_compiled_is_not_known(wb: Wb, shop: Path) -> None:
    (shop / "web/dev/main.k").write_text("}{\n")
    ended = wb("impact")
    assert ended.code == 3 and "what changes of 1 stack is not known" in ended.out, ended.text
    assert f"{shop}/web/dev/main.k:1" in ended.out
    assert "nothing changes" not in ended.out and "0 of 2 stacks" not in ended.out
    summary = wb("ci").out
    assert "Nothing changes" not in summary and "0 of 2 stacks" not in summary
    commit(shop)
    git(shop, "checkout", "-q", "HEAD~1", "--", "web/dev/main.k")
    ended = wb("impact", "-o", "json")
    assert ended.code == 3 and ended.json()["status"] == "unknown"
    (failure,) = next(each for each in ended.json()["stacks"] if each["stack"] == "web/dev")["failures"]
    # what was compiled lay elsewhere, and is named where the user has it
    assert failure["side"] == "before" and failure["where"].startswith(f"{shop}/web/dev/main.k:1")


def test_new_removed_and_renamed_stacks(wb: Wb, shop: Path) -> None:
    shutil.copytree(shop / "web/dev", shop / "web/test")
    (shop / "web/test/stack.yaml").write_text("name: test\n")
    edit(shop, "web/dev/stack.yaml", "dev", "devel")
    shutil.rmtree(shop / "web/prod")
    ended = wb("impact", "-o", "json")
    assert states(ended) == {"web/devel": "renamed", "web/test": "new", "web/prod": "removed"}
    text = wb("impact").out
    assert "was called web/dev" in text and "what it has live stays" in text
    for each in ended.json()["stacks"]:
        wanted = {"new": {"create"}, "removed": {"delete"}, "renamed": {"create", "delete"}}[each["state"]]
        assert {change["action"] for change in each["changes"]} == wanted


def test_where_a_stack_goes_is_part_of_the_impact(wb: Wb, shop: Path) -> None:
    edit(shop, "clusters.yaml", "clusters: [hz, sh]", "clusters: [sh]")
    ended = wb("impact")
    assert ended.code == 1 and "~ clusters: hz (context one), sh (context two) → sh (context two)" in ended.out
    assert "web/dev" not in ended.out


@pytest.mark.parametrize("file", ["clusters.yaml", "web/project.yaml"])
def test_a_broken_file_may_hide_stacks(wb: Wb, shop: Path, file: str) -> None:
    (shop / file).write_text("name: [\n")
    ended = wb("impact")
    assert ended.code == 3 and "not known" in ended.out and "nothing changes" not in ended.out, ended.out


def test_a_range_does_not_look_at_the_working_tree(wb: Wb, shop: Path) -> None:
    edit(shop, "models/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    commit(shop)
    (shop / "web/dev/main.k").write_text("}{\n")
    ended = wb("impact", "--git", "HEAD~1..HEAD")
    assert ended.code == 1 and "2 of 2 stacks change" in ended.out
    assert (shop / "web/dev/main.k").read_text() == "}{\n" and git(shop, "status", "--short") == "M web/dev/main.k"


def test_two_branches_are_compared_from_where_they_parted(wb: Wb, shop: Path) -> None:
    git(shop, "checkout", "-q", "-b", "side")
    (shop / "web/dev/more.k").write_text("x = 1\n")
    commit(shop)
    git(shop, "checkout", "-q", "-")
    edit(shop, "models/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    commit(shop)
    assert wb("impact", "--git", "HEAD...side").code == 0
    assert wb("impact", "--git", "HEAD..side").code == 1


@pytest.mark.parametrize("name", ["no-such", "-x", "HEAD~99", "HEAD..no-such", "no-such...HEAD"])
def test_a_revision_that_git_does_not_know(wb: Wb, shop: Path, name: str) -> None:
    ended = wb("impact", f"--git={name}")
    assert ended.code == 3 and "revision" in ended.err and "nothing changes" not in ended.text


def test_a_shallow_history_says_how_to_get_more(wb: Wb, shop: Path, tmp_path: Path) -> None:
    commit(shop, "--allow-empty")
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", f"file://{shop}", tmp_path / "shallow"], check=True, capture_output=True
    )
    ended = wb("-w", tmp_path / "shallow", "impact", "--git", "HEAD~1..HEAD")
    assert ended.code == 3 and "git fetch --unshallow" in ended.err


def test_a_missing_object_is_no_missing_file(wb: Wb, shop: Path) -> None:
    blob = git(shop, "rev-parse", "HEAD:models/server.k")
    (shop / ".git/objects" / blob[:2] / blob[2:]).unlink()
    ended = wb("impact")
    assert ended.code == 3 and "missing" in ended.err, ended.text


def test_without_git_nobody_knows(wb: Wb, root: Path) -> None:
    ended = wb("impact")
    assert ended.code == 3 and "lies in no git checkout" in ended.err


def test_a_repository_that_is_not_there_on_a_side(wb: Wb, root: Path) -> None:
    git(root, "init", "-q")
    git(root, "commit", "-qm", "none", "--allow-empty")
    ended = wb("impact", "-o", "json")
    assert ended.code == 1 and set(states(ended).values()) == {"new"}
    commit(root)
    assert set(states(wb("impact", "--git", "HEAD~1..HEAD", "-o", "json")).values()) == {"new"}
    ended = wb("impact", "--git", "HEAD..HEAD~1", "-o", "json")
    assert ended.code == 3 and set(states(ended).values()) == {"removed"}


def test_a_folder_that_becomes_a_file(wb: Wb, shop: Path) -> None:
    shutil.rmtree(shop / "models")
    (shop / "models").write_text("x\n")
    ended = wb("impact", "-o", "json")
    assert ended.code == 3 and set(states(ended).values()) == {"unknown"}
    assert wb("impact", "models").code == 3


def test_files_that_git_ignores_are_the_same_before(wb: Wb, shop: Path) -> None:
    (shop / ".gitignore").write_text("local.k\n")
    (shop / "models/local.k").write_text("note = 'here'\n")
    main = shop / "web/dev/main.k"
    main.write_text("import models.local\n" + main.read_text() + "_n = local.note\n")
    commit(shop)
    main.write_text(main.read_text() + "# seen\n")
    ended = wb("impact")
    assert ended.code == 0, ended.text


def test_a_submodule_that_changes_is_not_known(wb: Wb, shop: Path, tmp_path: Path) -> None:
    shutil.copytree(shop, tmp_path / "other")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "other"), "sub")
    commit(shop)
    ended = wb("impact", "--git", "HEAD~1..HEAD")
    assert ended.code == 3 and "a submodule changes" in ended.out, ended.text
    assert "sub: no stack reads it" not in ended.out  # nobody looked


def test_what_is_not_committed_in_a_submodule_is_not_known(wb: Wb, shop: Path, tmp_path: Path) -> None:
    """Git, asked for the checkout, does not look there: it says that nothing changed."""
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.copy(shop / "web/base/base.k", inner / "base.k")
    git(inner, "init", "-q")
    commit(inner)
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "web/sub")
    settings = shop / "web/dev/kcl.yaml"
    settings.write_text(settings.read_text().replace("../base/base.k", "../sub/base.k"))
    commit(shop)
    assert wb("impact").code == 0
    assert wb("compile", "--all", "--into", tmp_path / "specs").code == 0
    read = shop / "web/sub/base.k"
    read.write_text(read.read_text().replace("front:1", "front:2"))
    for ended in (wb("impact"), wb("impact", "web/sub/base.k"), wb("ci", "--annotations", "none")):
        assert ended.code == 3 and "web/sub" in ended.out and "a submodule changes" in ended.out, ended.text
    ended = wb("impact", "models/server.k")
    assert ended.code == 0, ended.text  # of that file alone it is known
    commit(read.parent)
    ended = wb("compile", "--all", "--into", tmp_path / "specs", "--since", "HEAD")
    assert ended.code == 0 and "1 compiled" in ended.text, ended.text
    ended = wb(
        "set", "web/dev", "Deployment/front", "spec.template.spec.containers[name=front].image=x", "--commit", "-y"
    )
    assert ended.code == 1 and "a repository of its own" in ended.err, ended.text
    assert "front:2" in read.read_text() and git(shop, "status", "--porcelain") == "M web/sub"


def test_a_file_of_a_repository_within_is_not_known(wb: Wb, shop: Path) -> None:
    """It is no submodule, and git does not say of its files that they are new."""
    inner = shop / "web/inner"
    inner.mkdir()
    (inner / "more.k").write_text("more = 1\n")
    git(inner, "init", "-q")
    commit(inner)
    ended = wb("impact", "web/inner/more.k")
    assert ended.code == 3 and "web/inner: a submodule changes" in ended.out, ended.text


async def test_live_objects_and_restarts(place: Place) -> None:
    git(place.root, "init", "-q")
    commit(place.root)
    await place.released("web/dev")
    place.edit("models/server.k", "image = s.image", 'image = s.image + "-next"')
    ended = await place("impact", "--live", "-o", "json")
    assert ended.code == 1, ended.text
    live = {each["stack"]: each["live"] for each in ended.json()["stacks"]}
    changes = [each for each in live["web/dev"]["changes"] if each["action"] == "update"]
    assert live["web/dev"]["summary"]["restarts"] == 1 and [each["restarts"] for each in changes] == [True]
    table = await place("impact", "--live")
    assert "restarts pods" in table.out and "clusters were not queried" not in table.out
    assert (await place("impact", "--live", "--git", "HEAD..HEAD")).code == 3


def test_clusters_that_do_not_answer_are_not_known(wb: Wb, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(shop / "no-kubeconfig"))
    edit(shop, "models/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    ended = wb("impact", "--live", "-o", "json")
    assert ended.code == 3 and ended.json()["status"] == "unknown"


def test_the_sample_repository(wb: Wb, sample_konfig: Path) -> None:
    root = sample_konfig
    git(root, "init", "-q")
    commit(root)
    edit(root, "storefront/checkout/prod/main.k", "replicas = 3", "replicas = 5")
    ended = wb("-w", root, "impact")
    assert ended.code == 1 and "1 of 14 stacks change: 1 change" in ended.out, ended.text
    assert "~ spec.replicas: 3 → 5  ← storefront/checkout/prod/main.k:12" in ended.out


# --- wb ci


def test_a_pull_request_of_github(wb: Wb, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(shop, "update-ref", "refs/remotes/origin/main", "HEAD")
    edit(shop, "models/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    commit(shop)
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    for name, value in {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "main"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ended = wb("--trusted", "ci")
    assert ended.code == 0, ended.text
    assert summary.read_text().startswith("before\n## Impact\n") and "**2 of 2 stacks change.**" in summary.read_text()
    (line,) = ended.out.splitlines()
    assert (
        line.startswith("::warning file=models/server.k,line=4,")
        and "title=Changes 2 stacks::web/dev, web/prod" in line
    )


def test_a_merge_request_of_gitlab(wb: Wb, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_MERGE_REQUEST_DIFF_BASE_SHA", git(shop, "rev-parse", "HEAD"))
    (shop / "web/dev/main.k").write_text("}{\n")
    commit(shop)
    report = tmp_path / "quality.json"
    ended = wb("ci", "--annotations", "gitlab", "--code-quality", report, "--summary", tmp_path / "summary.md")
    assert ended.code == 3, ended.text
    (found,) = json.loads(report.read_text())
    assert found["location"] == {"path": "web/dev/main.k", "lines": {"begin": 1}} and found["severity"] == "major"
    assert "**What changes of 1 stack is not known**" in (tmp_path / "summary.md").read_text()


def test_a_ci_without_a_request_says_that_nothing_is_compared(
    wb: Wb, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    ended = wb("ci")
    assert ended.code == 3 and "wb ci --git" in ended.err and not ended.out


def test_annotations_go_beside_the_summary(wb: Wb, shop: Path) -> None:
    edit(shop, "models/server.k", "replicas = s.replicas", "replicas = s.replicas + 1")
    ended = wb("ci", "--annotations", "github")
    assert ended.out.startswith("## Impact\n") and "::warning" not in ended.out and ended.err.startswith("::warning ")
    assert wb("ci", "--code-quality", "x.json").code == 64


def test_what_policies_find_stands_beside_the_change(wb: Wb, shop: Path) -> None:
    (shop / "policy.yaml").write_text("policies:\n  - {name: three, rule: replicas, with: {least: 3}}\n")
    commit(shop)
    edit(shop, "models/server.k", "image = s.image", 'image = s.image + "-next"')
    ended = wb("ci", "--annotations", "github")
    assert ended.code == 0, ended.text
    assert "**error** `three` `Deployment web-dev/front spec.replicas`" in ended.out
    assert (
        "::error file=web/dev/main.k,line=4,title=Policy three::web/dev: " in ended.err
        and "::web/prod: D" not in ended.err
    )
    (shop / "policy.yaml").write_text("policies: [\n")
    ended = wb("ci", "--annotations", "github")
    assert ended.code == 3 and "policy.yaml" in ended.out


def test_the_linter_speaks_of_the_lines_of_the_change(wb: Wb, shop: Path, tmp_path: Path) -> None:
    """Or of the files, or is silent; a value of a secret is in none of it, and what can't be linted is said."""
    main = shop / "web/dev/main.k"
    main.write_text(f'import math\n{main.read_text()}\n_password = "canary-of-the-lint"\n')
    commit(shop)
    main.write_text(f'{main.read_text()}_left = "over"\n')
    last = main.read_text().count("\n")
    ended = wb("ci", "--annotations", "github", "--sarif", "wb.sarif")
    assert ended.code == 0, ended.text
    assert "**The linter finds 1 thing on lines that changed:**" in ended.out
    assert f"- `W3002` `web/dev/main.k:{last}` " in ended.out
    (said,) = [line for line in ended.err.splitlines() if "Linter" in line]
    assert said.startswith(f"::warning file=web/dev/main.k,line={last},title=Linter W3002 ")
    (run,) = json.loads(Path("wb.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert (result["level"], result["ruleId"].split("/")[:2]) == ("warning", ["kcl", "W3002"])
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": last}
    assert run["tool"]["driver"]["rules"][0]["defaultConfiguration"] == {"level": "warning"}

    every = wb("ci", "--lint", "files", "--annotations", "github")
    assert "The linter finds 3 things in files that changed" in every.out and "`W0411` `web/dev/main.k:1`" in every.out
    assert "canary" not in every.text + ended.text + Path("wb.sarif").read_text()
    assert "linter" not in wb("ci", "--lint", "none").out
    (shop / "web/dev/more.k").write_text("}{\n")
    broken = wb("ci")
    assert broken.code == 0 and "**not linted:** web/dev/more&#46;k" in broken.out
    assert "its program has errors" in broken.out and "What changes is not known" not in broken.out
