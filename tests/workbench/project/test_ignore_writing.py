"""A rule is added to `ignore` and nothing else of the file changes; what can't be edited so is refused."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtimes.base.documents import load_yaml
from workbench.project import BrokenFile
from workbench.project.ignore_writing import with_rule

FILE = Path("web/project.yaml")
RULE = {"kind": "apps/Deployment", "name": "front", "path": "spec.replicas", "reason": "load decides: 1"}
FORMS = {
    "nothing": "",
    "only a comment": "# ours\n",
    "no ignore": "# ours\nname: web  # the name\nlabels: {a: b}\n",
    "no newline at the end": "name: web",
    "empty": "ignore:  # later\nname: web\n",
    "null": "name: web\nignore: null  # none\n# after\n",
    "an empty list": "ignore: []   # none\nname: web\n",
    "a list in brackets": "ignore: [{kind: Pod, path: a.b, reason: x}]  # why\nname: web\n",
    "a trailing comma": "ignore: [\n  {kind: Pod, path: a.b, reason: x},  # one\n]\nname: web\n",
    "a block": "ignore:\n  - {kind: Pod, path: a.b, reason: x}  # one\n\n# about the name\nname: web\n",
    "a block of blocks": "ignore:\n- kind: Pod\n  path: a.b  # here\n  reason: x\n# ends\nname: web\n",
    "a folded reason": "ignore:\n  - kind: Pod\n    path: a.b\n    reason: >\n      # no comment\n      at all\n",
    "at the end": "name: web\nignore:\n  - kind: Pod\n    path: a.b\n    reason: 'x'",
    "other line ends": "name: web\r\nignore:\r\n  - {kind: Pod, path: a.b, reason: x}\r\n",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_rule_is_added_and_all_else_stays(text: str) -> None:
    edited = with_rule(FILE, text, RULE)
    before = load_yaml(text) or {}
    assert load_yaml(edited) == {**before, "ignore": [*(before.get("ignore") or []), RULE]}
    lost = [each[2:] for each in difflib.ndiff(text.splitlines(), edited.splitlines()) if each.startswith("- ")]
    assert all("ignore:" in each or each.endswith(("'x'", "},", "},  # one")) for each in lost), lost
    assert [each for each in text.split() if each.startswith("#")] == [
        each for each in edited.split() if each.startswith("#")
    ]
    if "\r\n" in text:
        assert edited.count("\n") == edited.count("\r\n")


REFUSED = {
    "in braces": ("{name: web}\n", RULE, "no rule can be added"),
    "an alias": ("other: &a [{kind: Pod, path: a.b, reason: x}]\nignore: *a\n", RULE, "no rule can be added"),
    "no list": ("ignore: {}\n", RULE, "needs to be a list"),
    "no YAML": ("ignore: [\n", RULE, "not valid YAML"),
    "a list at the top": ("- a\n", RULE, "needs a mapping"),
    "there already": (
        "ignore: [{kind: apps/Deployment, name: front, path: spec.replicas, reason: other}]\n",
        RULE,
        "says this already",
    ),
    "what says which object it is": ("", {**RULE, "path": "metadata.name"}, "can't be ignored"),
    "no reason": ("", {**RULE, "reason": ""}, "has no reason"),
}


@pytest.mark.parametrize(("text", "rule", "said"), REFUSED.values(), ids=REFUSED)
def test_what_can_t_be_added_is_refused(text: str, rule: dict[str, str], said: str) -> None:
    with pytest.raises(BrokenFile, match=said) as caught:
        with_rule(FILE, text, rule)
    assert "web/project.yaml" in str(caught.value)


@settings(max_examples=30, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"]), min_size=1).filter(str.strip),
    st.sampled_from([*FORMS.values()]),
)
def test_any_reason_is_read_as_it_was_said(reason: str, text: str) -> None:
    edited = with_rule(FILE, text, {**RULE, "reason": reason})
    assert load_yaml(edited)["ignore"][-1]["reason"] == reason
