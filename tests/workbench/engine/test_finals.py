"""What baselines say for good, what overrides it all the same, and waivers that put up with that."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.dimensioned import Size, write, write_company
from workbench.engine.cube import Subject
from workbench.engine.cube_finals import final_findings
from workbench.project import BrokenFile, discover
from workbench.project.dimensions import read_dimensions

TODAY = date(2026, 11, 26)
MAIN = "apps/app000/hangzhou-acorn-prod/main.k"


def company(root: Path, **finals: str) -> Path:
    write_company(root, Size(1, 1, 2, 2))
    declare(root, **finals)
    return root


def declare(root: Path, waivers: str = "", **finals: str) -> None:
    file = root / "dimensions.yaml"
    lines = [each for each in file.read_text().partition("waivers:")[0].splitlines() if "final:" not in each]
    out = []
    for each in lines:
        out.append(each)
        if (name := each.removeprefix("  - name: ")) in finals:
            out.append(f"    final: [{finals[name]}]")
    file.write_text("\n".join([*out, *([f"waivers: [{waivers}]"] if waivers else [])]) + "\n")


def told(root: Path, today: date = TODAY) -> list[tuple[str, str, bool]]:
    tree = discover(root)
    assert tree.declared is not None, [*tree.all_findings()]
    subjects = [
        Subject(each.name, str(each.directory), str(each.project_directory), each.coordinates) for each in tree.stacks()
    ]
    found = final_findings(tree.declared, subjects, today)
    return [(each.message, str(Path(each.where).relative_to(root)), each.is_error) for each in found]


def test_who_overrides_what_is_final_is_named_with_both_lines(tmp_path: Path) -> None:
    root = company(tmp_path, **{"global": "web.cpu"})
    at_env = "web.cpu is final for global at dimensions/global.k:4, and sets it otherwise, in 2 stacks"
    assert told(root) == [(at_env, "dimensions/env/prod.k:5", True)], "which says 500m, also where it agrees elsewhere"
    write(root, MAIN, 'import models\n\nweb: models.App {\n    cpu = "1"\n}\n')
    write(root, "apps/app000/base/base.k", 'import models\n\nweb: models.App {\n    name = "a"\n    cpu = "200m"\n}\n')
    own = "web.cpu is final for global at dimensions/global.k:4, and sets it otherwise, in app000/hangzhou-acorn-prod"
    assert told(root)[1:] == [(own, f"{MAIN}:4", True)], "the base says the same, and overrides nothing"


def test_what_lies_above_or_below_or_cannot_be_read_is_no_way_round(tmp_path: Path) -> None:
    root = company(tmp_path, tenant="web.labels.*")
    assert told(root) == []
    for line, said in (
        ('labels = {team = "x"}', "sets it otherwise"),
        ('labels.tenant = "x"', "sets it otherwise"),
        ('labels: {tenant = "x"}', "sets it otherwise"),
        ('labels.tenant += "x"', "sets it otherwise"),
        ('labels: {\n        if True:\n            tenant = "x"\n    }', "may set it in a way that is not read here"),
        ("**_other", "may set it in a way that is not read here"),
    ):
        write(root, MAIN, f"import models\n\n_other = {{}}\nweb: models.App {{\n    {line}\n}}\n")
        found = told(root)
        assert found and all(each[1].startswith(f"{MAIN}:") and each[2] for each in found), line
        assert any(each[0].endswith(f"and {said}, in app000/hangzhou-acorn-prod") for each in found), (line, found)
    write(root, MAIN, 'import models\n\nweb: models.App {\n    labels.team = "x"\n}\n')
    assert told(root) == [], "another label is nobody's last word"
    write(root, MAIN, "web = {")
    assert "whether it overrides what is final is not known" in told(root)[0][0]


def test_overrides_of_settings_count_and_a_final_that_nothing_sets_is_named(tmp_path: Path) -> None:
    root = company(tmp_path, tenant="web.labels.tenant", site="web.zone")
    settings = root / Path(MAIN).parent / "kcl.yaml"
    settings.write_text(settings.read_text() + "  overrides:\n    - web.labels.tenant=x\n")
    found = told(root)
    assert ("web.zone is final for site, and no baseline of it sets that", "dimensions.yaml", True) in found
    line = settings.read_text().split("\n").index("    - web.labels.tenant=x") + 1
    assert (str(Path(MAIN).parent / f"kcl.yaml:{line}")) in [each[1] for each in found]


def test_a_waiver_puts_up_with_it_until_it_ends_and_says_where_it_is_for_nothing(tmp_path: Path) -> None:
    root = company(tmp_path, **{"global": "web.cpu"})
    waiver = '{path: web.cpu, stacks: ["*-acorn-prod"], until: 2026-12-31, reason: a migration}'
    declare(root, waiver, **{"global": "web.cpu"})
    first, second = told(root)
    assert sorted([first[2], second[2]]) == [False, True]
    assert first[0].endswith("in app000/hangzhou-birch-prod") or second[0].endswith("in app000/hangzhou-birch-prod")
    ended = [each[0] for each in told(root, date(2027, 1, 1))]
    assert any("in app000/hangzhou-acorn-prod; its waiver ended on 2026-12-31" in each for each in ended)
    declare(root, waiver.replace("web.cpu", "web.cpv"), **{"global": "web.cpu"})
    assert ("the waiver is for nothing that is overridden", False) in [(each[0], each[2]) for each in told(root)]


@pytest.mark.parametrize(
    ("waiver", "said"),
    [
        ("1", "needs to be a mapping"),
        ("{path: web.cpu, until: 2026-12-31}", "needs path, until and reason"),
        ("{path: web.cpu, reason: r}", "needs path, until and reason"),
        ("{path: web..cpu, reason: r, until: 2026-12-31}", "'web..cpu' is no path"),
        ("{path: web.cpu, reason: r, until: soon}", "until needs to be a day"),
        ("{path: web.cpu, reason: r, until: 2026-12-31, stacks: []}", "an empty list of stacks"),
        ("{path: web.cpu, reason: r, until: 2026-12-31, who: me}", "unknown key 'who'"),
    ],
)
def test_a_waiver_that_is_not_understood(tmp_path: Path, waiver: str, said: str) -> None:
    root = company(tmp_path)
    declare(root, waiver)
    with pytest.raises(BrokenFile) as raised:
        read_dimensions(root)
    assert said in raised.value.message and "dimensions.yaml: waiver 1" in raised.value.where
