"""What a stack of the sample says has to be in its output, or it does not compile."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workbench.engine.compile import compile_now
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import SpecInvalid
from workbench.project import discover

SAMPLE = Path(__file__).parents[2] / "sample-konfig"


def test_a_stack_with_a_component_that_is_not_rendered_does_not_compile(tmp_path: Path) -> None:
    root = tmp_path / "konfig"
    shutil.copytree(SAMPLE, root)
    (root / "models/cache").mkdir()
    (root / "models/cache/cache.k").write_text("schema Cache:\n    name: str\n")
    main = root / "storefront/catalog/dev/main.k"
    text = main.read_text()
    main.write_text(f'import models.cache\n{text}\ncached: cache.Cache {{name = "cached"}}\n')
    stack = discover(root).select("catalog/dev")
    with pytest.raises(SpecInvalid, match=r"cached is a cache\.Cache, of which no file asks for instances") as raised:
        compile_now(stack, CompileInputs())
    assert raised.value.where == f"{main}:{text.count(chr(10)) + 3}"
    assert raised.value.hint.startswith("render it in models/render/render.k;")
    main.write_text(text)
    assert compile_now(stack, CompileInputs()).spec.resources
