"""Plain values → text, as the official tools print it.

    yaml.py      `yaml_text`, `yaml_stream`: block style, serde_yaml's quoting rules
    json.py      `json_text`: one line or indented
    planning.py  `plan`: what of a value is output
    selection.py path selectors

A plain value is None, bool, int, float, str, or a list or str-keyed dict of plain values.
"""

from kcl.emit.json import json_text
from kcl.emit.yaml import yaml_stream, yaml_text
from kcl.evaluator.numbers import float_text

__all__ = ["float_text", "json_text", "yaml_stream", "yaml_text"]
