"""Schemas of Terraform providers: what can be set, and nothing that the provider alone computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.kcl.tools.imports.importing import imported, ours, theirs

_BLOCK: dict[str, Any] = {
    "attributes": {
        "name": {"type": "string", "required": True, "description": "Its name."},
        "id": {"type": "string", "computed": True},
        "size": {"type": "number", "optional": True, "computed": True},
        "tags": {"type": ["map", "string"], "optional": True},
        "ports": {"type": ["set", ["object", {"from": "number", "to": "number"}]], "optional": True},
        "pair": {"type": ["tuple", ["string", "number"]], "optional": True},
        "any": {"type": "dynamic", "optional": True},
        "nested": {
            "optional": True,
            "nested_type": {"nesting_mode": "list", "attributes": {"k": {"type": "bool", "required": True}}},
        },
    },
    "block_types": {
        "rule": {
            "nesting_mode": "list",
            "min_items": 1,
            "max_items": 2,
            "block": {"attributes": {"type": {"type": "string", "required": True}}},
        },
        "timeouts": {
            "nesting_mode": "single",
            "block": {"attributes": {"create": {"type": "string", "optional": True}}},
        },
    },
}


def test_resources_hold_to_their_schema(tmp_path: Path) -> None:
    provider = {"provider": {"block": {}}, "resource_schemas": {"acme_thing": {"version": 0, "block": _BLOCK}}}
    (tmp_path / "schema.json").write_text(json.dumps({"provider_schemas": {"registry.terraform.io/x/acme": provider}}))
    ran = imported(tmp_path, "schema.json")
    assert ran.status == 0, ran.err
    text = (tmp_path / "models" / "acme_thing.k").read_text()
    assert "schema AcmeThing:" in text
    assert "Known after it was applied: id." in text
    rule = "rule = [{type = 'a'}]"
    accepted = [
        f"name = 'a', {rule}",
        f"name = 'a', size = 3, tags = {{a = 'b'}}, pair = ['a', 1], 'any' = 1, nested = [{{k = True}}], {rule}",
        f"name = 'a', ports = [{{from = 1, to = 2}}], timeouts = {{create = '1m'}}, {rule}",
    ]
    refused = [
        rule,
        "name = 'a'",
        "name = 'a', rule = []",
        f"name = 'a', id = 'x', {rule}",
        f"name = 'a', pair = [1, 1], {rule}",
    ]
    refused += [f"name = 'a', nested = [{{}}], {rule}", "name = 'a', rule = [{type = 'a'}, {type = 'b'}, {type = 'c'}]"]
    main = tmp_path / "main.k"
    for each in (*accepted, *refused):
        main.write_text(f"import models\nx = models.AcmeThing {{{each}}}\n")
        for compiler in (ours, theirs):
            problem = compiler([main], tmp_path, {})
            assert (problem == "") is (each in accepted), (each, problem)
