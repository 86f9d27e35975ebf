"""What policies find on the Plan screen: the policy, how severe, the KCL line, and what is waived until when."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, SMALL, opened, says, shown, until, workbench
from workbench.tui.widgets.resource_table import ResourceTable

POLICIES = """\
policies:
  - {name: three, rule: replicas, with: {least: 4}}
  - {name: many, rule: replicas, with: {least: 5}, level: warning}
  - {name: some, rule: replicas, with: {least: 9}}
  - {name: once, rule: replicas, with: {least: 8}}
waivers:
  - {policy: some, stacks: [web/prod], until: 2026-03-01, reason: "[b]INC-7[/]\\u202e"}
  - {policy: once, stacks: [web/prod], until: 2025-12-01, reason: INC-6}
"""


async def test_findings_stand_beside_the_steps_with_their_line_and_their_waiver(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    (app.konfig.root / "policy.yaml").write_text(POLICIES)
    opened_at: list[tuple[str, int]] = []
    app.edit = lambda file, line: opened_at.append((file.name, line))  # type: ignore[method-assign]
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: says(app, "4 checked"))
        for size in (SMALL, LARGE):
            await pilot.resize_terminal(*size)
            assert says(app, "policies: ✗ 2 errors  ! 1 warning  ✓ 1 waived  4 checked")
            rows = [[str(cell) for cell in row.cells] for row in app.screen.query_one("#findings", ResourceTable).shown]
            assert [each[1:] for each in rows] == [
                ["error", "prod/main.k:4"],
                ["error, was waived", "prod/main.k:4"],
                ["warning", "prod/main.k:4"],
                ["waived 2026-03-01", "prod/main.k:4"],
            ]
            assert rows[0][0] == "✗ three  Deployment web-prod/front spec.replicas: 3: at least 4 are needed"
            assert says(app, "✗ policies: no, as listed")
        await pilot.press("a")
        assert not app.screen.query_one("#confirm").has_class("asked")
        await pilot.press("tab", "G")
        await until(pilot, lambda: says(app, "waived until 2026-03-01: [b]INC-7[/]"))
        assert not any("\u202e" in each for each in shown(app))
        await pilot.press("k", "k")
        await until(pilot, lambda: says(app, "its waiver expired on 2025-12-01"))
        await pilot.press("s", "enter")
        assert opened_at == [("main.k", 4), ("main.k", 4)]
        text = POLICIES.split("waivers")[0].replace("least: 4}", "least: 3}")
        (app.konfig.root / "policy.yaml").write_text("\n".join(text.splitlines()[:2]) + "\n")
        await pilot.press("r")
        await until(pilot, lambda: says(app, "policies: ✓ nothing found  1 checked"))
        assert not app.screen.query_one("#findings").has_class("shown")
        await pilot.press("a")
        assert app.screen.query_one("#phrase", Input).has_focus
