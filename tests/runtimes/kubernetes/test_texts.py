"""Any text that a configuration can hold reaches a cluster and comes back as it was."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runtimes.base import PlanRequest, ReadRequest, Rejected
from runtimes.base.resource import KubernetesId
from runtimes.kubernetes.apply_body import apply_body
from tests.runtimes.kubernetes.conftest import Place, resource

EDGES = (
    "\x00\x01\x1f\x20\x7e\x7f\x80\x85\x9f\xa0\xad\u0300\u2028\u2029\u202e\ud7ff\ue000\ufdd0\ufeff\ufffd\ufffe\uffff"
    "\U00010000\U0001f600\U0001ffff\U000e0001\U0010fffd\U0010ffff"
)
"""A character on both sides of every border that JSON, YAML, UTF-8 and UTF-16 know."""

WORDS = (
    "😀",
    "👩‍👩‍👧‍👦 family",
    "🇨🇳",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "日本語 𠮷野家",
    "\\ud83d\\ude00",
    "\\\U0001f600",
    '"\U0001f600"',
    "a: 😀\n- b # 😀\n",
    "~",
    "1e3",
    "{😀: 1}",
)


def _texts() -> dict[str, str]:
    rng = random.Random(14)
    border = [*EDGES, *WORDS]
    mixed = ["".join(rng.choices(border, k=rng.randint(1, 8))) for _ in range(200)]
    return {f"k{number}": text for number, text in enumerate([*border, *mixed])}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=50), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
def test_an_apply_body_reads_the_same_as_json_and_as_yaml(body: Any) -> None:
    written = apply_body(body).decode()
    assert json.loads(written) == body
    assert yaml.load(written, Loader=_PlainText) == body
    assert yaml.load(written, Loader=_PlainTextInC) == body


class _PlainText(yaml.SafeLoader):
    pass


class _PlainTextInC(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen when imported
    pass


async def test_any_text_is_predicted_applied_and_read_as_it_is(place: Place) -> None:
    texts = _texts()
    wanted = place.config_map(**texts)
    wanted["metadata"]["annotations"] = {f"example.com/{name}": text for name, text in texts.items()}
    prediction = await place.runtime.plan(PlanRequest(resource(wanted)))
    assert prediction.after["data"] == texts
    applied = await place.apply(wanted)
    assert applied.body["data"] == texts
    assert applied.body["metadata"]["annotations"] == wanted["metadata"]["annotations"]
    live = await place.runtime.read(ReadRequest(KubernetesId.of(wanted)))
    assert live is not None and live.body["data"] == texts
    again = await place.runtime.plan(PlanRequest(resource(wanted)))
    assert again.before == again.after


async def test_any_text_is_taken_from_other_clients(place: Place) -> None:
    """Others send a merge patch, or a whole object, in JSON with the escapes that JSON has."""
    texts = _texts()
    await place.write("POST", "/api/v1/namespaces/$NS/configmaps", place.config_map(**texts))
    await place.write("PATCH", "/api/v1/namespaces/$NS/configmaps/settings", {"data": {"more": "😀"}})
    live = await place.runtime.read(ReadRequest(KubernetesId.of(place.config_map())))
    assert live is not None and live.body["data"] == {**texts, "more": "😀"}


async def test_half_a_surrogate_pair_is_refused_with_its_field(place: Place) -> None:
    with pytest.raises(Rejected) as refused:
        await place.runtime.plan(PlanRequest(resource(place.config_map(good="x", bad="a\ud83db"))))
    assert "data.bad" in refused.value.message
