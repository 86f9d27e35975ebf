"""What is remembered by content is that of the very content, and does not grow without end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from workbench.engine import by_content
from workbench.engine.by_content import ByContent


def _answering(asked: list[str], answer: str) -> Callable[[], str]:
    def find() -> str:
        asked.append(answer)
        return answer

    return find


def test_the_same_content_is_looked_at_once() -> None:
    known: ByContent[str] = ByContent()
    asked: list[str] = []
    for _ in range(3):
        content = {"name": "x" * 3, "ports": [80, 443.0, None, {"a": True}]}
        assert known.get(content, "rules", _answering(asked, "found")) == "found"
    assert asked == ["found"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 0.0}, {"a": -0.0}),
        ({"a": "1"}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": []}, {"a": {}}),
        ({"a": None}, {}),
        (["a", "b"], ["ab"]),
    ],
)
def test_contents_that_differ_are_told_apart(one: Any, other: Any) -> None:
    known: ByContent[str] = ByContent()
    asked: list[str] = []
    assert known.get(one, None, _answering(asked, "one")) == "one"
    assert known.get(other, None, _answering(asked, "other")) == "other"
    assert known.get(one, "other rules", _answering(asked, "by other rules")) == "by other rules"


@pytest.mark.parametrize("content", [{"day": date(2026, 1, 2)}, {"text": "x" * (1 << 20)}])
def test_what_cannot_be_told_apart_or_is_large_is_looked_at_each_time(content: Any) -> None:
    known: ByContent[str] = ByContent()
    asked: list[str] = []
    for answer in ("one", "other"):
        assert known.get(content, None, _answering(asked, answer)) == answer


def test_what_was_not_asked_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_content, "_MOST", 2)
    known: ByContent[str] = ByContent()
    asked: list[str] = []
    for each in ("a", "b", "a", "c", "a", "b"):
        known.get(each, None, _answering(asked, each))
    assert asked == ["a", "b", "c", "b"]
