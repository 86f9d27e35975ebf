"""A dict that a mixin extends, overridden by its instances: the same as officially, and where that loses something."""

from __future__ import annotations

import pytest

from tests.differential.comparing import Outcome, difference, official_outcome, our_outcome
from tests.properties.official import official

OVERRIDES = """\
schema ZMixin:
    {statement}

schema App:
    mixin [ZMixin]
    v: {{str:}} = {{a = {{b = {{base = 1}}, list = [1]}}}}

x1 = App {{v.a.b.mine = 2}}
x2 = App {{v: {{a: {{b: {{mine = 2}}}}}}}}
x3 = App {{v: {{a: {{b = {{mine = 2}}}}}}}}
x4 = App {{v: {{a = {{b: {{mine = 2}}}}}}}}
x5 = App {{v = {{a: {{b: {{mine = 2}}}}}}}}
x6 = App {{v.a.b = {{mine = 2}}}}
x7 = App {{v.a: {{b = {{mine = 2}}}}}}
y1 = App {{v.a.b.mix = 2}}
y2 = App {{v: {{a: {{b: {{mix = 2}}}}}}}}
y3 = App {{v.a.b.base = 2}}
y4 = App {{v: {{a = {{list = [2]}}}}}}
"""
STATEMENTS = (
    "v |= {a = {b = {mix = 1}}}",
    "v = {**v, a = {b = {mix = 1}}}",
    "v = v | {a: {b: {mix = 1}}}",
    "v |= {a = {**v.a, b = {**v.a.b, mix = 1}}}",
)
CONDITION = """\
schema ZMixin:
    v |= {b = 5}

schema App:
    mixin [ZMixin]
    v: {str:} = {b = 8}
    if v:
        v |= {b = 4}

w = App {}
"""
HELD = """\
schema ZMixin:
    v: {str:} = {b = 3}

schema App:
    mixin [ZMixin]

schema Holder:
    app: App

x = Holder {app: {v: {b = 7}}}
"""


def _both(text: str) -> tuple[Outcome, Outcome]:
    with official() as compiler:
        return our_outcome(text), official_outcome(compiler.run(text))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_nested_overrides_reach_what_a_mixin_extends(statement: str) -> None:
    text = OVERRIDES.format(statement=statement)
    ours, theirs = _both(text)
    assert ours.documents is not None and difference(text, ours, theirs) is None, ours.text


def test_what_a_mixin_gives_is_not_lost_to_a_condition_that_reads_it() -> None:
    ours, theirs = _both(CONDITION)
    assert ours.documents == [{"w": {"v": {"b": 5}}}]
    assert theirs.documents == [{"w": {"v": {"b": 4}}}]
    _, unconditional = _both(CONDITION.replace("if v:", "if True:"))
    assert unconditional.documents == ours.documents


def test_an_attribute_that_only_a_mixin_declares_is_one_of_an_instance_inside_another() -> None:
    ours, theirs = _both(HELD)
    assert ours.documents == [{"x": {"app": {"v": {"b": 7}}}}]
    assert theirs.documents is None
