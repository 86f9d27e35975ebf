"""`wb set`: fields of the output are set at the lines that decide them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb
from tests.workbench.cli.test_impact import commit, git
from workbench.engine.errors import EditFailed
from workbench.session import Session
from workbench.settings import Settings


@pytest.fixture
def sample(sample_konfig: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = sample_konfig
    monkeypatch.chdir(root)
    git(root, "init", "-q")
    commit(root)
    return root


def changed(root: Path) -> list[str]:
    lines = git(root, "diff", "--unified=0").splitlines()
    return [each for each in lines if each[:1] in "+-" and not each.startswith(("+++", "---"))]


def test_the_line_that_wins_is_edited_and_nothing_else(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "Deployment/web", "spec.replicas=6", "--yes")
    assert ended.code == 0, ended.text
    assert changed(sample) == ["-    replicas = 4", "+    replicas = 6"]
    assert "1 of 14 stacks change" in ended.out
    assert "replicas: 6" in wb("compile", "checkout/prod").out


def test_a_file_of_the_project_shows_what_changes_in_its_other_stacks(wb: Wb, sample: Path) -> None:
    path = "spec.template.spec.containers[name=web].image"
    ended = wb("set", "checkout/prod", "Deployment/web", f"{path}=shop/web:3", "--dry-run")
    assert ended.code == 0, ended.text
    assert "3 of 14 stacks change" in ended.out and "checkout/dev" in ended.out
    assert changed(sample) == []


def test_here_overrides_for_one_stack(wb: Wb, sample: Path) -> None:
    path = "spec.template.spec.containers[name=web].image"
    ended = wb("set", "checkout/prod", "Deployment/web", f"{path}=shop/web:3", "--where", "here", "--yes")
    assert ended.code == 0, ended.text
    assert "1 of 14 stacks change" in ended.out
    assert changed(sample) == ['+    image = "shop/web:3"']


def test_a_shared_model_is_edited_only_where_that_is_said(wb: Wb, sample: Path) -> None:
    words = ("set", "checkout/prod", "Deployment/web", "spec.progressDeadlineSeconds=66", "--yes")
    ended = wb(*words)
    assert ended.code == 1 and "models/frontend/server.k:" in ended.err and "--where here" in ended.err, ended.text
    assert changed(sample) == []
    ended = wb(*words, "--where", "here")
    assert ended.code == 0 and "1 of 14 stacks change" in ended.out, ended.text
    assert changed(sample) == ["+    rollout.deadlineSeconds = 66"]
    git(sample, "checkout", "-q", ".")
    ended = wb(*words, "--where", "source")
    assert ended.code == 0 and "of 14 stacks change" in ended.out, ended.text
    assert git(sample, "diff", "--name-only") == "models/frontend/server.k"


def test_what_is_computed_is_refused_with_what_feeds_it(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "Deployment/web", "spec.replica=6", "--yes")
    assert ended.code == 1 and "did you mean spec.replicas?" in ended.err, ended.text
    main = sample / "storefront/checkout/prod/main.k"
    main.write_text(
        main.read_text().replace("replicas = 4", "replicas = 2 * _half").replace("web: ", "_half = 2\nweb: ")
    )
    ended = wb("set", "checkout/prod", "Deployment/web", "spec.replicas=6", "--yes")
    assert ended.code == 1, ended.text
    assert "storefront/checkout/prod/main.k:6" in ended.err and "computed from `2 * _half`" in ended.err
    assert "2 at storefront/checkout/prod/main.k:4" in ended.err
    assert "replicas = 2 * _half" in main.read_text()


def test_what_an_option_gives_names_the_option(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "Deployment/web", "metadata.namespace=other", "--yes")
    assert ended.code == 1 and "it is given by option project" in ended.err, ended.text
    assert changed(sample) == []


def test_the_type_of_the_source_stays(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "ConfigMap/cart-config", "data.BASKET_DAYS=120", "--yes")
    assert ended.code == 0, ended.text
    assert changed(sample) == ['-    config.BASKET_DAYS = "90"', '+    config.BASKET_DAYS = "120"']
    ended = wb("set", "checkout/prod", "Deployment/web", "spec.replicas=many", "--yes")
    assert ended.code == 1 and len(changed(sample)) == 2, ended.text


def test_a_commit_holds_the_edit_and_nothing_else(wb: Wb, sample: Path) -> None:
    git(sample, "config", "user.name", "t")
    git(sample, "config", "user.email", "t@example.org")
    (sample / "other.txt").write_text("staged\n")
    git(sample, "add", "other.txt")
    words = ("set", "checkout/prod", "Deployment/web", "--yes", "--commit")
    ended = wb(*words, "spec.replicas=6", "-m", "More of them")
    assert ended.code == 0, ended.text
    assert git(sample, "show", "--format=%s", "--name-only") == "More of them\n\nstorefront/checkout/prod/main.k"
    assert git(sample, "diff", "--cached", "--name-only") == "other.txt"
    main = sample / "storefront/checkout/prod/main.k"
    main.write_text(main.read_text() + "# being worked on\n")
    before = main.read_text()
    ended = wb(*words, "spec.replicas=7")
    assert ended.code == 1 and "not committed" in ended.err and main.read_text() == before, ended.text


def test_a_read_only_session_writes_no_file(wb: Wb, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_READONLY", "1")
    words = ("set", "checkout/prod", "Deployment/web", "spec.replicas=6")
    ended = wb(*words)
    assert ended.code == 4 and "this session is read-only" in ended.err and changed(sample) == [], ended.text
    assert wb(*words, "--dry-run").code == 0


def test_files_of_a_read_only_stack_are_written_where_its_user_allows_it(wb: Wb, sample: Path) -> None:
    clusters = sample / "clusters.yaml"
    clusters.write_text(clusters.read_text().replace('["*/prod"]', '["*/prod"]\n    read_only: true'))
    commit(sample)
    words = ("set", "checkout/prod", "Deployment/web", "spec.replicas=6", "--yes")
    ended = wb(*words)
    assert ended.code == 4 and "--allow-writes checkout/prod" in ended.err and changed(sample) == [], ended.text
    ended = wb("--allow-writes", "checkout/prod", *words)
    assert ended.code == 0 and changed(sample) == ["-    replicas = 4", "+    replicas = 6"], ended.text


def test_nothing_is_written_without_a_yes(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "Deployment/web", "spec.replicas=6")
    assert ended.code == 4 and "--yes" in ended.err and changed(sample) == []


def test_a_secret_is_in_neither_the_patch_nor_the_fields(wb: Wb, root: Path) -> None:
    secret = "correct-horse-battery-9"
    main = root / "web/dev/main.k"
    main.write_text(main.read_text() + f'front: server.Server {{token = "{secret}"}}\n')
    resource = next(each for each in wb("compile", "web/dev", "-o", "json").json() if ":Secret:" in each["id"])["id"]
    for format_ in ("text", "json", "yaml"):
        ended = wb("set", "web/dev", resource, f"stringData.token={secret[::-1]}", "--dry-run", "-o", format_)
        assert ended.code == 0 and "masked#" in ended.out and "this line has a secret" in ended.out, ended.text
        assert secret not in ended.text and secret[::-1] not in ended.text, ended.text


def test_a_secret_is_not_named_as_what_feeds_a_field(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "Secret/web-secrets", "data.SESSION_KEY=correct-horse", "--dry-run")
    assert ended.code == 1 and "is computed" in ended.err, ended.text
    assert "orchard-development-session-key" not in ended.text and "correct-horse" not in ended.text, ended.text


def test_an_edit_that_breaks_another_stack_is_refused(wb: Wb, root: Path) -> None:
    prod, base = root / "web/prod/main.k", root / "web/base/base.k"
    prod.write_text(prod.read_text() + 'assert front.image == "front:1"\n')
    before = base.read_text()
    path = "spec.template.spec.containers[name=front].image"
    ended = wb("set", "web/dev", "Deployment/front", f"{path}=front:2", "--yes")
    assert ended.code == 4 and "web/prod would no longer compile" in ended.err, ended.text
    assert base.read_text() == before
    ended = wb("set", "web/dev", "Deployment/front", f"{path}=front:2", "--yes", "--where", "here")
    assert ended.code == 0 and base.read_text() == before, ended.text


def test_two_fields_that_one_line_sets_do_not_get_two_values(wb: Wb, root: Path) -> None:
    """The second undid the first: a dry run showed both, and the write was refused as somebody else's doing."""
    base = root / "web/base/base.k"
    text = base.read_text().replace('{COLOUR = "red"}', "{COLOUR = _colour, SHADE = _colour}")
    base.write_text(text.replace("front: ", '_colour = "red"\nfront: '))
    before = base.read_text()
    for way in ("--dry-run", "--yes"):
        ended = wb("set", "web/dev", "ConfigMap/front", "data.COLOUR=blue", "data.SHADE=grey", way)
        assert ended.code == 1 and "would not keep its value" in ended.err, ended.text
        assert base.read_text() == before
    ended = wb("set", "web/dev", "ConfigMap/front", "data.COLOUR=blue", "data.SHADE=blue", "--yes")
    assert ended.code == 0 and '_colour = "blue"' in base.read_text(), ended.text


async def test_files_are_as_before_where_the_disk_does_not_prove_it(root: Path, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "state", tmp_path / "state", user="ann", host="box")
    async with Session.open(root, settings=settings) as session:
        stack = session.select("web/dev")
        edits, done = await session.set_fields(stack, "Deployment/front", {"spec.replicas": "5"})
        before = (root / "web/dev/main.k").read_text()
        with pytest.raises(EditFailed, match="as before"):
            await session.write_edits(stack, edits, [replace(done[0], after=6)])
        assert (root / "web/dev/main.k").read_text() == before
        await session.write_edits(stack, edits, done)
        assert "replicas = 5" in (root / "web/dev/main.k").read_text()


def test_a_field_that_is_not_there_is_added_to_the_stacks_own_file(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "ConfigMap/cart-config", "data.LIMIT=5", "--yes")
    assert ended.code == 0 and "1 of 14 stacks change" in ended.out, ended.text
    assert changed(sample) == ['+    config.LIMIT = "5"'], "texts stand beside it, so it is a text"
    path = "spec.template.spec.containers[name=cart].command"
    ended = wb("set", "checkout/prod", "Deployment/cart", f"{path}=[serve, --fast]", "--yes")
    assert ended.code == 0, ended.text
    assert changed(sample)[1:] == ['+    command = ["serve", "--fast"]']
    assert "--fast" in wb("compile", "checkout/prod").out
    git(sample, "checkout", "-q", ".")
    ended = wb("set", "checkout/prod", "Deployment/cart", f"{path}=[serve]", "--where", "source", "--yes")
    assert ended.code == 0 and "3 of 14 stacks change" in ended.out, ended.text
    assert git(sample, "diff", "--name-only") == "storefront/checkout/base/base.k"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("metadata.annotations.owner=me", "no place was found"),
        ("spec.template.spec.containers[name=other].image=x:1", "elements of lists are added by hand"),
        ("spec.replicas.most=3", "no place was found"),
    ],
)
def test_a_field_that_nothing_hands_on_is_not_added(path: str, says: str, wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "Deployment/web", path, "--yes")
    assert ended.code == 1 and says in ended.err, ended.text
    assert changed(sample) == []


def test_a_field_that_would_change_others_is_not_added(wb: Wb, sample: Path) -> None:
    model = sample / "models/backend/server_backend.k"
    text = model.read_text()
    assert "replicas = server.replicas" in text
    model.write_text(text.replace("replicas = server.replicas", "replicas = 1 if server.command else server.replicas"))
    commit(sample)
    path = "spec.template.spec.containers[name=cart].command"
    ended = wb("set", "checkout/prod", "Deployment/cart", f"{path}=[serve]", "--yes")
    assert ended.code == 1 and "would change others" in ended.err, ended.text
    assert changed(sample) == []


def test_a_field_is_taken_away_wherever_it_is_set(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/dev", "ConfigMap/cart-config", "data.BASKET_DAYS-", "--yes")
    assert ended.code == 0 and "2 of 14 stacks change" in ended.out, ended.text
    assert changed(sample) == ['-        BASKET_DAYS = "30"']
    git(sample, "checkout", "-q", ".")
    ended = wb("set", "checkout/prod", "ConfigMap/cart-config", "data.BASKET_DAYS-", "--yes")
    assert ended.code == 0, ended.text
    assert "BASKET_DAYS" not in wb("compile", "checkout/prod").out


def test_what_is_set_by_a_model_is_not_taken_away(wb: Wb, sample: Path) -> None:
    ended = wb("set", "checkout/prod", "Ingress/web", "spec-", "--yes")
    assert ended.code == 1 and "can't be taken away alone" in ended.err and "models/" in ended.err, ended.text
    ended = wb("set", "checkout/prod", "Deployment/web", "spec.nothing-", "--yes")
    assert ended.code == 1 and "nothing to take away" in ended.err, ended.text
    assert changed(sample) == []


def test_a_secret_that_is_added_is_not_shown(wb: Wb, sample: Path) -> None:
    secret = "correct-horse-battery-9"
    ended = wb("set", "checkout/prod", "Secret/web-secrets", f"stringData.PAYMENT_TOKEN={secret}", "--yes")
    assert secret not in ended.text, ended.text
    ended = wb("set", "checkout/prod", "Secret/web-secrets", f"data.PAYMENT_TOKEN={secret}", "--yes")
    assert secret not in ended.text, ended.text
