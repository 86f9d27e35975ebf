"""A document for programs as YAML that gives no orders to the terminal it may be shown in, and says the same."""

from __future__ import annotations

import json
import secrets
from typing import Any

from kcl.api import yaml_text
from kcl.terminal import has_orders, yaml_escaped


def yaml_data(document: Any) -> str:
    """Returns YAML in which texts with orders are in double quotes, with escapes for these."""
    text = yaml_text(document)
    if not has_orders(text):
        return text
    stand_ins: dict[str, str] = {}
    mark = f"q{secrets.token_hex(8)}q"
    text = yaml_text(_without_orders(document, mark, stand_ins))
    for stand_in, said in stand_ins.items():
        text = text.replace(stand_in, said)
    return text


def _without_orders(value: Any, mark: str, stand_ins: dict[str, str]) -> Any:
    """Puts a word in place of each text with orders; the word ends where no other one goes on."""
    match value:
        case str() if has_orders(value):
            stand_in = f"{mark}{len(stand_ins)}z"
            stand_ins[stand_in] = yaml_escaped(json.dumps(value, ensure_ascii=False))
            return stand_in
        case dict():
            return {
                _without_orders(key, mark, stand_ins): _without_orders(each, mark, stand_ins)
                for key, each in value.items()
            }
        case list() | tuple():
            return [_without_orders(each, mark, stand_ins) for each in value]
        case _:
            return value
