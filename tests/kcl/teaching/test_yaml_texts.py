"""Texts of several lines in YAML's style: the change that is offered gives the value that YAML reads."""

import pytest
import yaml

from kcl.api import ProgramError, run


def _mended(text: str) -> str:
    """The program after the changes of its only hint."""
    with pytest.raises(ProgramError) as problem:
        run(["main.k"], work_dir="/w", texts={"main.k": text})
    shown = [each for each in problem.value.diagnostics if not each.follows]
    (hint,) = [hint for each in shown for hint in each.hints]
    assert "stands in three quotes" in hint.message
    for edit in sorted(hint.edits, key=lambda each: -each.span.start):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


SCRIPT = '  set -e\n  if [ -f "$HOME/x" ]; then\n\n    echo "${X}" \\\n      done\n  fi # it is\n'


@pytest.mark.parametrize("sign", ["|", "|-"])
def test_a_script_is_one_text_whatever_stands_in_it(sign: str) -> None:
    pasted = f"script: {sign}\n{SCRIPT}"
    found = run(["main.k"], work_dir="/w", texts={"main.k": _mended(f"a = 1\n{pasted}b = 2\n")}).documents[0]
    assert found == {"a": 1, **yaml.safe_load(pasted), "b": 2}


def test_a_text_in_braces_keeps_its_colon_and_folded_lines_become_one() -> None:
    text = _mended("a = {\n  name: 1\n  about: >-\n    some words\n    and more\n  last: 2\n}\n")
    found = run(["main.k"], work_dir="/w", texts={"main.k": text}).documents[0]
    assert found == {"a": {"name": 1, "about": "some words and more", "last": 2}}


def test_what_is_folded_by_rules_of_its_own_is_left_to_its_author() -> None:
    with pytest.raises(ProgramError) as problem:
        run(["main.k"], work_dir="/w", texts={"main.k": "a = {\n  about: >\n    one\n      two\n\n    three\n}\n"})
    assert not any("three quotes" in hint.message for each in problem.value.diagnostics for hint in each.hints)
