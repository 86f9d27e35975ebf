"""Adding a rule to `ignore` of a project.yaml or stack.yaml, with everything else in the file as it is written.

The text is edited, not written again: comments, order and quotes of the file stay. What comes out is read and compared
with what was there, so that a form of YAML that is edited wrongly is refused and never written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from runtimes.base.documents import check_yaml
from workbench.project.errors import BrokenFile
from workbench.project.ignores import KEY, read_rule, rules_in
from workbench.project.yaml_file import mapping_of

if TYPE_CHECKING:
    from yaml import Node, ScalarNode, SequenceNode

_PLAIN = re.compile(r"[A-Za-z][\w/.-]*(?: [\w/.-]+)*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def with_rule(path: Path, text: str, rule: Mapping[str, str]) -> str:
    """Returns the text of a file with one rule more, the last of `ignore`.

    `rule` has the keys of a rule that are not empty. Raises `BrokenFile` for a rule that can't be, for one that is
    there already, and where the file is written in a way that no rule can be added to.
    """
    before = mapping_of(text, path)
    rules = rules_in(before, path)
    read_rule(dict(rule), len(rules) + 1, path, path)
    said = {key: value for key, value in rule.items() if key != "reason"}
    for number, each in enumerate(rules, 1):
        if isinstance(each, Mapping) and {key: each[key] for key in each if key != "reason"} == said:
            raise BrokenFile("says this already", where=f"{path}: ignore, rule {number}", hint="look at that rule")
    edited = _edited(path, text, rule)
    if mapping_of(edited, path) != {**before, KEY: [*rules, dict(rule)]}:
        raise _by_hand(path)
    return edited


def _by_hand(path: Path) -> BrokenFile:
    return BrokenFile("is written in a way that no rule can be added to", where=str(path), hint="add the rule by hand")


def _edited(path: Path, text: str, rule: Mapping[str, str]) -> str:
    import yaml

    check_yaml(text)
    end = "\r\n" if "\r\n" in text else "\n"
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is not None and (not isinstance(node, yaml.MappingNode) or node.flow_style):
        raise _by_hand(path)
    found = next((each for key, each in (node.value if node is not None else ()) if key.value == KEY), None)
    match found:
        case None:
            head = text if not text or text.endswith("\n") else text + end
            return f"{head}{KEY}:{end}{_block(rule, 2, end)}"
        case yaml.ScalarNode():
            return _after_line(text, found.end_mark.index, _block(rule, 2, end), end, without=found)
        case yaml.SequenceNode() if found.flow_style and found.value:
            at = found.value[-1].end_mark.index
            written = ", ".join(f"{key}: {_scalar(value)}" for key, value in rule.items())
            return f"{text[:at]}, {{{written}}}{text[at:]}"
        case yaml.SequenceNode() if found.flow_style:
            return _after_line(text, found.end_mark.index, _block(rule, 2, end), end, without=found)
        case yaml.SequenceNode():
            return _after_line(text, _end(found), _block(rule, found.start_mark.column, end), end)
    raise _by_hand(path)


def _end(node: Node) -> int:
    """Returns where the last text of a node ends: what a block itself counts as its own goes on to the next key."""
    import yaml

    while isinstance(node, yaml.SequenceNode | yaml.MappingNode) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return int(node.end_mark.index)


def _after_line(text: str, at: int, block: str, end: str, *, without: ScalarNode | SequenceNode | None = None) -> str:
    """Puts a block behind the line in which a value ends; `without` is a value that says nothing, and goes."""
    is_over = at > 0 and text[at - 1] == "\n"
    newline = at - 1 if is_over else text.find("\n", at)
    line_end = len(text) if newline < 0 else newline + 1
    head = text[:line_end]
    if without is not None:
        start = without.start_mark.index
        kept = text[without.end_mark.index : line_end]
        head = text[:start].rstrip(" ") + ("" if not kept.strip() else " ") + kept.lstrip(" ")
    return f"{head}{'' if head.endswith(chr(10)) else end}{block}{text[line_end:]}"


def _block(rule: Mapping[str, str], margin: int, end: str) -> str:
    lines = (f"{key}: {_scalar(value)}" for key, value in rule.items())
    return "".join(f"{' ' * margin}{'- ' if number == 0 else '  '}{each}{end}" for number, each in enumerate(lines))


def _scalar(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)
